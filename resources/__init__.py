"""Keywords: wire drivers into methodology, a few lines each; the suites import nothing else."""
