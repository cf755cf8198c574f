"""Kinds of load, each as what it brings to a run."""
