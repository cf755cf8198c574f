"""The forms of a report: one writer of its blocks each."""
