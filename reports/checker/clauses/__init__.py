"""Rules by clause: whether what a run did is what a requirement asks."""
