"""Kinds of load: what each asks for and counts, when an execution holds, and in which unit its load is."""
