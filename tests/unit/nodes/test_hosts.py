"""Nodes on hosts over SSH without a host: what a testbed file says of them, cables, clocks, undos."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
import yaml

from bmwg.drivers.nodes import probe
from bmwg.drivers.nodes.here import HERE
from bmwg.drivers.paths.cables import misled
from bmwg.drivers.testbed.file import Endpoint, LinkSpec, Testbed, embedded_file, parse_testbed
from bmwg.drivers.testbed.hosts import hosts_of, under_test
from bmwg.drivers.testbed.medium import require_rate
from bmwg.drivers.undo import undoing
from bmwg.drivers.undo.ledger import Ledger
from bmwg.drivers.watch import clocks
from bmwg.methodology.errors import ConfigError, TestbedError
from bmwg.reports.checker.places import borrowed_ports, devices, has_nodes_here

LINKS = [("tester/e1", "dut1/e3"), ("tester/e2", "dut1/e4"), ("tester/e5", "tester/e6")]


def data(**changes: Any) -> dict[str, Any]:
    found = yaml.safe_load(embedded_file().read_text())
    found |= {
        "nodes": {"dut1": {"kind": "ssh", "ssh": "root@dut", "python": "/opt/python"}},
        "links": [{"a": a, "b": b, "kind": "cable"} for a, b in LINKS],
        "lab_ports": ["e1", "e2", "e5", "e6"],
        "medium": {"kind": "ethernet", "line_rate_bps": 10_000_000_000},
    }
    found["tester"]["ports"] = ["tester/e1", "tester/e2"]
    return {**copy.deepcopy(found), **changes}


def lab(**changes: Any) -> Testbed:
    return parse_testbed(yaml.safe_dump(data(**changes)), Path("lab.yaml"))


def test_a_host_has_its_ports_cpus_and_python_and_is_what_is_tested() -> None:
    (host,) = hosts_of(lab())
    assert (host.name, host.ssh, host.python, host.ports) == ("dut1", "root@dut", "/opt/python", ("e3", "e4"))
    assert host.cpus == (1,)
    assert under_test(lab()) == "dut1"
    assert lab().dut_cpus_here == ()


def test_two_nodes_of_one_host_share_it() -> None:
    nodes = {name: {"kind": "ssh", "ssh": "root@dut"} for name in ("dut1", "dut2")}
    (host,) = hosts_of(lab(nodes=nodes))
    assert host.nodes == ("dut1", "dut2")


def test_on_a_host_the_testers_cpus_may_have_the_numbers_of_the_devices() -> None:
    shared = data(dut={"cpus": [0]})
    assert parse_testbed(yaml.safe_dump(shared), Path("lab.yaml")).dut.cpus == (0,)
    with pytest.raises(ConfigError, match=r"no CPU of tester\.cpus"):
        lab(
            dut={"cpus": [0]}, nodes={"dut1": {"kind": "namespace"}}, lab_ports=[f"e{n}" for n in range(1, 7)]
        )


def test_a_pair_to_a_host_and_a_runtime_that_it_cannot_have_are_named_with_their_place() -> None:
    links = [{"a": a, "b": b} for a, b in LINKS]
    with pytest.raises(ConfigError, match=r"links\[0\]\.kind: expected cable: dut1 is a host of its own"):
        lab(links=links)
    pods = {**data()["pods"], "runtime": "kubernetes"}
    with pytest.raises(ConfigError, match="one that hosts over SSH can have: crun, docker, podman"):
        lab(pods=pods)
    lab(pods=pods | {"options": {"kubeconfig": "~/.kube/config", "image": "busybox"}})


def test_a_slower_port_of_a_host_is_refused_and_an_equal_one_is_not() -> None:
    def link(rate: int | None, node: str = "dut1") -> dict[str, Any]:
        ends = {"a": {"node": "tester", "interface": "e1"}, "b": {"node": node, "interface": "e3"}}
        ends["b"]["line_rate_bps"] = rate  # type: ignore[assignment]
        return ends

    require_rate(lab(), link(10_000_000_000))
    require_rate(lab(), link(None))
    with pytest.raises(ConfigError, match="PORT-05  interface e3 of node dut1"):
        require_rate(lab(), link(1_000_000_000))


def test_a_cable_is_right_when_each_end_is_heard_at_the_other_alone() -> None:
    a, b = Endpoint(node="tester", interface="e1"), Endpoint(node="dut1", interface="e3")
    link = LinkSpec(a=a, b=b, kind="cable")
    assert misled(link, {"tester/e1": ["dut1/e3"], "dut1/e3": ["tester/e1"]}) == ""
    assert "what tester/e1 sent was heard at dut1/e4" in misled(
        link, {"tester/e1": ["dut1/e4"], "dut1/e3": ["tester/e2"]}
    )
    assert "nowhere: it has no link" in misled(link, {"dut1/e3": ["tester/e1"]})
    both = misled(link, {"tester/e1": ["dut1/e3", "dut1/e4"], "dut1/e3": ["tester/e1"]})
    assert "heard at dut1/e3, dut1/e4" in both  # a switch that floods other ports


class Far:
    """A clock that is ahead, asked through a channel that holds up each question by another time."""

    def __init__(self, ahead_ns: int, waits_ns: list[int], now: list[int]) -> None:
        self._ahead_ns = ahead_ns
        self._waits_ns = waits_ns
        self._now = now

    def call(self, function: object) -> int:
        assert function is probe.monotonic_ns
        wait_ns = self._waits_ns.pop(0)
        self._now[0] += wait_ns  # all of it on the way there: the worst case for the middle
        return self._now[0] + self._ahead_ns


def test_an_offset_lies_within_its_bound_even_where_one_way_takes_all_the_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = [1_000_000]
    monkeypatch.setattr(clocks.time, "monotonic_ns", lambda: now[0])
    far = Far(7_000_000_000, [900_000, 40_000, *[500_000] * 7], now)
    found = clocks.bound(far)  # type: ignore[arg-type]
    assert found.bound_ns == 20_000  # of the quickest
    assert abs(found.offset_ns + 7_000_000_000) <= found.bound_ns


class Host:
    """A host's own node that knows which process lives, and notes what is called on it."""

    name = "dut1/host"

    def __init__(self, alive: bool) -> None:
        self.alive = alive
        self.called: list[str] = []

    def call(self, function: Any, **_: Any) -> bool:
        self.called.append(function.__name__)
        return self.alive

    def call_named(self, function: str, _: Any, *, deadline_s: float) -> None:
        self.called.append(function.rpartition(":")[2])


SSH = {"kind": "ssh", "name": "dut1/host", "destination": "root@dut", "python": "p", "options": {}}
ON = {"kind": "host_namespace", "name": "dut1", "pid": 9, "start_ticks": 8, "host": SSH}


@pytest.mark.parametrize("alive", [False, True])
def test_an_act_in_namespaces_that_are_gone_is_undone_nowhere_else(tmp_path: Path, alive: bool) -> None:
    """An address of a node on a host must never be taken from the host's own namespace."""
    ledger = Ledger(tmp_path / "ledger.jsonl", index_dir=tmp_path / "index")
    number = ledger.before("address", ON, interface="e3", address="198.18.0.1/24")
    host = Host(alive)
    if alive:
        with pytest.raises(Exception, match="LEDGER-03"):
            ledger.undo(number, {"dut1/host": host})  # type: ignore[dict-item]
    else:
        ledger.undo(number, {"dut1/host": host})  # type: ignore[dict-item]
    assert host.called == ["same"]
    assert bool(ledger.pending) is alive


def test_a_borrowed_port_is_asked_for_on_its_host(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.jsonl", index_dir=tmp_path / "index")
    number = ledger.before("lab_port", SSH, interface="e3", up=True)
    host = Host(True)
    ledger.undo(number, {"dut1/host": host})  # type: ignore[dict-item]
    assert host.called == ["require_returned"]


def test_a_host_that_does_not_answer_is_tried_once_for_all_of_its_entries(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tries: list[str] = []

    class Silent:
        @classmethod
        def from_place(cls, place: dict[str, Any]) -> Silent:
            tries.append(str(place["destination"]))
            raise TestbedError("NODE-20", "node dut1/host: no agent over ssh")

    monkeypatch.setattr(undoing, "SshNode", Silent)
    ledger = Ledger(tmp_path / "ledger.jsonl", index_dir=tmp_path / "index")
    for port in ("e3", "e4"):
        ledger.before("lab_port", SSH, interface=port, up=True)
    failures = ledger.undo_all({})
    assert len(failures) == 2
    assert tries == ["root@dut"]
    assert len(ledger.pending) == 2  # for when it answers


def test_this_machine_is_a_place_like_any_other() -> None:
    assert HERE.call(probe.echo, value=7) == 7
    assert HERE.machine is HERE


def test_where_device_and_cables_are_is_read_from_the_testbed() -> None:
    there = data()
    assert devices(there) == {"dut1"}
    assert not has_nodes_here(there)
    assert borrowed_ports(there) == {"e1", "e2", "e3", "e4", "e5", "e6"}
    here = yaml.safe_load(embedded_file().read_text())
    assert devices(here) == set()
    assert has_nodes_here(here)
    assert borrowed_ports(here) == set()
    mixed = data(nodes={**data()["nodes"], "dut2": {"kind": "namespace"}})
    assert devices(mixed) == {"dut1"}
    assert has_nodes_here(mixed)
