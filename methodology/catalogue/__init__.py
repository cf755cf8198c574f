"""The catalogue: one YAML file per document, read by `bmwg.methodology.requirements.rows`."""
