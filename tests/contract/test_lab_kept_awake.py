"""A run of HTTP experiments on three hosts keeps the CPUs of each awake, and of the runner's machine."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from tests.contract.awake_support import gone, requests_of, spinners_of
from tests.contract.lab_support import LabHosts, lab_hosts, needs_sshd
from tests.unit.http import made

from bmwg.drivers.nodes import probe
from bmwg.drivers.nodes.ssh import SshNode
from bmwg.drivers.watch import awake
from bmwg.methodology.errors import ToolkitError
from bmwg.methodology.kinds.requests import profile as profiles
from bmwg.methodology.kinds.requests.profile import load
from bmwg.resources.kinds.requests.bench import RequestsBench
from bmwg.resources.run.settings import Settings

pytestmark = [pytest.mark.root, needs_sshd]
ROLES = {"client", "proxy", "server"}
HOLD, RECORD = "bmwg.drivers.watch.awake:hold", "bmwg.drivers.platform_record.collect:collect"


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """What the agents were called for: node and function, in order."""
    found: list[tuple[str, str]] = []
    call = SshNode.call_named

    def noted(node: SshNode, function: str, arguments: dict[str, Any], **about: Any) -> Any:
        found.append((node.name, function))
        return call(node, function, arguments, **about)

    monkeypatch.setattr(SshNode, "call_named", noted)
    return found


def opened(lab: LabHosts, folder: Path) -> RequestsBench:
    return made.opened(Settings(results=folder, run_id="r", testbed=lab.testbed), set())


@pytest.mark.parametrize("asked", ["pm_qos", "spin", "none"])
def test_each_host_holds_it_before_any_record_and_until_the_run_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, calls: list[tuple[str, str]], asked: str
) -> None:
    before = awake.current()  # what the suite holds
    data = {**load("quick").data, "keep_awake": asked}
    monkeypatch.setattr(profiles, "load", lambda name, forms: profiles.PROFILES.of(data))
    with lab_hosts(tmp_path / "lab", monkeypatch) as lab:
        bench = opened(lab, tmp_path)
        try:
            machines = bench._machines
            here = awake.current()
            assert here is not None
            assert set(machines.held) == ROLES
            answers = [machines.held[role] for role in machines.hosts]
            assert {told["asked"] for told in answers} == {here.asked.value} == {asked}
            pids = [int(host.call(probe.identify)["pid"]) for host in machines.hosts.values()]
            ways = [str(told["held"]) for told in answers]
            assert [requests_of(pid) for pid in pids] == [int(way == "pm_qos") for way in ways]
            spinners = [spinners_of(pid) for pid in pids]
            assert [len(each) for each in spinners] == [len(told["cpus"]) for told in answers]
            bench.begin_suite("a suite")
        finally:
            bench.run.close()
        assert awake.current() == before
        assert gone([*pids, *(pid for each in spinners for pid in each)])
    assert sorted(node for node, function in calls if function == HOLD) == sorted(f"{r}/host" for r in ROLES)
    records = [at for at, (_, function) in enumerate(calls) if function == RECORD]
    assert max(at for at, (_, function) in enumerate(calls) if function == HOLD) < records[0]
    assert len(records) == 2  # the opening and the closing one


def test_a_host_that_is_lost_is_not_measured_on_without_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A lost host stays lost for the rest of its run: there is none that nobody has told to hold it."""
    with lab_hosts(tmp_path / "lab", monkeypatch) as lab:
        bench = opened(lab, tmp_path)
        hosts = bench._machines.hosts
        pid = int(hosts["server"].call(probe.identify)["pid"])
        os.kill(pid, 9)
        assert gone([pid])
        with pytest.raises(ToolkitError, match="NODE-03"):
            bench._machines.others()
        with pytest.raises(ToolkitError, match="NODE-03"):
            hosts["server"].call(probe.identify)
        assert requests_of(pid) == 0
        bench.run.close()
