"""A watch beside any generator: whether CPUs were taken away, and what its interfaces really carried."""
