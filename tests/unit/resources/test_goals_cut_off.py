"""A run that is cut off between the answers for two goals of one search goes on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.unit.resources.test_interleaved import SIMULATED, profile

from bmwg.drivers.platform_record.collect import collect
from bmwg.methodology.records import Outcome
from bmwg.reports.store import RunStore, read_run
from bmwg.resources.kinds.frames.bench import Bench
from bmwg.resources.run import open_run
from bmwg.resources.run.settings import Settings

TEST = "CN-TPUT-1.3"


def test_an_answer_that_stands_is_not_given_again_with_those_for_other_goals(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = dict(collect())  # once: what else starts on this machine is no part of the test
    monkeypatch.setattr(open_run, "machine_record", lambda *_: machine)
    chosen = {"testbed": SIMULATED, "profile": str(profile(tmp_path, (64,))), "results": tmp_path}
    bench = Bench.open(Settings(**chosen, run_id="cut-off"), {TEST})  # type: ignore[arg-type]
    first, second, *_ = bench._session.plan
    assert first.cell == second.cell
    keep = RunStore.add_outcome

    def cut_off(store: RunStore, outcome: Outcome, **more: Any) -> None:
        if (outcome.metric, outcome.cell.cell_id) == second.key:
            raise KeyboardInterrupt
        keep(store, outcome, **more)

    with monkeypatch.context() as cutting:
        cutting.setattr(RunStore, "add_outcome", cut_off)
        with pytest.raises(KeyboardInterrupt):
            bench.outcomes(TEST)
    bench.close()
    (stood,) = (one for one in read_run(tmp_path / "cut-off").outcomes if one.cell == first.cell)
    going_on = Bench.open(Settings(**chosen, continue_run="cut-off"), {TEST})  # type: ignore[arg-type]
    found = going_on.outcomes(TEST)
    going_on.close()
    told = read_run(tmp_path / "cut-off")
    assert told.status == "complete"
    assert [one for one in told.outcomes if one.metric == stood.metric and one.cell == stood.cell] == [stood]
    assert stood in found
