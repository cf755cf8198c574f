"""The figures of a report, drawn the same on every run."""
