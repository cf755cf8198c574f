"""A tester on a host of its own without a host: the testbed file, clocks of two hosts, what crosses."""

from __future__ import annotations

import copy
from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import execnet
import pytest
import yaml

from bmwg.drivers.actuators.acting import ActingTraffic
from bmwg.drivers.api.protocols import TesterPort
from bmwg.drivers.nodes import probe
from bmwg.drivers.nodes.here import HERE
from bmwg.drivers.paths.bed_links import pci_needs
from bmwg.drivers.testbed.file import Testbed, embedded_file, load_testbed, parse_testbed, text_of_testbed
from bmwg.drivers.testbed.hosts import hosts_of, of_tester, under_test
from bmwg.drivers.testbed.medium import with_medium
from bmwg.drivers.traffic.embedded import driver as embedded
from bmwg.drivers.traffic.moongen import driver as moongen
from bmwg.drivers.traffic.otg import driver as otg
from bmwg.drivers.traffic.simulated import SimulatedTraffic
from bmwg.drivers.traffic.trex import trial as trex_trial
from bmwg.drivers.undo.locks import claims
from bmwg.drivers.watch import clocks, neighbours
from bmwg.drivers.watch.clocks import ClockBound
from bmwg.drivers.watch.data_plane import DataPlane
from bmwg.methodology.errors import ConfigError, DriverError
from bmwg.methodology.records import NOTHING, Cell, Direction, TrialSpec
from bmwg.reports.checker.places import devices, has_nodes_here
from bmwg.reports.store.frame_codec import result_from_json, spec_to_json
from bmwg.resources.lab.sketch import as_text
from bmwg.resources.run import tester_agent
from bmwg.resources.run.remote_tester import RemoteTraffic

CELL = Cell(path="node", hosting="baremetal", function="kernel-l3", network=NOTHING, frame_octets=64)
LINKS = [("tester/e1", "dut1/e3"), ("tester/e2", "dut1/e4"), ("tester/e5", "tester/e6")]


def data(**changes: Any) -> dict[str, Any]:
    found = yaml.safe_load(embedded_file().read_text())
    found |= {
        "nodes": {
            "dut1": {"kind": "ssh", "ssh": "root@dut"},
            "gen": {"kind": "ssh", "ssh": "root@gen", "python": "/opt/python"},
        },
        "links": [{"a": a, "b": b, "kind": "cable"} for a, b in LINKS],
        "lab_ports": ["e1", "e2", "e5", "e6"],
        "medium": {"kind": "ethernet", "line_rate_bps": 10_000_000_000},
    }
    found["tester"] |= {"ports": ["tester/e1", "tester/e2"], "host": "gen", "cpus": [0, 3], "io": "pci"}
    return {**copy.deepcopy(found), **changes}


def read(found: dict[str, Any]) -> Testbed:
    return parse_testbed(yaml.safe_dump(found), Path("lab.yaml"))


def test_the_testers_host_is_a_host_of_the_run_and_no_node_of_paths() -> None:
    testbed = read(data())
    device, tester = hosts_of(testbed)
    assert (device.name, device.ports) == ("dut1", ("e3", "e4"))
    assert (tester.name, tester.ssh, tester.python) == ("tester", "root@gen", "/opt/python")
    assert (tester.ports, tester.cpus, tester.nodes) == (("e1", "e2", "e5", "e6"), (0, 3), ("tester",))
    assert of_tester(hosts_of(testbed))
    assert [node.name for node in testbed.nodes] == ["dut1"]
    assert under_test(testbed) == "dut1"


def test_nothing_of_it_is_claimed_or_read_on_the_runner() -> None:
    testbed = read(data())
    assert claims(testbed) == ()
    assert (testbed.tester_cpus_here, testbed.dut_cpus_here, testbed.lab_ports_here) == ((), (), ())
    assert with_medium(testbed) is testbed
    there = parse_testbed(text_of_testbed(testbed), Path("lab.yaml")).at_the_tester
    assert (there.tester_cpus_here, there.lab_ports_here) == ((0, 3), ("e1", "e2", "e5", "e6"))
    assert there.dut_cpus_here == ()


def test_a_reader_of_the_run_finds_device_and_tester_on_hosts() -> None:
    assert devices(data()) == {"dut1"}
    assert not has_nodes_here(data())
    assert "host root@gen" in as_text(read(data()))


def without_medium() -> dict[str, Any]:
    found = data()
    del found["medium"]
    return found


def with_end(end: str) -> dict[str, Any]:
    found = data()
    found["links"][0]["a"] = end
    return found


def with_node(**node: str) -> dict[str, Any]:
    found = data()
    found["nodes"]["dut1"] = node
    return found


def with_tester(**tester: Any) -> dict[str, Any]:
    found = data()
    found["tester"] |= tester
    return found


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (with_tester(host="gne"), r"tester\.host: expected a node of this file of kind ssh \(dut1, gen\)"),
        (with_tester(host="dut1"), r"links\[0\]\.b: expected tester/e3"),
        (with_end("gen/e1"), r"links\[0\]\.a: expected tester/e1"),
        (with_node(kind="namespace"), r"nodes\.dut1\.kind: expected ssh"),
        (with_node(kind="ssh", ssh="root@gen"), r"tester\.host: expected a host that no other node is on"),
        (without_medium(), "medium: expected the medium between tester and device"),
        (with_tester(driver="simulated"), r"tester\.host: expected no host: driver simulated sends nothing"),
        ({**data(), "lab_ports": ["e1", "e2", "e5"]}, "an interface of the tester's host that lab_ports"),
    ],
)
def test_what_such_a_host_cannot_be_is_named_with_its_place(found: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=f"CFG-04(.|\n)*{said}"):
        read(found)


class Far:
    """A clock that is off by a constant, each question to it taking as long."""

    def __init__(self, ahead_ns: int, wait_ns: int, now: list[int]) -> None:
        self._ahead_ns, self._wait_ns, self._now = ahead_ns, wait_ns, now

    def call(self, function: object) -> int:
        assert function is probe.monotonic_ns
        self._now[0] += self._wait_ns
        return self._now[0] + self._ahead_ns


def test_of_two_hosts_neither_of_which_is_here_the_bounds_add_up(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1_000_000]
    monkeypatch.setattr(clocks.time, "monotonic_ns", lambda: now[0])
    tester, device = Far(5_000_000_000, 40_000, now), Far(-3_000_000_000, 60_000, now)
    found = clocks.between(tester, device)  # type: ignore[arg-type]
    assert found.bound_ns == 20_000 + 30_000
    assert abs(found.offset_ns - 8_000_000_000) <= found.bound_ns


def crossed(value: Any) -> Any:
    """What arrives of builtins that an agent sends."""
    return execnet.loads(execnet.dumps(value))


def test_trials_cross_as_the_journal_writes_them_and_count_as_here() -> None:
    testbed = load_testbed("testbeds/simulated.yaml")
    ports = tuple(TesterPort(name=name, io="ring", device=name) for name in ("p0", "p1"))
    specs = [
        TrialSpec(frame_octets=64, load_fps=2_000_000, duration_s=0.5, direction=Direction.BOTH),
        TrialSpec(frame_octets=1518, load_fps=500, duration_s=1.0, loss_times=True, tag_after_s=0.5, tags=1),
        TrialSpec(frame_octets=512, load_fps=700, duration_s=1.0, mix_octets=(64, 512)),
    ]
    text = text_of_testbed(testbed)
    here = SimulatedTraffic.for_testbed(testbed, Path("/nonexistent"), 0.1)
    tester_agent.begin(testbed=text, file="lab.yaml", run_dir="/nonexistent", drain_s=0.1)
    try:
        with here:
            limits = here.attach((ports[0], ports[1]))
            told = crossed(tester_agent.attach(ports=crossed([asdict(port) for port in ports])))
            assert told["capabilities"] == sorted(limits.capabilities)
            for spec in specs:
                tester_agent.learn(spec=crossed(spec_to_json(spec)))
                here.learn(spec)
                found = result_from_json(crossed(tester_agent.run(spec=crossed(spec_to_json(spec)))))
                assert found == here.run(spec)
            assert crossed(tester_agent.describe())["simulated"] is True
            tester_agent.detach()
    finally:
        tester_agent.end()
    with pytest.raises(DriverError, match="TST-33"):
        tester_agent.detach()


def test_a_generator_that_is_too_slow_is_not_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its trial of 60 s takes twice as long, and it says so itself: an agent that is ended is not revived."""
    spec = TrialSpec(frame_octets=64, load_fps=1000, duration_s=60.0)
    asked: list[float] = []

    def call(deadline_s: float, *_: Any, **__: Any) -> Any:
        asked.append(deadline_s)
        raise DriverError("NODE-03", "agent", found="it ended")

    remote = object.__new__(RemoteTraffic)
    monkeypatch.setattr(remote, "_call", call)
    assert remote.run(spec).fault
    slowest_s = (
        moongen.START_S + 2 * spec.duration_s,
        2 * spec.duration_s + trex_trial.TRIAL_MARGIN_S,
        2 * spec.duration_s + otg.TRIAL_MARGIN_S,
        spec.total_s + embedded.TRIAL_MARGIN_S,
    )
    assert asked[0] > max(slowest_s) + 30


def test_the_end_of_what_a_tester_said_is_fetched(tmp_path: Path) -> None:
    (tmp_path / "tester-7.log").write_bytes(b"a" * 70000 + b"last\xff")
    (tmp_path / "tester-8.log").touch()
    found = tester_agent.logs(run_dir=str(tmp_path))
    assert list(found) == ["tester-7.log"]
    assert found["tester-7.log"].endswith("last�")
    assert len(found["tester-7.log"]) == 1 << 16


def test_hugepages_are_asked_for_all_lanes() -> None:
    """Two CPUs are two lanes: 160 MiB for one, and 56 for a further one (docs/testers.md)."""
    found = pci_needs(read(data()))
    assert {str(end): memory_mib for end, memory_mib in found.items()} == dict.fromkeys(
        ("tester/e1", "tester/e2", "tester/e5", "tester/e6"), 216
    )
    one = pci_needs(read(with_tester(options={"lanes": 1})))
    assert set(one.values()) == {160}
    assert set(pci_needs(read(with_tester(options={"memory_mib": 512}))).values()) == {512}
    assert set(pci_needs(read(with_tester(driver="moongen"))).values()) == {0}  # it sees to its own
    assert pci_needs(read(with_tester(driver="otg"))) == {}


class Node:
    """A node that must not be asked for anything, on a machine."""

    def __init__(self, name: str, machine: object) -> None:
        self.name, self.machine = name, machine


def test_threads_of_two_kernels_are_counted_as_none() -> None:
    """A number of a thread on one host means another thread, or none, on the other one."""
    machines = [SimpleNamespace(name=f"dut{number}/host") for number in (1, 2)]
    nodes = {f"dut{number}": Node(f"dut{number}", machine) for number, machine in enumerate(machines, 1)}
    bed: Any = SimpleNamespace(
        pods={},
        standing_machines={},
        testbed=SimpleNamespace(dut=SimpleNamespace(cpus=(1,))),
        nodes=tuple(nodes),
        node=nodes.__getitem__,
    )
    queues = [{"at": f"{name}/eth3", "threads": [{"pid": 7}]} for name in nodes]
    deployment: Any = SimpleNamespace(evidence={"device_queues": queues})
    plane = DataPlane(bed, CELL, deployment)
    assert plane.parts == []
    assert "two machines" in plane.evidence()["not_counted"]["kernel"]


def test_an_act_is_told_by_the_testers_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    known = {
        "tester": ClockBound(offset_ns=100, bound_ns=3),
        "device": ClockBound(offset_ns=-40, bound_ns=5),
    }
    monkeypatch.setattr(clocks, "bound", lambda far: known[far.name])
    gen = SimpleNamespace(name="tester")

    def clock(tester: Any, machine: Any) -> ClockBound | None:
        bed = SimpleNamespace(tester=SimpleNamespace(machine=tester))
        place: Any = SimpleNamespace(bed=bed, node=Node("device", machine))
        return ActingTraffic(None, place)._clock()  # type: ignore[arg-type]

    assert clock(HERE, HERE) is None
    assert clock(gen, gen) is None
    assert clock(HERE, object()) == known["device"]
    assert clock(gen, object()) == ClockBound(offset_ns=-140, bound_ns=8)


def test_a_neighbour_on_the_testers_cpus_needs_its_machine() -> None:
    """The numbers of `tester.cpus` would be other CPUs on the device's host."""
    device, gen = SimpleNamespace(name="dut1/host"), SimpleNamespace(name="tester/host")
    bed: Any = SimpleNamespace(
        testbed=read(data()), node=lambda name: Node(name, device), tester=Node("tester", gen)
    )
    missing = neighbours.lacking(bed, "memory-on-tester")
    assert missing is not None
    assert "another machine" in missing.reason
