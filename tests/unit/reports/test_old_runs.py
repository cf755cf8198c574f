"""Every run that an earlier version wrote is still read, and tells the same."""

from __future__ import annotations

import shutil
from pathlib import Path

from bmwg.methodology.records import Validity
from bmwg.reports.render.report import write_report
from bmwg.reports.render.summary import summary_lines
from bmwg.reports.store import read_run

RUNS = Path(__file__).parents[2] / "data" / "runs"


def test_a_run_of_format_1_0_is_read_and_told(tmp_path: Path) -> None:
    folder = tmp_path / "run-1.0"
    shutil.copytree(RUNS / "run-1.0", folder)
    run = read_run(folder)
    assert len(run.trials) == 11
    assert run.trial(11).validity is Validity.TESTER_STALLED
    assert run.journal_hash == "7747e2e6d2e1a3818c9ab2004ea0d05b042cbcdb1f724b1fb104eb0f9a8bf09a"
    assert run.trial(10).result.streams[0].latency.frames == run.trial(10).received_frames
    assert [outcome.values[0].number for outcome in run.outcomes if outcome.values] == [1_450_000, 900]
    assert summary_lines(run)[-1] == "2 measured, 1 invalid"
    assert write_report(folder).stat().st_size > 10_000
