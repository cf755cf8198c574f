"""What can be said of platform configuration records without the machine: drift, coverage, overlay,
redaction.

Pure, so that a report or a verification elsewhere says the same as the run did.
"""
