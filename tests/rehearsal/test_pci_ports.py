"""The tester's PCI ports on a real kernel and real DPDK: refused, taken, given back; a run whole and killed.

A guest stands for the host of a lab: igb behind an IOMMU at the tester's ends, virtio at the node's.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.rehearsal.course import ANSWERS
from tests.rehearsal.rehearsal_lab import (
    CALL_DEADLINE_S,
    HUGEPAGES,
    NEEDS,
    PROFILE,
    RUN_DEADLINE_S,
    TESTBED,
    ended,
    here,
    killed,
    lab_host,
    started,
)

from bmwg.drivers.api.protocols import JsonValue, Node
from bmwg.drivers.machines import guest_run
from bmwg.drivers.nodes import pages
from bmwg.drivers.nodes.cables import _UNDONE_BY
from bmwg.drivers.ports import interfaces, lab_port, pci_port
from bmwg.methodology.errors import TestbedError
from bmwg.methodology.records import TrialResult
from bmwg.reports.store import read_run

pytestmark = NEEDS
PORTS = ("eth2", "eth3", "eth4", "eth5")
SUITE = "testcases/containerized/01__throughput.robot"
WIRE, NODE, PVP = "CN-TPUT-1.1", "CN-TPUT-1.2", "CN-TPUT-1.3"


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("results")


@pytest.fixture(scope="module")
def host(results: Path) -> Iterator[Node]:
    with lab_host(results) as node:
        yield node


def listed(host: Node) -> list[tuple[object, ...]]:
    """Interfaces of the host, without link-local addresses, which come and go with the links."""
    found = host.call_within(CALL_DEADLINE_S, interfaces.listing)
    return sorted((one["name"], one["mac"], one["mtu_octets"], one["up"]) for one in found)


def nic(host: Node, port: str, **more: JsonValue) -> dict[str, JsonValue]:
    return host.call_within(CALL_DEADLINE_S, pci_port.require_free, port=port, **more)


def test_what_a_nic_is_and_why_it_is_not_taken(host: Node) -> None:
    before = listed(host)
    found = nic(host, "eth2", memory_mib=160)
    assert (found["driver"], found["bifurcated"]) == ("igb", False)
    assert nic(host, str(found["address"]))["interface"] == "eth2"
    groups = {nic(host, port)["iommu_group"] for port in PORTS}
    assert len(groups) == len(PORTS)
    with pytest.raises(TestbedError, match="PCI-07"):
        nic(host, "eth2", memory_mib=1 << 20)
    with pytest.raises(TestbedError, match="PCI-01"):
        nic(host, "lo")
    host.call_within(CALL_DEADLINE_S, interfaces.add_address, interface="eth2", address="192.0.2.1/24")
    with pytest.raises(TestbedError, match="PORT-01"):
        nic(host, "eth2")
    host.call_within(CALL_DEADLINE_S, interfaces.remove_address, interface="eth2", address="192.0.2.1/24")
    assert listed(host) == before


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_nics_come_back_by_their_names_in_either_order(host: Node, order: tuple[int, int]) -> None:
    """The kernel gives the first that comes back the lowest name that is free, be it the other's."""
    before = listed(host)
    taken = [nic(host, port) for port in ("eth2", "eth3")]
    for one in taken:
        host.call_within(CALL_DEADLINE_S, pci_port.take, address=one["address"])
    assert {"eth2", "eth3"}.isdisjoint(name for name, *_ in listed(host))
    with pytest.raises(TestbedError, match="PCI-04"):  # as another run sees it
        nic(host, str(taken[0]["address"]))
    for number in order:
        back = {key: taken[number][key] for key in _UNDONE_BY}
        host.call_within(CALL_DEADLINE_S, pci_port.give_back, **back)
    assert listed(host) == before


def carried(host: Node, results: Path, *tests: str) -> set[str]:
    """Run these tests in the guest, hold every trial against itself, verify the run; return its paths."""
    before = listed(host)
    command = ["run", SUITE, "--testbed", str(TESTBED), "--profile", str(PROFILE), "--results", str(results)]
    command += [word for test_id in tests for word in ("--test", test_id)]
    _, said = ended(host, started(host, *command), within_s=RUN_DEADLINE_S)
    (folder,) = (file.parent for file in results.glob("*/run.json"))
    run = read_run(folder)
    assert run.status == "complete", said[-3000:]
    assert listed(host) == before
    free = host.call_within(CALL_DEADLINE_S, pages.free, size_kib=2048)
    assert free == HUGEPAGES  # none stays taken
    assert {outcome.type for outcome in run.outcomes} <= ANSWERS, said[-3000:]
    sound = [trial.result for trial in run.trials if trial.fault is None]
    assert sound
    for result in sound:
        hold(result)
    platform = json.loads((folder / "platform.json").read_text())
    nics = [nic for one in platform["deployments"].values() for nic in one["nics"]]
    assert {nic["driver"] for nic in nics} == {"igb"}
    assert {nic["line_rate_bps"] for nic in nics} == {1_000_000_000}
    bundle = results / "run.tar"
    assert here("bundle", str(folder), "--output", str(bundle)).returncode == 0
    verified = here("verify", str(bundle))
    assert verified.returncode == 6, verified.stdout[-3000:] + verified.stderr[-1000:]  # nobody signed
    assert here("report", str(folder)).returncode == 0
    return {outcome.cell.path for outcome in run.outcomes}


def hold(result: TrialResult) -> None:
    """Hold a trial's counts against each other, and its ports against what they are."""
    (stream,) = result.streams
    assert result.spec.load_fps <= 2000
    assert stream.sent_frames + stream.unsent_frames == stream.intended_frames
    assert stream.sent_frames == stream.received_frames + stream.lost_frames
    assert stream.corrupt_frames == 0
    counted = dict(result.auxiliary)
    assert {value for name, value in counted.items() if name.endswith(".link_mbps")} == {1000}
    assert {"rx_errors", "rx_dropped", "rx_no_buffer"} <= {name.rpartition(".")[2] for name in counted}


def test_a_run_carries_frames_by_pci_ports_to_a_verified_report(host: Node, results: Path) -> None:
    assert carried(host, results / "node", WIRE, NODE) == {"wire", "node"}


def test_what_a_killed_run_took_comes_back_by_the_ledger(host: Node, results: Path) -> None:
    before = listed(host)
    command = ["run", SUITE, "--test", WIRE, "--testbed", str(TESTBED), "--profile", str(PROFILE)]
    output = "/run/killed"
    pid = started(host, *command, "--results", "/run/results", output=output)
    end_s = time.monotonic() + CALL_DEADLINE_S
    while {"eth2", "eth3", "eth4", "eth5"} & {name for name, *_ in listed(host)}:
        seen = host.call_within(CALL_DEADLINE_S, guest_run.follow, pid=pid, output=output, offset=0)
        assert seen["status"] is None, seen["text"]
        assert time.monotonic() < end_s, seen["text"]
        time.sleep(0.5)
    killed(host, pid)
    ended(host, pid, within_s=CALL_DEADLINE_S, output=output)
    status, said = ended(host, started(host, "cleanup", "--all"), within_s=CALL_DEADLINE_S)
    assert status == 0, said
    assert listed(host) == before
    for port in PORTS:
        assert host.call_within(CALL_DEADLINE_S, lab_port.line_rate_bps, interface=port) == 1_000_000_000


def test_a_run_carries_frames_through_pods_by_pci_ports(host: Node, results: Path) -> None:
    assert carried(host, results / "pods", PVP) == {"wire", "pvp"}
