"""The sections of a report: each yields its blocks from the run, or none."""
