"""Answers: what trials say of a cell, and whether it is believed."""
