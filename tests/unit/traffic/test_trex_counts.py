"""What TRex's client returns becomes counts, or is said to be none."""

import math

import pytest

from bmwg.drivers.testbed.file import load_testbed
from bmwg.drivers.traffic.trex import frames
from bmwg.drivers.traffic.trex.channel import Replay, read_reply
from bmwg.drivers.traffic.trex.config import config_of, read_options
from bmwg.drivers.traffic.trex.counts import ContradictionError, backwards, histogram, read
from bmwg.drivers.traffic.trex.frames import Way
from bmwg.methodology.errors import ConfigError, DriverError, TestbedError
from bmwg.methodology.records import FrameFormat

GROUPS = ((1, 0, 1),)
WAY = Way(
    source_mac="02:00:00:00:00:01",
    destination_mac="02:00:00:00:00:02",
    source_ip="198.18.0.2",
    destination_ip="198.18.1.2",
)


def stats(sent=1000, received=990, **changes):
    port = {"opackets": sent, "ipackets": 0, "oerrors": 0, "ierrors": 0}
    tree = {
        "global": {"queue_full": 3},
        "0": port,
        "1": {**port, "opackets": 0, "ipackets": received},
        "flow_stats": {"1": {"tx_pkts": {"0": sent, "1": 0}, "rx_pkts": {"0": 0, "1": received}}},
        "latency": {
            "global": {"old_flow": 0, "bad_hdr": 2},
            "1": {
                "err_cntrs": {
                    "dup": 1,
                    "out_of_order": 2,
                    "seq_too_high": 3,
                    "seq_too_low": 4,
                    "dropped": 10,
                },
                "latency": {"histogram": {"0": 900, "10": 80, "300": 10}, "total_max": 345},
            },
        },
    }
    for path, value in changes.items():
        node = tree
        *way, last = path.split("__")
        for key in way:
            node = node[key]
        node[last] = value
    return tree


def test_a_reading_is_what_trex_counted():
    reading = read(stats(), (0, 1), GROUPS)
    group = reading.groups[0]
    assert (group.sent, group.received, group.duplicates, group.out_of_order) == (1000, 990, 1, 2)
    assert reading.ports[1].received == 990
    assert reading.queue_full == 3
    assert reading.stray_frames == 2


def test_latency_is_microseconds_and_becomes_nanoseconds():
    found = read(stats(), (0, 1), GROUPS).groups[0].latency
    assert found.buckets == ((0, 9_999, 900), (10_000, 19_999, 80), (300_000, 399_999, 10))
    assert found.max_ns == 399_999
    assert found.frames == 990


def test_a_histogram_that_misses_frames_is_left_out():
    assert histogram({"histogram": {"0": 5}, "total_max": 3}, 6).buckets == ()


@pytest.mark.parametrize("value", [-1, math.nan, math.inf, 0.5, None, "12", True])
@pytest.mark.parametrize("place", ["1__ipackets", "flow_stats__1__tx_pkts__0", "global__queue_full"])
def test_what_is_no_count_is_a_contradiction(place, value):
    with pytest.raises(ContradictionError):
        read(stats(**{place: value}), (0, 1), GROUPS)


def test_a_stream_that_trex_does_not_know_is_a_contradiction():
    with pytest.raises(ContradictionError, match="flow_stats / 7"):
        read(stats(), (0, 1), ((7, 0, 1),))


def test_counters_that_go_back_are_noticed():
    before, after = read(stats(), (0, 1), GROUPS), read(stats(received=980), (0, 1), GROUPS)
    assert backwards(before, after) == "a counter of TRex went back from 990 to 980"
    assert backwards(before, before) == ""


@pytest.mark.parametrize("octets", [64, 65, 512, 1518])
@pytest.mark.parametrize("vlan", [None, 100])
def test_a_frame_is_as_long_as_asked_less_its_fcs(octets, vlan):
    if octets < frames.min_frame_octets(FrameFormat.IPV4_UDP, tagged=vlan is not None):
        pytest.skip(f"{octets} octets with tag hold no sixteen octets of TRex")
    frame = frames.build(WAY, FrameFormat.IPV4_UDP, octets, vlan)
    assert len(frame) == octets - 4
    at = frames.source_port_offset(FrameFormat.IPV4_UDP, tagged=vlan is not None)
    assert frame[at : at + 4].hex() == "c0200007"
    head = frame[at - 20 : at]
    words = sum(int.from_bytes(head[i : i + 2], "big") for i in range(0, 20, 2))
    assert (words & 0xFFFF) + (words >> 16) == 0xFFFF  # a header checksum that holds


def test_least_sizes_leave_room_for_what_trex_writes():
    assert frames.min_frame_octets(FrameFormat.IPV4_UDP, tagged=False) == 64
    assert frames.min_frame_octets(FrameFormat.IPV4_UDP, tagged=True) == 66
    assert frames.min_frame_octets(FrameFormat.IPV6_UDP, tagged=False) == 82


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"sever": "x"}, "did you mean 'server'"),
        ({"mode": "join"}, "start or attach"),
        ({"port_ids": "0"}, "two different numbers"),
        ({"sync_port": 0}, "1..65535"),
        ({"sync_port": "4501"}, "type int"),
        ({"ring_frames": 3}, "256..65536"),
        ({"reply_s": 0}, "above 0"),
        ({"nice": 20}, "-20..19"),
    ],
)
def test_an_option_that_is_none_is_named(given, said):
    with pytest.raises(ConfigError, match="TREX-02") as raised:
        read_options(given, "lab.yaml: tester.options")
    assert said in str(raised.value)


def test_a_folder_without_client_is_refused(tmp_path, monkeypatch):
    testbed = load_testbed("testbeds/trex.yaml")
    monkeypatch.delenv("BMWG_TREX_DIR", raising=False)
    with pytest.raises(ConfigError, match="TREX-01"):
        config_of(testbed, tmp_path, 0.05)
    monkeypatch.setenv("BMWG_TREX_DIR", str(tmp_path))
    with pytest.raises(TestbedError, match="TREX-03") as raised:
        config_of(testbed, tmp_path, 0.05)
    assert "api.py" in str(raised.value)


def test_a_line_that_is_no_reply_is_refused():
    for line in ("", "[]", "nonsense", "{}"):
        with pytest.raises(DriverError, match="TREX-07"):
            read_reply(line)


def test_a_replay_holds_the_driver_to_its_calls():
    replay = Replay(iter(['{"call": "connect", "arguments": {}, "result": null}']))
    with pytest.raises(DriverError, match="TREX-07"):
        replay.call("acquire", deadline_s=1)
    assert replay.call("connect", deadline_s=1) is None
    assert replay.left == 0
