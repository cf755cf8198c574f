"""Requirements: rows of the catalogue, judged and unjudged."""
