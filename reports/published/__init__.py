"""Figures of published documents, told as ratios to native beside a run of the same experiment."""
