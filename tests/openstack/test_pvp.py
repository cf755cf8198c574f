"""A Nova server that forwards between two NICs of its host: frames pass both ways, and nothing stays."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.contract.paths_support import PacketTester
from tests.openstack.support import needs_cloud, password, strays, until

from bmwg.drivers.nodes import process
from bmwg.drivers.paths import path_driver
from bmwg.drivers.paths.bed import Bed, open_bed
from bmwg.drivers.platform_record import deployment as record_of
from bmwg.drivers.ports import interfaces as hosting_interfaces
from bmwg.drivers.testbed.file import load_testbed
from bmwg.drivers.undo.ledger import Ledger
from bmwg.drivers.watch.liveness import Liveness
from bmwg.methodology.errors import TestbedError
from bmwg.methodology.record.drift import drift
from bmwg.methodology.records import VM, Cell
from bmwg.resources.run.deployment_identity import normal_form

pytestmark = needs_cloud
ROOT = Path(__file__).resolve().parents[2]
CELL = Cell(path="pvp-vm", hosting=VM, function="kernel-l3", network="none", frame_octets=64)
WAIT_S = 20.0  # a translated machine on a busy host


@pytest.fixture(scope="module")
def bed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bed]:
    folder = tmp_path_factory.mktemp("run")
    ledger = Ledger(folder / "ledger.jsonl", index_dir=folder / "index")
    testbed = load_testbed(ROOT / "testbeds" / "openstack.yaml")
    testbed = replace(testbed, tester=replace(testbed.tester, io="af_packet"))
    with open_bed(testbed, ledger, folder, machines=True) as opened:
        yield opened
    assert ledger.pending == ()
    assert strays(str(folder)) == []


def interfaces(bed: Bed) -> list[tuple[str, str]]:
    """The compute host's interfaces and their controllers, but the management network's, which stays."""
    found = bed.node("dut1").call(hosting_interfaces.listing)
    return sorted((one["name"], one["controller"]) for one in found if not one["name"].startswith("brq"))


def test_frames_go_through_both_ways_and_nothing_stays(bed: Bed) -> None:
    driver = path_driver(CELL, bed)
    assert driver.probe() is None
    seen, records = [], []
    for turn in range(2):
        with driver.deploy() as deployment, PacketTester(deployment.ports) as tester:
            for source in (0, 1):
                for ipv6 in (False, True):
                    for frame_octets in (96, 1468):
                        marker = f"turn {turn} from {source} v{ipv6}".encode()
                        came = tester.carry(source, marker, ipv6=ipv6, frame_octets=frame_octets)
                        assert came is not None, (turn, source, ipv6, frame_octets)
                        assert len(came) == frame_octets - 4
                        assert came[:6] == bytes.fromhex(deployment.ports[1 - source].mac.replace(":", ""))
            evidence = json.loads(json.dumps(deployment.evidence))
            print(json.dumps(evidence, indent=1))
            machine = evidence["machine"]
            assert machine["accelerator"] in ("tcg", "kvm")
            assert [port["port_security"] for port in machine["ports"]] == [True, False, False]
            assert len(evidence["probe_frames"]) == 2
            assert password() not in json.dumps(evidence)
            taken = record_of.take(bed, CELL, deployment, {"driver": "embedded", "cpus": [0]})
            assert password() not in json.dumps(taken)
            records.append(normal_form(taken, evidence))
        seen.append(interfaces(bed))
    assert seen[0] == seen[1]
    first, second = records
    assert {place: [str(one) for one in drift(first[place], second[place])] for place in first} == {
        place: [] for place in first
    }


def test_a_server_that_dies_is_a_fault_and_no_device_that_loses_all(bed: Bed) -> None:
    """Its QEMU is killed: its taps go with it, and they are looked at after each trial."""
    before = interfaces(bed)
    with path_driver(CELL, bed).deploy():
        liveness = Liveness(bed)
        assert liveness.fault() is None
        (machine,) = bed.standing_machines.values()
        server_id = machine._server.server_id.encode()  # type: ignore[attr-defined]
        (emulator,) = [
            pid
            for pid, words in process.each("cmdline")
            if b"qemu" in words[0] and any(server_id in word for word in words)
        ]
        os.kill(emulator, signal.SIGKILL)
        assert until(lambda: liveness.fault() is not None, WAIT_S)
        assert "is gone" in (liveness.fault() or "")
    assert interfaces(bed) == before


def test_a_security_group_that_drops_frames_is_found_before_a_trial(
    bed: Bed, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = interfaces(bed)
    provider = bed.machines
    workshop = provider.workshop  # type: ignore[attr-defined]
    real = workshop.port
    monkeypatch.setattr(
        workshop,
        "port",
        lambda what, network, guard=None: real(what, network, guard=provider._guard),  # type: ignore[attr-defined]
    )
    with pytest.raises(TestbedError) as refused, path_driver(CELL, bed).deploy():
        pass
    assert refused.value.error_id == "PATH-09"
    assert "port security" in refused.value.hint
    assert interfaces(bed) == before
    assert [one.name for one in workshop.client.call("s", lambda sdk: list(sdk.compute.servers()))] == []
