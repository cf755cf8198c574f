"""Replays a bundle or a run folder: every number must follow from the recorded trials."""
