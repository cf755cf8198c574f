"""Designs of factors: which combinations are measured, and what each factor does to the throughput. Pure."""
