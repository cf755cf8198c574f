"""Several lanes: known truths on rings that lose, cross and double frames; what they refuse."""

import socket
import threading
import time
from collections import Counter
from dataclasses import replace

import pytest
import tester_bed as bed

from bmwg.drivers.nodes.netns import within
from bmwg.drivers.paths.addresses import BEHIND
from bmwg.drivers.traffic.embedded.driver import EmbeddedConfig, EmbeddedTraffic
from bmwg.drivers.traffic.embedded.lanes import DESCRIPTORS, memory_for, refused
from bmwg.drivers.traffic.embedded.ports import request_for
from bmwg.drivers.traffic.embedded.protocol import RefusalError
from bmwg.drivers.traffic.embedded.rss import Rss, queues_of, steered
from bmwg.methodology.benchmarks import imix
from bmwg.methodology.errors import ConfigError, TestbedError
from bmwg.methodology.records import Direction, TrialSpec
from bmwg.methodology.trial.capabilities import Capability, LackingError

pytestmark = pytest.mark.quiet

SPEC = TrialSpec(frame_octets=64, load_fps=200_000, duration_s=0.2)
FASTEST = TrialSpec(frame_octets=64, load_fps=50_000_000, duration_s=1.0)


@pytest.fixture
def on_rings(two_lanes):
    """Attach two lanes to rings on which something happens; returns what runs trials."""

    def run(way, spec):
        two_lanes.attach(bed.linked("ring", (way, way)))
        result = two_lanes.run(spec)
        two_lanes.detach()
        assert result.fault is None
        return result, dict(result.auxiliary)

    return run


def by_lane(told, key="sent_frames"):
    return [told[f"lane{lane}.{key}"] for lane in (0, 1)]


@pytest.mark.parametrize("spec", [SPEC, FASTEST])
def test_a_ring_that_loses_nothing_loses_nothing(on_rings, spec):
    result, told = on_rings("plain", spec)
    stream = result.streams[0]
    assert stream.received_frames == stream.sent_frames == sum(by_lane(told)) > 0
    assert stream.latency.frames == stream.received_frames
    least, most = (sum(entry[end] * entry[2] for entry in stream.latency.buckets) for end in (0, 1))
    assert least <= stream.latency.sum_ns <= most
    assert stream.duplicate_frames == stream.reordered_frames == stream.corrupt_frames == 0
    assert told["lanes"] == 2
    assert told["lanes.handed_frames"] == 0
    assert all(told[f"lane{lane}.cpu_ns"] > 0 for lane in (0, 1))


@pytest.mark.parametrize("spec", [SPEC, FASTEST])
@pytest.mark.parametrize("every", [1, 7, 100])
def test_every_lost_frame_is_lost_and_no_other(on_rings, spec, every):
    result, told = on_rings(f"drop={every}", spec)
    stream = result.streams[0]
    assert stream.lost_frames == sum(sent // every for sent in by_lane(told))
    assert stream.duplicate_frames == stream.reordered_frames == 0
    assert by_lane(told, "received_frames") == [sent - sent // every for sent in by_lane(told)]


@pytest.mark.parametrize("spec", [SPEC, FASTEST])
@pytest.mark.parametrize("every", [1, 2, 97])
def test_frames_that_cross_to_another_lane_count_for_their_own(on_rings, spec, every):
    result, told = on_rings(f"cross={every}", spec)
    stream = result.streams[0]
    assert stream.received_frames == stream.sent_frames > 0
    assert by_lane(told, "received_frames") == by_lane(told)
    assert 0 < told["lanes.handed_frames"] <= sum(sent // every for sent in by_lane(told))
    if spec is SPEC:  # where the queue beside has room for each of them
        assert told["lanes.handed_frames"] == sum(sent // every for sent in by_lane(told))
    assert stream.duplicate_frames == 0
    assert stream.reordered_frames == 0  # between queues there is no order, within each it was kept


def test_no_frame_comes_before_it_left(two_lanes):
    """A frame that another CPU takes at once is stamped when it is in hand, not while it is waited for."""
    two_lanes.attach(bed.linked("ring", ("cross=2", "cross=2")))
    trials = [two_lanes.run(replace(SPEC, load_fps=2_000_000)) for _ in range(12)]
    two_lanes.detach()
    assert [trial.fault for trial in trials] == [None] * 12
    assert all(trial.streams[0].latency.min_ns > 0 for trial in trials)


@pytest.mark.parametrize("every", [1, 3])
def test_a_second_copy_in_another_lane_is_a_duplicate(on_rings, every):
    result, told = on_rings(f"double={every}", SPEC)
    stream = result.streams[0]
    assert stream.received_frames == stream.sent_frames
    assert stream.duplicate_frames == told["lanes.handed_frames"] == sum(n // every for n in by_lane(told))


def late_ones(sent, late, cross):
    """Of so many frames in a queue: those that came after a later one; whether one waits at the end."""
    waits, after = False, 0
    for number in range(1, sent + 1):
        if cross and number % cross == 0:
            continue  # to the other queue, where all are in order
        if waits:
            waits, after = False, after + 1
        else:
            waits = number % late == 0
    return after, waits


@pytest.mark.parametrize("cross", [0, 2, 5])
def test_order_is_told_by_queue(on_rings, cross):
    result, told = on_rings(f"late=7+cross={cross}" if cross else "late=7", SPEC)
    stream = result.streams[0]
    truths = [late_ones(sent, 7, cross) for sent in by_lane(told)]
    assert stream.reordered_frames == sum(after for after, _ in truths) > 0
    assert stream.lost_frames == sum(waits for _, waits in truths)


@pytest.mark.parametrize("spec", [SPEC, FASTEST])
def test_all_of_it_at_once_in_both_directions(two_lanes, spec):
    """Another thing happens in each direction; at the highest load over several turns of the window."""
    two_lanes.attach(bed.linked("ring", ("drop=10+cross=3+double=7", "drop=4+cross=5")))
    result = two_lanes.run(TrialSpec(**{**_fields(spec), "direction": Direction.BOTH}))
    two_lanes.detach()
    told = dict(result.auxiliary)
    forward, reverse = result.streams
    sent = sum(by_lane(told))
    assert forward.sent_frames + reverse.sent_frames == sent
    # Each lane's frames take one queue in each direction, so at most one in two lanes is not a whole turn.
    for stream, every in ((forward, 4), (reverse, 10)):
        assert stream.sent_frames // every - 1 <= stream.lost_frames <= stream.sent_frames // every
        assert stream.latency.frames == stream.received_frames
        assert stream.reordered_frames == stream.corrupt_frames == stream.foreign_frames == 0
    assert forward.duplicate_frames == 0
    kept = reverse.received_frames
    assert reverse.duplicate_frames <= kept // 7
    if spec is SPEC:
        assert kept // 7 - 1 <= reverse.duplicate_frames


def _fields(spec):
    return {name: getattr(spec, name) for name in ("frame_octets", "load_fps", "duration_s")}


def test_one_lane_on_the_same_rings(run_dir):
    with EmbeddedTraffic(EmbeddedConfig(run_dir=run_dir, drain_quiet_s=0.1)) as tester:
        for way, lost in (("plain", 0), ("drop=8", SPEC.intended_frames // 8)):
            tester.attach(bed.linked("ring", (way, way)))
            result = tester.run(SPEC)
            tester.detach()
            stream = result.streams[0]
            if stream.sent_frames == SPEC.intended_frames:
                assert stream.lost_frames == lost
            assert "lanes" not in dict(result.auxiliary)


def test_an_odd_frame_is_one_lanes(on_rings):
    for frames in (1, 3):
        result, told = on_rings("plain", TrialSpec(frame_octets=64, load_fps=frames * 10, duration_s=0.1))
        assert result.streams[0].received_frames == frames
        assert by_lane(told) == [(frames + 1) // 2, frames // 2]


def test_tags_mixes_networks_and_two_loads_are_those_of_all_frames(two_lanes):
    ports = bed.linked("ring", ("cross=3", "cross=3"))
    two_lanes.attach(ports)
    tagged = TrialSpec(frame_octets=64, load_fps=20_000, duration_s=0.2, tag_after_s=0.1, tags=400)
    stream = two_lanes.run(tagged).streams[0]
    assert tagged.tag_frames[1] - tagged.tag_frames[0] == 5  # so both lanes have some
    assert len(stream.tagged_ns) == 400
    assert sum(ns is None for ns in stream.tagged_ns) <= stream.unsent_frames
    assert sum(at is None for at in stream.tagged_at_ns) == sum(ns is None for ns in stream.tagged_ns)
    mix = imix.parse("7a4d1g")
    mixed = two_lanes.run(
        TrialSpec(frame_octets=1518, load_fps=12_000, duration_s=0.1, mix_octets=mix.sequence)
    ).streams[0]
    assert mixed.received_frames == mixed.sent_frames > 0
    assert mixed.corrupt_frames == 0  # each had the size of its number
    two = two_lanes.run(
        TrialSpec(frame_octets=64, load_fps=20_000, duration_s=0.1, then_load_fps=10_000, then_duration_s=0.1)
    ).streams[0]
    assert two.received_frames == two.sent_frames > 0
    assert two.effective_duration_ns >= 190_000_000 or two.unsent_frames
    two_lanes.detach()


def test_frames_to_random_networks_are_told_by_network(two_lanes):
    first, second = bed.linked("ring", ("cross=3", "cross=3"))
    two_lanes.attach(
        (replace(first, networks_ipv4=BEHIND[0][0]), replace(second, networks_ipv4=BEHIND[1][0]))
    )
    spec = TrialSpec(
        frame_octets=64,
        load_fps=40_000,
        duration_s=0.1,
        destination_networks=16,
        flows=3,
        direction=Direction.BOTH,
    )
    result = two_lanes.run(spec)
    two_lanes.detach()
    for stream in result.streams:
        assert stream.received_frames == stream.sent_frames > 0
        assert stream.corrupt_frames == 0
        assert stream.sent_by_network == stream.received_by_network
        assert sum(stream.sent_by_network) == stream.sent_frames
        assert min(stream.sent_by_network) > 0


def _heard(port, stop):
    """UDP source ports of the test frames that reach an interface, counted."""
    listener = within(
        port.netns, lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0800))
    )
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 24)
    listener.bind((port.device, 0))
    listener.settimeout(0.05)
    heard = Counter()

    def listen():
        while not stop.is_set():
            try:
                frame, address = listener.recvfrom(2048)
            except TimeoutError:
                continue
            if address[2] != socket.PACKET_OUTGOING:
                heard[int.from_bytes(frame[34:36], "big")] += 1
        listener.close()

    thread = threading.Thread(target=listen)
    thread.start()
    return thread, heard


@pytest.mark.parametrize("flows", [1, 2, 3, 8])
@pytest.mark.parametrize("steered", [False, True])
def test_flows_have_equal_shares_and_the_ports_that_steer_them(two_lanes, flows, steered):
    """A device with RSS is made up; what is on the wire is looked at."""
    spec = TrialSpec(frame_octets=64, load_fps=2_400, duration_s=0.1, flows=flows)
    nic = Rss(key=bytes(range(7, 59)), table=(0, 1, 1, 0), ipv4=True, ipv6=True)
    with bed.direct("af_packet") as ports:
        two_lanes.attach(ports)
        if steered:
            two_lanes._queues = (nic, nic)
        lists = two_lanes._source_ports(spec)
        stop = threading.Event()
        thread, heard = _heard(ports[1], stop)
        result = two_lanes.run(spec)
        sent = result.streams[0].sent_frames
        end_s = time.monotonic() + 10.0
        while sum(heard.values()) < sent and time.monotonic() < end_s:
            time.sleep(0.01)
        stop.set()
        thread.join()
        two_lanes.detach()
    assert sum(heard.values()) == sent
    if steered and flows % 2 == 0:
        expected = {port for ports_of_lane in lists[0] for port in ports_of_lane}
    else:
        assert lists is None
        expected = {0xC020 + flow for flow in range(flows)}
    assert set(heard) == expected
    if sent == spec.intended_frames:
        assert set(heard.values()) == {sent // flows}


def test_frames_spread_by_the_kernel_are_counted_exactly(two_lanes):
    """Packet sockets of one fanout group: a frame goes where its flow's hash says, which nobody chose."""
    with bed.direct("af_packet") as ports:
        two_lanes.attach(ports)
        spec = TrialSpec(
            frame_octets=128, load_fps=20_000, duration_s=0.2, flows=64, direction=Direction.BOTH
        )
        two_lanes.learn(spec)
        result = two_lanes.run(spec)
        two_lanes.detach()
    for stream in result.streams:
        assert stream.received_frames == stream.sent_frames > 0
        assert stream.duplicate_frames == stream.corrupt_frames == 0
    assert dict(result.auxiliary)["lanes.handed_frames"] > 0


def test_what_needs_one_lane_is_refused_by_name(two_lanes):
    limits = two_lanes.attach(bed.linked("ring", ("plain", "plain")))
    assert Capability.LOSS_TIMES not in limits.capabilities
    for asked in ({"loss_times": True}, {"broadcast_every": 100}):
        with pytest.raises(LackingError, match="CAP-01"):
            two_lanes.run(TrialSpec(**_fields(SPEC), **asked))
    two_lanes.detach()


@pytest.mark.parametrize("io", ["xdp", "af_xdp"])
def test_kinds_of_one_queue_are_refused_by_name(two_lanes, io):
    with bed.direct(io) as ports, pytest.raises(ConfigError, match="TST-28"):
        two_lanes.attach(ports)


def test_a_ring_that_does_what_nobody_knows_is_refused(two_lanes):
    for way in ("drp=3", "drop=0", "drop", "drop=3+", "drop=3x"):
        with pytest.raises(TestbedError, match="TST-11"):
            two_lanes.attach(bed.linked("ring", (way, way)))


def test_a_tester_whose_master_goes_ends_all_its_lanes(run_dir):
    config = EmbeddedConfig(run_dir=run_dir, cpus=(0, 1), memory_mib=memory_for(2, DESCRIPTORS))
    with EmbeddedTraffic(config) as tester:
        tester.attach(bed.linked("ring", ("cross=2", "cross=2")))
        order = tester._order(SPEC, 10_000_000, 100_000.0, Direction.BOTH)
        channel = tester._process._channel
        ender = threading.Timer(0.3, lambda: channel._socket.sendall(b"\n"))  # a word amid the trial
        ender.start()
        reply = tester._process.request("trial", order, deadline_s=30.0)
        ender.join()
        assert reply["aborted"] is True
        assert len(reply["lanes"]) == 2


def _asked(tester, devargs, lanes, **other):
    """One attach of two devices that no testbed file can name."""
    ports = [
        request_for(port, number, mtu=1500, frame_octets=64, pool_frames=2048, lanes=lanes)
        | {"devargs": devargs.format(number)}
        | other
        for number, port in enumerate(bed.linked("ring", ("plain", "plain")))
    ]
    order = {"ports": ports, "lanes": lanes, "link_deadline_s": 1.0}
    return tester._process.request("attach", order, deadline_s=30.0)


def test_a_device_that_spreads_frames_tells_its_key_and_table(two_lanes):
    """DPDK's null device has the settings of one, though it receives nothing that it could spread."""
    told = queues_of(_asked(two_lanes, "net_null7{},no-rx=1", 2))
    for nic in told:
        assert nic is not None
        assert len(nic.key) == 40
        assert set(nic.table) == {0, 1}
        assert len(nic.table) == 128
        assert nic.ipv4
        assert nic.ipv6
    lists = steered([("198.18.0.2/24", told[0]), ("198.18.1.2/24", told[1])], lanes=2, flows=64)
    assert lists is not None
    two_lanes._process.request("detach", {}, deadline_s=10.0)


def test_a_device_of_one_queue_says_so(two_lanes, run_dir):
    with pytest.raises(RefusalError) as caught:
        _asked(two_lanes, f"net_pcap8{{}},tx_pcap={run_dir}/one.pcap", 2)
    named = refused(caught.value, bed.linked("ring", ("plain", "plain")), 2)
    assert named is not None
    assert named.error_id == "TST-28"
    assert "1 of each" in str(named)


def test_too_little_memory_names_the_setting(run_dir):
    with EmbeddedTraffic(EmbeddedConfig(run_dir=run_dir, cpus=(0, 1), memory_mib=64)) as tester:
        with pytest.raises(TestbedError, match="TST-11") as caught:
            tester.attach(bed.linked("ring", ("plain", "plain")))
        assert "tester.options.memory_mib" in caught.value.hint
        assert tester.pid is not None


@pytest.mark.parametrize("lanes", [0, 65])
def test_lanes_that_no_sequence_number_can_name(two_lanes, lanes):
    with pytest.raises(RefusalError, match="protocol"):
        _asked(two_lanes, "net_null7{},no-rx=1", lanes)


@pytest.mark.parametrize("wrong", [[], [[[49184]], [[49184]]], [[[1], [49184]]] * 2, [[[49184], []]] * 2])
def test_source_ports_that_no_lane_can_have(two_lanes, wrong):
    two_lanes.attach(bed.linked("ring", ("plain", "plain")))
    order = two_lanes._order(SPEC, 10, 1000.0, Direction.FORWARD) | {"source_ports": wrong}
    with pytest.raises(RefusalError, match="protocol"):
        two_lanes._process.request("trial", order, deadline_s=30.0)
    two_lanes.detach()


def test_every_source_port_can_be_named_in_one_order(two_lanes):
    two_lanes.attach(bed.linked("ring", ("plain", "plain")))
    every = list(range(0xC020, 65536))
    order = two_lanes._order(SPEC, 1000, 10_000.0, Direction.BOTH) | {
        "flows": len(every),
        "source_ports": [[every[:8176], every[8176:]]] * 2,
    }
    reply = two_lanes._process.request("trial", order, deadline_s=30.0)
    assert [stream["received_frames"] for stream in reply["streams"]] == [
        stream["sent_frames"] for stream in reply["streams"]
    ]
    two_lanes.detach()
