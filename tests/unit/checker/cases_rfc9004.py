"""The three runs of each rule of rfc9004. A row of `NOT_YET` still lacks them; the set only shrinks."""

from __future__ import annotations

from three import Three

CASES: dict[str, Three] = {}
NOT_YET: frozenset[str] = frozenset(
    {
        "RFC9004-3-02",
        "RFC9004-5-01",
        "RFC9004-5-03",
        "RFC9004-5-04",
        "RFC9004-5-05",
        "RFC9004-5-06",
        "RFC9004-5-07",
        "RFC9004-5-08",
        "RFC9004-6.2-02",
        "RFC9004-6.2-04",
        "RFC9004-6.2-05",
        "RFC9004-6.2-07",
        "RFC9004-6.2-08",
        "RFC9004-6.2-09",
        "RFC9004-6.3-01",
        "RFC9004-6.3-02",
        "RFC9004-6.4-04",
        "RFC9004-6.4-05",
        "RFC9004-7-01",
        "RFC9004-7-02",
        "RFC9004-7-03",
        "RFC9004-7-04",
        "RFC9004-7-05",
        "RFC9004-8-02",
        "RFC9004-8-01",
    }
)
