"""One archive of a run for somebody else: canonical bytes, a manifest of hashes, a signature."""
