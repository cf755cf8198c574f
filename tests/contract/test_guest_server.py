"""A server in a guest, by a tap or by redirected ports: streams cross a real vNIC, and nothing stays."""

from __future__ import annotations

import os
import signal
import time
from dataclasses import replace

import pytest
from tests.contract.guest_support import needs_guest
from tests.contract.paths_support import traces
from tests.contract.streams_support import needs, offered, spec, udp
from tests.faults.support import children

from bmwg.drivers import registry
from bmwg.drivers.api.protocols import Missing
from bmwg.drivers.containers import native_cgroup
from bmwg.drivers.machines import guest_kernel, qemu_place
from bmwg.drivers.platform_record.deployment import take_between
from bmwg.drivers.ports import interfaces
from bmwg.drivers.watch.isolation import require_closed
from bmwg.drivers.watch.liveness import Liveness
from bmwg.drivers.workload.iperf3 import Iperf3
from bmwg.drivers.workload.sockperf import Sockperf
from bmwg.methodology.kinds.streams import profile
from bmwg.methodology.kinds.streams.kind import STREAMS
from bmwg.methodology.kinds.streams.records import Exchange, Transport
from bmwg.methodology.record import booted
from bmwg.methodology.record.booted import Booted, Counted
from bmwg.methodology.records import GUEST, NOTHING, REDIRECTED, Validity

pytestmark = [*needs("iperf3"), *needs_guest]
PATH = "client-server"
WAYS = {
    GUEST: ["dut1/under0", "dut2/under0", "dut2/vm1", "vm1/eth0"],
    REDIRECTED: ["dut1/under0", "dut2/under0", "vm1/eth0"],
}
SLOW = replace(udp(), load_bps=5_000_000)  # which a translated server takes


def path_of(bed, form: str = GUEST):
    cell = profile.cell_of(PATH, NOTHING, "socket_sizes_twin", spec(), form)
    return cell, registry.load(registry.PATH, PATH)(cell, bed)


def seen(bed):
    names = {one["name"] for one in bed.node("dut2").call(interfaces.listing)}
    return traces(bed.run_dir, bed.token), bed.undo.pending, names


@pytest.mark.parametrize("form", WAYS)
def test_a_stream_crosses_the_vnic_to_a_program_in_the_guest_and_nothing_stays(bed, form):
    cell, path = path_of(bed, form)
    assert path.probe_pods() is None
    before = seen(bed)
    with path.between_pods() as between:
        require_closed(bed)
        liveness = Liveness(bed)
        assert [one.at for one in between.crossed] == WAYS[form]
        workload = Iperf3([bed.node("dut1"), bed.node("dut2")])
        for asked in (spec(window_octets=20_000), SLOW):
            found = offered(workload, between, asked)
            workload.detach()
            assert found.faults == ()
            assert STREAMS.assessed(asked, found).validity is Validity.VALID, found
            assert [one.at for one in found.crossings] == WAYS[form]
            for one in found.crossings:
                assert one.octets >= found.received_octets > 0
        assert liveness.fault() is None
        server = between.ends[1]
        told = server.pod.inside(native_cgroup.described, cgroup=server.pod.cgroup)
        assert told["memory_limit_octets"] == bed.testbed.pods.memory_octets
        assert between.evidence["native_programs"]["server"] == told
        (machine,) = between.evidence["machines"].values()
        assert machine["accelerator"] in ("tcg", "kvm")
        assert machine["vnic"]["kind"] == "virtio"
        size = Booted.from_builtins(machine[booted.KEY])
        name, kernel = guest_kernel.find().booted()
        assert list(size.parts) == [name, booted.INITRAMFS]
        assert size.parts[name][Counted.LENGTH] == len(kernel.read_bytes())
        assert "the host's root over 9p" in size.besides, "its root is no image of its own"
        records = take_between(bed, cell, between, {"iperf3": dict(workload.describe())})
        assert records["vm1"]["fields"]["nic"]["eth0"]["offloads"]["value"]
        on_host = records["dut2"]["fields"]["nic"]
        assert on_host["vm1"]["offloads"]["value"] if form == GUEST else "vm1" not in on_host
        assert machine["nics"][0]["backend"] == ("tap" if form == GUEST else "user-mode network")
        if form == REDIRECTED:
            _answers_requests(bed, between)
    assert seen(bed) == before


def _answers_requests(bed, between) -> None:
    """Answers come back by the port that the request came to, by either transport."""
    workload = Sockperf([bed.node("dut1"), bed.node("dut2")])
    if workload.probe():
        return
    pings = spec(workload="sockperf", exchange=Exchange.PING_PONG, message_octets=1024)
    for asked in (replace(pings, transport=transport) for transport in Transport):
        found = offered(workload, between, asked)
        workload.detach()
        assert found.faults == ()
        assert STREAMS.assessed(asked, found).validity is Validity.VALID, found
        assert found.round_trips > 0


def test_a_qemu_without_a_user_mode_network_is_told_by_name(bed, monkeypatch):
    path = path_of(bed, REDIRECTED)[1]
    assert path.probe_pods() is None
    answer = "this QEMU was built without one"
    node = type(bed.node("dut2"))
    real = node.call_named

    def without(self, function, arguments, **rest):
        known = function.endswith(qemu_place.no_user_network.__name__)
        return answer if known else real(self, function, arguments, **rest)

    monkeypatch.setattr(node, "call_named", without)
    told = path.probe_pods()
    assert isinstance(told, Missing)
    assert told.reason == answer
    assert path_of(bed)[1].probe_pods() is None, "a tap needs none"


def test_a_guest_that_ends_is_told_and_nothing_stays(bed):
    before = seen(bed)
    with path_of(bed)[1].between_pods():
        liveness = Liveness(bed)
        assert liveness.fault() is None
        (qemu,) = [pid for pid in children(bed.node("dut2").pid) if _is_qemu(pid)]
        os.kill(qemu, signal.SIGKILL)
        end_s = time.monotonic() + 30
        while liveness.fault() is None and time.monotonic() < end_s:
            time.sleep(0.1)
        assert "vm1" in (liveness.fault() or "")
    assert seen(bed) == before


def _is_qemu(pid: int) -> bool:
    return os.path.basename(os.path.realpath(f"/proc/{pid}/exe")).startswith("qemu-system")
