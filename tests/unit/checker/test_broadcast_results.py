"""RFC 2889 5.10.4: why a run has no number of broadcast frames is no matter of what it reports of them."""

import runs
from cases_rfc2889 import FR, LOSS, LOSSES, switch
from foreign import outcomes, said

from bmwg.methodology.records import OutcomeType
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


def test_a_trial_of_one_frame_has_no_duration_to_judge():
    evidence = switch("R2889-BCAST-1.1", pattern="broadcast")()
    (one,) = [one for one in evidence.outcomes if one.metric.startswith("broadcast_latency")]
    assert one.type is OutcomeType.MEASURED
    assert runs.verdict_of(evidence, "RFC2889-5.1.2-05", "").original is Verdict.NOT_APPLICABLE
