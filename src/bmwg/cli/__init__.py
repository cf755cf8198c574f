"""The verbs of the command `bmwg`, one module each."""
