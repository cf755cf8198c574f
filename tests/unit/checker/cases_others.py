"""The three runs of each rule of others. A row of `NOT_YET` still lacks them; the set only shrinks."""

from __future__ import annotations

from three import Three

CASES: dict[str, Three] = {}
NOT_YET: frozenset[str] = frozenset(
    {
        "RFC8172-5-01",
        "RFC8204-6-01",
        "CINF08-7-01",
        "RFC6815-7-01",
        "RFC6815-5-02",
        "RFC6815-7-02",
        "RFC6815-7-03",
    }
)
