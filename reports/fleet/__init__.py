"""Fleets: one plan that several testbeds measure, its shards, and what they make together."""
