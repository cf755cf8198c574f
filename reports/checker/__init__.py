"""Judges a run from its files alone: what contradicts itself, and which clauses were met."""
