"""Runs of streams: transport tests between the pods at the ends of a path."""
