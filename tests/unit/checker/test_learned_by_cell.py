"""Learning frames of one pattern are none of another that the same switch carries (RFC 2889 section 3)."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from bmwg.reports.checker.between_ports import learned


def trial(seq: int, cell_id: str, deployment_id: str, *, learnt: bool) -> Any:
    times = SimpleNamespace(learnt_ns=seq if learnt else None)
    return SimpleNamespace(
        trial=SimpleNamespace(seq=seq), cell_id=cell_id, deployment_id=deployment_id, times=times
    )


@pytest.mark.parametrize(
    ("cell_id", "deployment_id", "met"),
    [("mesh", "d-1", True), ("mesh-x16", "d-1", False), ("mesh", "d-2", False)],
)
def test_a_trial_rests_on_learning_of_its_own_cell_and_deployment(cell_id, deployment_id, met) -> None:
    first = trial(1, "mesh", "d-1", learnt=True)
    found = learned([first, trial(2, cell_id, deployment_id, learnt=False)])
    assert (found.verdict == "met") is met
    assert met or "[2]" in found.found
