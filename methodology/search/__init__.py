"""Searches: each takes a measure function and a goal, and returns a result; all are pure."""
