"""Meters of the power of a machine."""
