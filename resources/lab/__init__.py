"""A lab before its first run: what there is, what to mend, and how it is cabled."""
