"""Pods in guests: real programs in pods behind a real vNIC, both ways, and nothing stays. Slow under TCG."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.contract.deploying import all_seen
from tests.contract.guest_support import needs_guest
from tests.contract.streams_support import needs, offered, spec, udp

from bmwg.drivers import registry
from bmwg.drivers.places import guest_hosts
from bmwg.drivers.platform_record.deployment import take_between
from bmwg.drivers.watch.isolation import require_closed
from bmwg.drivers.watch.liveness import Liveness
from bmwg.drivers.workload.iperf3 import Iperf3
from bmwg.methodology.cells.vnics import E1000, IGB_VF, VHOST_NET, VIRTIO
from bmwg.methodology.errors import TestbedError
from bmwg.methodology.kinds.streams import profile
from bmwg.methodology.kinds.streams.kind import STREAMS
from bmwg.methodology.kinds.streams.records import Way
from bmwg.methodology.records import Validity

pytestmark = [*needs("iperf3"), *needs_guest]
SLOW = replace(udp(), load_bps=5_000_000)  # which a translated sender keeps to


def path_of(bed, path: str, network: str, vnic: str = VIRTIO):
    cell = profile.cell_of(path, network, "tcp", spec(), vnic=vnic)
    return cell, registry.load(registry.PATH, path)(cell, bed)


@pytest.mark.parametrize(
    ("path", "network", "vnic", "way"),
    [
        ("bmp2vmp", "bridge", VIRTIO, ["dut1/vm0", "vm0/eth0"]),
        (
            "bmp2vmp-vxlan",
            "bridge",
            VIRTIO,
            ["dut1/bmwg-vx0", "dut1/under0", "dut2/under0", "dut2/vm0", "vm0/eth0", "vm0/bmwg-vx0"],
        ),
        (
            "vmp2vmp-remote",
            "macvlan",
            VIRTIO,
            ["vm0/eth0", "dut1/vm0", "dut1/under0", "dut2/under0", "dut2/vm1", "vm1/eth0"],
        ),
        ("vmp2vmp", "ipvlan", E1000, ["vm0/eth0", "dut1/vm0", "dut1/vm1", "vm1/eth0"]),
    ],
)
def test_streams_cross_the_vnic_and_its_tap_both_ways_and_nothing_stays(bed, path, network, vnic, way):
    cell, driver = path_of(bed, path, network, vnic)
    before = all_seen(bed)
    assert driver.probe_pods() is None
    with driver.between_pods() as between:
        require_closed(bed)
        liveness = Liveness(bed)
        assert set(way) <= {one.at for one in between.crossed}
        workload = Iperf3([bed.node(node.name) for node in bed.testbed.nodes])
        for asked in (spec(), spec(way=Way.REVERSE), SLOW):
            found = offered(workload, between, asked)
            workload.detach()
            assert found.faults == ()
            judged = STREAMS.assessed(asked, found).validity
            assert judged in (Validity.VALID, Validity.SENT_SHORT), (asked.way, found)
            assert len(found.crossings) == len(between.crossed)
            for one in found.crossings:
                assert one.octets >= found.received_octets > 0
        assert liveness.fault() is None
        records = take_between(bed, cell, between, {"iperf3": dict(workload.describe())})
        machines = between.evidence["machines"]
        assert {one["accelerator"] for one in machines.values()} <= {"tcg", "kvm"}
        for name, machine in machines.items():
            assert machine["vnic"]["kind"] == vnic
            assert records[name]["fields"]["nic"]["eth0"]["offloads"]["value"]
            assert records[machine["host"]]["fields"]["nic"][name]["offloads"]["value"]
        assert f"{machine['name']}/pod1" in records
    assert all_seen(bed) == before


def test_what_a_guest_cannot_have_is_told_before_one_boots(bed):
    told = {
        vnic: path_of(bed, "bmp2vmp", "bridge", vnic)[1].probe_pods() for vnic in (VHOST_NET, IGB_VF, E1000)
    }
    assert told[E1000] is None
    assert told[IGB_VF] is not None
    assert IGB_VF in told[IGB_VF].what
    if (lack := told[VHOST_NET]) is not None:  # where there is no KVM
        assert lack.what == "vNIC vhost-net"
    on_a_nic = path_of(bed, "bmp2vmp", "macvlan")[1].probe_pods()
    assert on_a_nic is not None
    assert "vmp2vmp" in on_a_nic.mend
    frames = path_of(bed, "vmp2vmp", "bridge")[1].probe()
    assert "frames" in frames.what


def test_an_option_that_the_guest_lacks_is_told_by_its_name_and_the_guest_goes(bed, monkeypatch):
    """The guest's kernel loads no module for an option whose plugin is not there."""
    network = bed.testbed.network("vlan")
    plugins = [{**network.conflist["plugins"][0], "type": "no-such-plugin"}]
    other = replace(network, conflist={**network.conflist, "plugins": plugins})
    options = tuple(other if one.name == "vlan" else one for one in bed.testbed.networks)
    monkeypatch.setattr(bed, "testbed", replace(bed.testbed, networks=options))
    before = all_seen(bed)
    with (
        pytest.raises(TestbedError, match="PATH-02"),
        path_of(bed, "vmp2vmp", "vlan")[1].between_pods(),
    ):
        pytest.fail("it stands")
    assert bed.guests.names == ()
    assert all_seen(bed) == before


def test_the_pods_of_a_guest_have_all_of_its_cpus_but_the_first():
    assert [guest_hosts._pod_cpus(count) for count in (1, 2, 4)] == ["0", "1", "1-3"]
