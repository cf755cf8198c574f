"""A guest whose NICs are vhost-user ports of Open vSwitch with DPDK: real parts. Slow under TCG."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from tests.contract.deploying import all_seen, bed_in
from tests.contract.paths_support import PacketTester
from tests.needs import able
from tests.needs_guest import booting

from bmwg.drivers.api.protocols import Deployment, Missing
from bmwg.drivers.machines import qemu_place, qemu_sockets
from bmwg.drivers.network import ovs_parts, ovs_switch
from bmwg.drivers.paths import path_driver
from bmwg.drivers.paths.bed import Bed
from bmwg.drivers.platform_record import deployment as record_of
from bmwg.drivers.testbed.file import load_testbed
from bmwg.drivers.watch.data_plane import DataPlane
from bmwg.drivers.watch.liveness import Liveness
from bmwg.methodology.errors import DriverError, TestbedError
from bmwg.methodology.record.drift import drift
from bmwg.methodology.records import VM, Cell
from bmwg.resources.run.deployment_identity import normal_form

pytestmark = pytest.mark.root
CELL = Cell(path="pvp-vm-vhost-user", hosting=VM, function="kernel-l3", network="ovs-dpdk", frame_octets=64)
NO_SWITCH = pytest.mark.skipif(
    isinstance(ovs_parts.find(), Missing), reason="needs Open vSwitch with DPDK: sh setup/install.sh vswitch"
)
TRIES = 5  # of a frame: a translated guest on a busy host


@pytest.fixture(scope="module")
def bed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bed]:
    with bed_in(tmp_path_factory.mktemp("run")) as opened:
        yield opened


@contextmanager
def deployed(bed: Bed) -> Iterator[Deployment]:
    """Have the guest stand; afterwards everything is as it was before."""
    before = all_seen(bed)
    with able(path_driver(CELL, bed)).deploy() as deployment:
        yield deployment
    assert all_seen(bed) == before
    assert bed.programs == {}
    assert bed.standing_machines == {}
    assert bed.node("dut1").call(ovs_switch.recorded) == {}  # no switch is left


def carried(deployment: Deployment) -> None:
    """Send a frame of each size and version both ways; each comes, routed."""
    with PacketTester(deployment.ports) as tester:
        for source in (0, 1):
            for ipv6 in (False, True):
                for frame_octets in (96, 1468):
                    marker = f"from {source} v{ipv6}".encode()
                    came = next(
                        filter(
                            None,
                            (
                                tester.carry(source, marker, ipv6=ipv6, frame_octets=frame_octets)
                                for _ in range(TRIES)
                            ),
                        ),
                        None,
                    )
                    assert came is not None, (source, ipv6, frame_octets)
                    assert len(came) == frame_octets - 4
                    assert came[:6] == bytes.fromhex(deployment.ports[1 - source].mac.replace(":", ""))


def fault_within(liveness: Liveness, within_s: float = 10.0) -> str:
    """Return the first fault that is told."""
    end_s = time.monotonic() + within_s
    while (found := liveness.fault()) is None and time.monotonic() < end_s:
        time.sleep(0.05)
    return str(found)


@NO_SWITCH
@pytest.mark.slow
@pytest.mark.quiet  # one switch polls a CPU
@booting()
def test_frames_pass_a_guest_at_sockets_twice_alike_and_nothing_stays(bed: Bed) -> None:
    node, records = bed.node("dut1"), []
    for _ in range(2):
        with deployed(bed) as deployment:
            carried(deployment)
            evidence = json.loads(json.dumps(deployment.evidence))
            machine, ports = evidence["machine"], evidence["attachments"]
            sockets = [one["socket"] for one in ports]
            assert [(one["backend"], one["socket"]) for one in machine["vnics"]] == [
                ("vhost-user", socket) for socket in sockets
            ]
            assert [one["vswitch"]["vhost_user"]["status"] for one in ports] == ["connected"] * 2
            assert [one["vswitch"]["vhost_user"]["socket"] for one in ports] == sockets
            assert machine["memory"].startswith("shared")
            assert machine["process_cpus"] == bed.testbed.pods.cpuset
            affinity = os.sched_getaffinity(bed.programs["machine vm0"][1])
            assert affinity == set(bed.testbed.pods.cpus)
            assert {"vswitch", "machine0"} <= set(DataPlane(bed, CELL, deployment).parts)
            assert all("tap" not in str(hop["what"]) for hop in evidence["hops"])
            assert not [one for one in node.call(qemu_place.describe, name="vm0")["nics"] if one["vhost"]]
            taken = record_of.take(bed, CELL, deployment, {"driver": "embedded", "cpus": [0]})
            told = taken["dut1"]["fields"]
            assert "vhost-user" in json.dumps(told["workload"])
            records.append(normal_form(taken, evidence))
    first, second = records
    assert {place: [str(one) for one in drift(first[place], second[place])] for place in first} == {
        place: [] for place in first
    }


@NO_SWITCH
@pytest.mark.slow
@pytest.mark.quiet  # one switch polls a CPU
@booting()
@pytest.mark.parametrize("what", ["vswitch", "machine"])
def test_a_switch_or_a_guest_that_is_killed_is_a_fault_and_nothing_stays(bed: Bed, what: str) -> None:
    with deployed(bed):
        liveness = Liveness(bed)
        assert liveness.fault() is None
        ((name, (_, pid, _)),) = [one for one in bed.programs.items() if one[0].startswith(what)]
        os.kill(pid, signal.SIGKILL)
        assert fault_within(liveness) == f"{name} on node dut1 has ended"


@NO_SWITCH
@pytest.mark.slow
@pytest.mark.quiet  # one switch polls a CPU
@booting()
def test_a_guest_without_a_socket_to_be_at_is_refused_and_nothing_stays(bed: Bed, tmp_path: Path) -> None:
    """No socket is there: QEMU does not start, and says so."""
    node, before = bed.node("dut1"), all_seen(bed)
    with pytest.raises(TestbedError) as refused:
        node.call_within(
            180.0,
            qemu_sockets.start,
            name="vm0",
            cpus=1,
            memory_octets=512 << 20,
            nics=[{"socket": str(tmp_path / "none"), "mac": "02:00:00:00:00:01"}],
            process_cpus="1",
            hugepage_octets=0,
            boot_deadline_s=120.0,
        )
    assert refused.value.error_id == "VM-04"
    assert "none" in refused.value.found
    with pytest.raises(DriverError, match=r"^VM-08 "):
        node.call(qemu_sockets.vnics, name="vm0")
    assert all_seen(bed) == before


def with_pods(bed: Bed, **settings: object) -> Bed:
    """Return the bed with other pods, which a guest's CPUs and memory are those of."""
    return bed.varied({("pods", name): value for name, value in settings.items()}, "a test")


@pytest.mark.parametrize("network", ["bridge", "ovs-vlan", "af-xdp"])
def test_an_option_without_a_socket_is_refused_by_name(bed: Bed, network: str) -> None:
    driver = path_driver(replace(CELL, network=network), bed)
    missing = driver.probe()
    assert missing is not None
    assert network in missing.what
    assert "vhost-user" in missing.reason
    with pytest.raises(TestbedError, match=r"^PATH-02 "), driver.deploy():
        pytest.fail("it stands")


@pytest.mark.parametrize("provider", ["libvirt", "openstack"])
def test_a_provider_without_such_nics_is_refused_by_name(
    bed: Bed, provider: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = {**bed.testbed.data, "vms": {"driver": provider}}
    monkeypatch.setattr(bed, "testbed", replace(bed.testbed, data=data))
    missing = path_driver(CELL, bed).probe()
    assert missing is not None
    assert provider in missing.what
    assert "driver: qemu" in missing.mend


@booting()
@pytest.mark.parametrize(
    ("pages", "word"),
    [(8, "its kernel needs 512 MiB"), (900_000, "are free")],
    ids=["too-small", "not-there"],
)
def test_hugepages_that_are_too_few_or_not_there_are_told_before_anything_starts(
    bed: Bed, pages: int, word: str
) -> None:
    missing = path_driver(CELL, with_pods(bed, hugepages_2Mi=pages)).probe()
    assert missing is not None
    assert f"{pages} hugepages of 2 MiB" in missing.what
    assert word in missing.reason
    assert bed.node("dut1").call(ovs_switch.recorded) == {}


def test_frames_beyond_a_guest_s_interfaces_are_refused(bed: Bed) -> None:
    missing = path_driver(replace(CELL, frame_octets=9018), bed).probe()
    assert missing is not None
    assert "9018" in missing.what


def test_a_testbed_whose_ports_are_at_sockets_has_no_guest_between_nics(tmp_path: Path) -> None:
    with bed_in(tmp_path, load_testbed("testbeds/vhost-user.yaml")) as opened:
        missing = path_driver(CELL, opened).probe()
    assert missing is not None
    assert CELL.path in missing.what
