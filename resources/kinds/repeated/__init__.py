"""Runs of kinds whose cells are answered by repetitions: share, bench and executions."""
