"""Fleets: cuts a plan into shards, runs one of them, and hands them out to testbeds."""
