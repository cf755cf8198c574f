"""A procedure that answers otherwise under the same version fails here, on trials that really happened."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import evidence
import pytest
from kept_runs import NAMES, rules

from bmwg.methodology.benchmarks import back_to_back, recovery, soak
from bmwg.methodology.former import envelope_2, latency_2
from bmwg.methodology.search import bisection, tst009
from bmwg.reports.verify.verify import verify_folder


def one_more(called: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that answers one more than another did, or has one remark more."""

    def changed(*given: Any, **named: Any) -> Any:
        answer = called(*given, **named)
        if isinstance(answer, list | tuple):
            return type(answer)([*answer, "one more"])
        return None if answer is None else answer + 1

    return changed


METHODOLOGY = "bmwg.methodology"


OTHERWISE = {  # what a careless change may do, without another number: the trials or the answer differ
    "throughput: next load": ("search.bisection.middle", one_more(bisection.middle)),
    "throughput: remarks": ("search.bisection._forwarded_more", one_more(bisection._forwarded_more)),
    "envelope 2: next load": ("former.envelope_2._middle", one_more(envelope_2._middle)),
    "tst009: next load": ("search.tst009.Tst009Goal.load", one_more(tst009.Tst009Goal.load)),
    "mlrsearch: widths": ("mlr.engine._WIDTH_MARGIN", 0.5),
    "latency 2: percentile": (
        "former.latency_2.PERCENTILES",
        (("p50", Fraction(1, 4)), *latency_2.PERCENTILES[1:]),
    ),
    "frame loss: end": ("benchmarks.frame_loss._IN_SUCCESSION", 1),
    "back-to-back: remarks": ("benchmarks.back_to_back._remarks", one_more(back_to_back._remarks)),
    "soak: drift": ("benchmarks.soak._drift_ns", one_more(soak._drift_ns)),
    "reset: time": ("benchmarks.recovery.reset_by_loss_ms", one_more(recovery.reset_by_loss_ms)),
    "delay variation 2": ("former.delay_variation_2.PDV_REQUIREMENTS", ("RFC8219-7.3.1-01",)),
}


@pytest.mark.parametrize("name", list(OTHERWISE))
def test_another_answer_under_the_same_version_fails_on_the_evidence(
    place: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    where, other = OTHERWISE[name]
    monkeypatch.setattr(f"{METHODOLOGY}.{where}", other)
    found = verify_folder(evidence.unpacked(place, "packets") / "packets")
    assert rules(found) & {"VER-03", "VER-08"}


def test_the_current_rule_would_misjudge_the_evidence(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the kept rule of version 2 honest runs are refused as if they were forged."""
    monkeypatch.setattr("bmwg.reports.verify.replay.former_rule", lambda metric, version: None)
    refused = {
        name for name in NAMES if "VER-08" in rules(verify_folder(evidence.unpacked(place, name) / name))
    }
    assert {"packets", "step-down", "resumed", "disturbed", "unqualified"} <= refused
