"""A native client and a server, native or in a pod: real programs over every interface, and nothing stays."""

from __future__ import annotations

import pathlib
from dataclasses import replace

import pytest
from tests.contract.paths_support import traces
from tests.contract.streams_support import needs, offered, spec
from tests.needs import skip_for

from bmwg.drivers import registry
from bmwg.drivers.api.protocols import Missing
from bmwg.drivers.containers import pod_programs
from bmwg.drivers.nodes import cgroups, process
from bmwg.drivers.places import guest_hosts
from bmwg.drivers.platform_record.deployment import take_between
from bmwg.drivers.watch.isolation import require_closed
from bmwg.drivers.workload.iperf3 import Iperf3
from bmwg.drivers.workload.netperf import Netperf
from bmwg.drivers.workload.sockperf import Sockperf
from bmwg.methodology.kinds.streams import profile
from bmwg.methodology.kinds.streams.kind import STREAMS
from bmwg.methodology.kinds.streams.records import Exchange, Transport
from bmwg.methodology.record import booted
from bmwg.methodology.record.booted import Booted
from bmwg.methodology.records import BAREMETAL, ENGINES, GUEST, NOTHING, POD, UNIKERNEL, Validity

pytestmark = needs("iperf3")
PATH = "client-server"


def path_of(bed, hosting: str):
    network = "bridge" if hosting in (POD, *ENGINES) else NOTHING
    cell = profile.cell_of(PATH, network, "socket_sizes_twin", spec(), hosting)
    return cell, registry.load(registry.PATH, PATH)(cell, bed)


@pytest.mark.parametrize(
    ("hosting", "interfaces"), [(BAREMETAL, 2), (POD, 4), ("docker", 4), ("podman", 4), ("lxc", 4)]
)
def test_a_stream_goes_from_the_client_to_the_form_and_nothing_stays(bed, hosting, interfaces):
    cell, path = path_of(bed, hosting)
    if (missing := path.probe_pods()) and hosting in ENGINES:
        pytest.skip(f"{missing.what}: {missing.reason}; {missing.mend}")
    assert missing is None
    before = traces(bed.run_dir, bed.token), bed.undo.pending
    with path.between_pods() as between:
        require_closed(bed)
        made = Iperf3([bed.node("dut1"), bed.node("dut2")])
        asked = spec(window_octets=20_000)
        found = offered(made, between, asked)
        assert found.faults == ()
        assert STREAMS.assessed(asked, found).validity is Validity.VALID, found
        assert len(found.crossings) == interfaces
        assert found.effective["send_buffer_octets"] == 40_000  # asked for, and doubled by the kernel
        records = take_between(bed, cell, between, {"iperf3": dict(made.describe())})
        assert {"dut1", "dut2"} <= set(records)
        assert between.evidence["cpus"]["server"] == bed.testbed.pods.cpuset
        told = between.evidence if hosting == BAREMETAL else between.evidence["endpoints"][0]["pod"]
        size = Booted.from_builtins(told[booted.KEY])
        assert not size.parts, "it runs on this host's own root, and has no image to compare"
        assert size.besides.startswith("none: the root of its ")
        assert between.evidence.get("start_s", 0.0) > 0 if hosting != BAREMETAL else "start_s" not in told
        client = between.ends[0]
        told = made.asked(client, ["sh", "-c", "grep Cpus_allowed_list /proc/self/status"], 5.0)
        assert told["output"].split()[-1] == client.pod.cpus
        told = made.asked(client, ["cat", "/proc/self/cgroup"], 5.0)
        lines = [line.split(":", 2) for line in told["output"].splitlines()]
        with_controllers = cgroups.version() == 2  # else those of version 1, beside which 2 has none
        named = {name for number, _, name in lines if (number == "0") is with_controllers}
        assert named == {client.pod.cgroup}, "a native program has its share of the CPU, as a pod has"
    assert (traces(bed.run_dir, bed.token), bed.undo.pending) == before


@pytest.mark.parametrize("hosting", [BAREMETAL, POD, "docker", "podman", "lxc"])
def test_each_request_is_answered_by_the_form_over_every_interface(bed, hosting):
    made = Sockperf([bed.node("dut1"), bed.node("dut2")])
    path = path_of(bed, hosting)[1]
    skip_for(path.probe_pods() or made.probe())
    by_pings = spec(workload="sockperf", exchange=Exchange.PING_PONG, message_octets=1024)
    with path.between_pods() as between:
        for asked in (replace(by_pings, transport=transport) for transport in Transport):
            found = offered(made, between, asked)
            assert found.faults == ()
            assert STREAMS.assessed(asked, found).validity is Validity.VALID, found
            assert found.round_trips > 0
            assert len(found.crossings) == 2 * len(between.crossed)  # requests, and answers
            assert all(one.octets >= found.received_octets > 0 for one in found.crossings)


def test_native_programs_have_the_limits_of_a_pod_in_a_cgroup_of_their_own(bed):
    with path_of(bed, POD)[1].between_pods() as between:
        pod = between.evidence["endpoints"][0]["pod"]
    with path_of(bed, BAREMETAL)[1].between_pods() as between:
        native = between.evidence["native_programs"]
        server = between.ends[1]
        assert pathlib.Path("/proc", str(server.pod.pid), "cgroup").read_text().count(server.pod.cgroup) == 0
    assert native["server"] == {name: pod[name] for name in native["server"]}
    assert any(name in native["server"] for name in ("cpu_shares", "cpu_weight"))
    assert native["client"]["memory_limit_octets"] == pod["memory_limit_octets"]


def test_a_server_that_is_left_in_the_cgroup_ends_with_it(bed):
    with path_of(bed, BAREMETAL)[1].between_pods() as between:
        end = between.ends[1]
        started = end.pod.node.call(
            pod_programs.start,
            pid=end.pod.pid,
            start_ticks=end.pod.start_ticks,
            command=["sleep", "600"],
            folder=str(bed.run_dir / "left"),
            cgroup=end.pod.cgroup,
        )
        assert process.same(started["pid"], started["start_ticks"])
    assert not process.same(started["pid"], started["start_ticks"])
    assert bed.undo.pending == () or all(one.kind != "native_cgroup" for one in bed.undo.pending)


@pytest.mark.parametrize("hosting", ["xen", UNIKERNEL])
def test_a_form_that_nothing_makes_here_is_told_by_name(bed, hosting):
    missing = path_of(bed, hosting)[1].probe_pods()
    assert missing is not None
    assert hosting in missing.what


def test_a_machine_without_what_a_guest_needs_is_told_by_name(bed, monkeypatch):
    lack = Missing(what="QEMU", reason="not in PATH", mend="sh setup/install.sh http")
    monkeypatch.setattr(guest_hosts, "lacking", lambda *_: lack)
    assert path_of(bed, GUEST)[1].probe_pods() == lack


def test_frames_have_no_cell_on_it(bed):
    assert path_of(bed, BAREMETAL)[1].probe() is not None


def test_netperf_asks_and_is_answered_by_either_transport(bed):
    made = Netperf([bed.node("dut1"), bed.node("dut2")])
    if missing := made.probe():
        pytest.skip(f"{missing.what}: {missing.reason}; {missing.mend}")
    pings = spec(workload="netperf", exchange=Exchange.PING_PONG, message_octets=64)
    with path_of(bed, POD)[1].between_pods() as between:
        for asked in (replace(pings, transport=transport) for transport in Transport):
            found = offered(made, between, asked)
            assert found.faults == ()
            assert STREAMS.assessed(asked, found).validity is Validity.VALID, found
            assert found.round_trips > 0


@pytest.mark.parametrize("hosting", [BAREMETAL, POD])
def test_netperf_tells_the_sockets_size_as_asked_and_as_in_force(bed, hosting):
    made = Netperf([bed.node("dut1"), bed.node("dut2")])
    skip_for(made.probe())
    with path_of(bed, hosting)[1].between_pods() as between:
        for window, least in ((100, 4608), (20_000, 40_000)):
            asked = spec(workload="netperf", window_octets=window)
            found = offered(made, between, asked)
            assert found.faults == ()
            assert found.effective["send_buffer_asked_octets"] == window
            assert found.effective["send_buffer_octets"] == least
            assert STREAMS.assessed(asked, found).validity in (Validity.VALID, Validity.INCOMPLETE), found
