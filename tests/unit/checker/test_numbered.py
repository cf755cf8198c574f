"""A trial that an answer names is the one of that number: lines of other kinds of load stand between."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from bmwg.reports.checker.evidence import Evidence
from bmwg.reports.checker.proof import numbered


def test_trials_are_found_by_their_numbers_where_other_loads_have_lines_too() -> None:
    of_frames: Any = tuple(SimpleNamespace(trial=SimpleNamespace(seq=seq)) for seq in (1, 6, 7))
    files: Any = SimpleNamespace()
    scope: Any = SimpleNamespace(evidence=Evidence(files=files, findings=(), trials=of_frames))
    assert [one.trial.seq for one in numbered(scope, (7, 2, 6, 6))] == [6, 7]
