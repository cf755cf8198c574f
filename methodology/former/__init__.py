"""Procedures as they were: frozen, so that a run is replayed by the rules of its own version for ever.

One module holds one version of one procedure. It imports records and goals, never the rule that came after
it, and nobody mends it: whatever it answers is what that version answered. A rule moves here in the commit
that raises its version (schemas/README.md).
"""
