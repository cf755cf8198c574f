"""Plans: which cells in which order, and what they cost."""
