"""The three runs of each rule of RFC 2544. A row of `NOT_YET` still lacks them; the set only shrinks."""

from __future__ import annotations

from runs import TPUT, run
from three import Three

CASES: dict[str, Three] = {
    "RFC2544-24-01": Three(
        met=run(TPUT),
        not_met=run(TPUT, profile={"trial": {"duration_s": 59.9}}),
        not_applicable=run("CN-TPUT-1.1"),
        benchmark="throughput",
    ),
}
NOT_YET: frozenset[str] = frozenset(
    {
        "RFC2544-6-02",
        "RFC2544-7-01",
        "RFC2544-7-03",
        "RFC2544-7-05",
        "RFC2544-8-02",
        "RFC2544-9-01",
        "RFC2544-9-02",
        "RFC2544-9.1",
        "RFC2544-10-01",
        "RFC2544-10-02",
        "RFC2544-10-03",
        "RFC2544-10-04",
        "RFC2544-10-05",
        "RFC2544-11.3-03",
        "RFC2544-12-01",
        "RFC2544-12-02",
        "RFC2544-13-01",
        "RFC2544-13-02",
        "RFC2544-14-01",
        "RFC2544-15-01",
        "RFC2544-16-05",
        "RFC2544-20-01",
        "RFC2544-21-01",
        "RFC2544-23-01",
        "RFC2544-23-02",
        "RFC2544-23-03",
        "RFC2544-23-04",
        "RFC2544-23-05",
        "RFC2544-24-03",
        "RFC2544-A",
        "RFC2544-26.1-01",
        "RFC2544-26.1-02",
        "RFC2544-26.1-08",
        "RFC2544-26.1-10",
        "RFC2544-26.2-01",
        "RFC2544-26.2-02",
        "RFC2544-26.2-03",
        "RFC2544-26.2-04",
        "RFC2544-26.2-06",
        "RFC2544-26.2-08",
        "RFC2544-26.3-02",
        "RFC2544-26.3-03",
        "RFC2544-26.3-04",
        "RFC2544-26.3-05",
        "RFC2544-26.3-06",
        "RFC2544-26.3-07",
        "RFC2544-26.3-08",
        "RFC2544-26.4-02",
        "RFC2544-26.4-03",
        "RFC2544-26.4-04",
        "RFC2544-26.5-04",
        "RFC2544-26.5-05",
        "RFC2544-26.6-05",
        "RFC2544-26.6-06",
    }
)
