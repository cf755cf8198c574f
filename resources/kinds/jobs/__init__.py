"""Runs of jobs: programs on a host, natively and in hosting forms."""
