"""Frames: what a run of frames plans, measures and says."""
