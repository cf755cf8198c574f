"""A real run keeps CPUs awake as its profile says, and tells so in its records and beside each trial."""

import shutil

import pytest
import yaml
from tests.contract.guard_support import PROFILE

from bmwg.drivers.watch import awake
from bmwg.methodology.trial.keep_awake import KeepAwake, sentence
from bmwg.reports.bundle.make import folder_evidence
from bmwg.reports.render.forms.rst import restructured
from bmwg.reports.render.sections import guard
from bmwg.reports.store import read_run
from bmwg.resources.kinds.frames.bench import Bench
from bmwg.resources.run.settings import Settings

pytestmark = [
    pytest.mark.quiet,
    pytest.mark.root,
    pytest.mark.skipif(shutil.which("ip") is None, reason="needs iproute2"),
]


def measured(folder, asked):
    """Run the tester's qualification alone under a profile that asks for this; the run."""
    data = {**PROFILE, "keep_awake": asked.value}
    wires = [one for one in data["paths"] if one["path"] == "wire"]
    data["paths"] = [{**wires[0], "frame_octets": [64]}]
    file = folder / "profile.yaml"
    file.write_text(yaml.safe_dump(data), encoding="utf-8")
    bench = Bench.open(
        Settings(testbed=None, profile=str(file), results=folder / "results", run_id="mine"), {"CN-TPUT-1.1"}
    )
    try:
        bench.outcomes("CN-TPUT-1.1")
        held = awake.current()
    finally:
        bench.close()
    return held, read_run(folder / "results" / "mine")


def fact(record, name):
    return record["fields"]["power"][name]


@pytest.mark.parametrize("asked", list(KeepAwake))
def test_what_is_held_stands_in_both_records_in_the_report_and_beside_each_trial(asked, tmp_path):
    before = awake.current()
    held, run = measured(tmp_path, asked)
    assert awake.current() == before  # nothing of the run's is held after it
    assert held.asked is asked
    if held.held is not asked:
        assert held.reason
    for record in (run.platform_before, run.platform_after):
        assert fact(record, "kept_awake")["value"] == held.as_json()
    assert sentence(held.as_json()) in restructured(guard.section(run)).replace("\\", "")
    assert run.trials
    if held.held is KeepAwake.PM_QOS:
        assert fact(run.platform_before, "cpu_latency_limit_us")["value"] == awake.REQUEST_US
        evidence = folder_evidence(run.folder)
        limits = [dict(evidence.whole(trial).result.auxiliary) for trial in evidence.trials]
        assert {one["host.cpu_latency_limit_us"] for one in limits} == {awake.REQUEST_US}
