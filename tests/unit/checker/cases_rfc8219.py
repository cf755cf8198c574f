"""The three runs of each rule of rfc8219. A row of `NOT_YET` still lacks them; the set only shrinks."""

from __future__ import annotations

from three import Three

CASES: dict[str, Three] = {}
NOT_YET: frozenset[str] = frozenset(
    {
        "RFC8219-5",
        "RFC8219-5.1-02",
        "RFC8219-5.1.1-01",
        "RFC8219-5.3-01",
        "RFC8219-5.3-03",
        "RFC8219-7.2-01",
        "RFC8219-7.2-02",
        "RFC8219-7.2-03",
        "RFC8219-7.2-04",
        "RFC8219-7.2-05",
        "RFC8219-7.2-06",
        "RFC8219-7.2-07",
        "RFC8219-7.2-08",
        "RFC8219-7.2-09",
        "RFC8219-7.3-01",
        "RFC8219-7.3.1-02",
        "RFC8219-7.3.1-05",
        "RFC8219-7.3.1-06",
        "RFC8219-7.3.2-01",
        "RFC8219-7.3.2-03",
        "RFC8219-7.3.2-04",
        "RFC8219-12-01",
        "RFC8219-13",
    }
)
