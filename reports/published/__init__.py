"""Figures of published documents, told as ratios to native."""
