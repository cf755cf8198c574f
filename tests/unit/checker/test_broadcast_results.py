"""RFC 2889 5.10.4: why a run has no number of broadcast frames is no matter of what it reports of them."""

import runs
from cases_rfc2889 import FR, LOSS, LOSSES
from foreign import outcomes, said

from bmwg.reports.checker.verdicts import Verdict

ROW = "RFC2889-5.10.4"


def unstable(one):
    """Let an answer be without a number."""
    why = "the device's rate moves"
    one.update(type="unstable", statement=why, reason=why, values=[])


def test_a_benchmark_without_a_number_is_no_benchmark_left_out():
    for metric in (FR, LOSS):
        verdict = runs.verdict_of(said(LOSSES, outcomes(metric, unstable))(), ROW, "")
        assert verdict.original is Verdict.MET, (metric, verdict.found)
    neither = said(LOSSES, outcomes(FR, unstable), outcomes(LOSS, unstable))
    assert runs.verdict_of(neither(), ROW, "").original is Verdict.NOT_APPLICABLE
