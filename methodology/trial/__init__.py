"""Trials: what is offered and counted, and when a trial counts."""
