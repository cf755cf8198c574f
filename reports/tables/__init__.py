"""Runs as tables for analysis: what the columns are, the rows of a run, how they are written as Parquet."""
