"""Probe frames through whatever forwards: answered by a router, named where they are dropped."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.contract.deploying import bed_in, embedded

from bmwg.drivers.paths import machine_ends, path_driver, probe_frame
from bmwg.drivers.paths.addresses import OUTER, host
from bmwg.drivers.paths.bed import Bed
from bmwg.drivers.testbed.file import load_testbed
from bmwg.methodology.errors import TestbedError
from bmwg.methodology.records import VM, Cell

pytestmark = pytest.mark.root
NODE = Cell(path="node", hosting="baremetal", function="kernel-l3", network="none", frame_octets=64)
MACHINE = Cell(path="pvp-vm", hosting=VM, function="kernel-l3", network="none", frame_octets=64)


@pytest.fixture(scope="module")
def bed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bed]:
    with bed_in(tmp_path_factory.mktemp("run"), embedded(io="af_packet")) as opened:
        yield opened


def asked(bed: Bed, beyond: str, within_s: float) -> object:
    side = bed.sides()[0]
    return bed.tester.call(
        probe_frame.answered,
        interface=side.tester_interface,
        mac=side.tester_mac,
        source=host(OUTER[0].far_ipv4),
        target=host(OUTER[0].router_ipv4),
        beyond=beyond,
        within_s=within_s,
    )


def test_a_router_answers_from_both_sides(bed: Bed) -> None:
    with path_driver(NODE, bed).deploy():
        found = machine_ends.crossed(bed, bed.sides())
    assert [one["at"] for one in found] == ["tester/p0", "tester/p1"]
    assert all(one["arp_s"] >= 0 and one["echo_s"] >= 0 for one in found)


def test_frames_that_lead_nowhere_are_named(bed: Bed) -> None:
    with path_driver(NODE, bed).deploy(), pytest.raises(TestbedError) as refused:
        asked(bed, "198.19.0.77", 1.5)
    assert refused.value.error_id == "PATH-09"
    assert "echo request" in refused.value.found


def test_a_side_on_which_nothing_answers_is_named(bed: Bed) -> None:
    with pytest.raises(TestbedError) as refused:  # nothing is deployed: nobody has the router's address
        asked(bed, host(OUTER[1].router_ipv4), 1.5)
    assert refused.value.error_id == "PATH-09"
    assert "ARP" in refused.value.found


def test_a_testbed_without_machines_is_missing_them_by_name(bed: Bed) -> None:
    missing = path_driver(MACHINE, bed).probe()
    assert missing is not None
    assert "names no provider" in missing.reason
    assert "openstack.yaml" in missing.mend


def test_a_provider_whose_machines_do_not_forward_is_named_and_nothing_is_made(tmp_path: Path) -> None:
    testbed = load_testbed()
    testbed = replace(testbed, data={**testbed.data, "vms": {"driver": "qemu"}})
    with bed_in(tmp_path, testbed, machines=True) as bed:
        missing = path_driver(MACHINE, bed).probe()
        assert missing is not None
        assert "one interface" in missing.reason
        assert bed.undo.pending == ()
