"""Rules on what stands beside a throughput say the same whichever search found it."""

from __future__ import annotations

import pytest
import runs
from runs import FILTER_1, FILTERS_25, LATENCY, run

from bmwg.reports.checker.verdicts import Verdict

BESIDE = (("RFC2544-7-03", ""), ("RFC2544-11-02", ""), ("RFC2544-26.2-09", "latency"))


@pytest.mark.parametrize("base", ["rfc2544", "tst009", "rfc9971"])
@pytest.mark.parametrize(("row", "benchmark"), BESIDE)
def test_what_stands_beside_a_throughput_of_any_search(base, row, benchmark):
    evidence = run(FILTER_1, FILTERS_25, LATENCY, base=base)()
    verdict = runs.verdict_of(evidence, row, benchmark)
    assert verdict is not None
    assert verdict.original is Verdict.MET, verdict.found
