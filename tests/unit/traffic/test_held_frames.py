"""Frames that stand in a packet socket's ring are not those of the next trial."""

import pytest

from bmwg.drivers.api.protocols import TesterPort
from bmwg.drivers.traffic.embedded.driver import EmbeddedTraffic
from bmwg.drivers.traffic.embedded.result import read_result
from bmwg.methodology.records import TrialSpec


def ports(io):
    return tuple(TesterPort(name=f"p{side}", device=f"eth{side}", io=io, netns=None) for side in (0, 1))


@pytest.fixture
def tester(monkeypatch):
    """A tester whose ports are plugged only on paper."""
    made = EmbeddedTraffic.__new__(EmbeddedTraffic)
    made._queue_refused = made._ring_holds = False
    made._slot_octets = 256
    made.plugged = 0
    monkeypatch.setattr(made, "_plug", lambda *_, **__: setattr(made, "plugged", made.plugged + 1))
    monkeypatch.setattr(made, "_resolve", lambda *_: None)
    return made


@pytest.mark.parametrize(
    ("holds", "io", "times"), [(True, "af_packet", 1), (False, "af_packet", 0), (True, "af_xdp", 0)]
)
def test_a_ring_that_still_holds_frames_is_opened_anew_once(tester, holds, io, times):
    tester._ring_holds = holds
    tester._fit_rings(ports(io), 64)
    tester._fit_rings(ports(io), 64)
    assert tester.plugged == times


def result_of(io, seen, no_room=0):
    """Read a trial of 10 frames, of which 8 came; sender and receiver counted so many sent and dropped."""
    came = min(8, seen)
    stream = {
        **dict.fromkeys(("duplicate_frames", "reordered_frames", "corrupt_frames", "foreign_frames"), 0),
        **dict.fromkeys(("stale_frames", "beyond_window_frames", "backpressure_bursts"), 0),
        **dict.fromkeys(("broadcast_sent_frames", "largest_burst_frames", "largest_lateness_ns"), 0),
        "intended_frames": 10,
        "sent_frames": 10,
        "received_frames": came,
        "effective_duration_ns": 1000,
        "latency": {"buckets": [[1, 1, came]] if came else [], "sum_ns": came, "min_ns": 1, "max_ns": 1},
    }
    reply = {
        **dict.fromkeys(("largest_gap_ns", "gaps_over_1ms", "loop_passes", "no_buffer_events"), 0),
        "port_counters_before": [{"tx_packets": 0, "rx_dropped": 3}] * 2,
        "port_counters": [
            {"tx_packets": seen, "rx_dropped": 3},
            {"tx_packets": 0, "rx_dropped": 3 + no_room},
        ],
        "streams": [stream, None],
        "unassigned_frames": [0, 0],
        "link_mbps": [10_000, 0],
        "lanes": [{}],
        "wall_time_ns": 2000,
        "residual_wait_ns": 0,
        "real_time": True,
        "aborted": False,
        "extras": [],
        "watchdogs": [],
    }
    return read_result(TrialSpec(frame_octets=64, load_fps=10, duration_s=1.0), ports(io), reply, {})


def counted(io, seen):
    result = result_of(io, seen)
    kept = {key: value for key, value in result.auxiliary if key in ("forward.held_frames", QUEUED)}
    return result.streams[0].sent_frames, result.streams[0].lost_frames, kept


QUEUED = "forward.queued_frames"


@pytest.mark.parametrize(
    ("io", "seen", "sent", "lost", "kept"),
    [
        ("af_packet", 9, 9, 1, {"forward.held_frames": 1}),  # in the tester's own ring
        ("xdp", 9, 10, 2, {"forward.held_frames": 0, QUEUED: 1}),  # in the ring of the DUT's interface
        ("xdp", 10, 10, 2, {"forward.held_frames": 0, QUEUED: 0}),
        ("xdp", 0, 0, 0, {"forward.held_frames": 10}),  # nothing left
        ("pci", 9, 10, 2, {"forward.held_frames": 0}),  # a device counts when it likes
    ],
)
def test_frames_that_no_interface_saw_are_the_duts_where_it_has_the_ring(io, seen, sent, lost, kept):
    """The DUT's were "never sent", and it had lost none."""
    assert counted(io, seen) == (sent, lost, kept)


@pytest.mark.parametrize(("io", "told"), [("pci", {"p0.link_mbps": 10_000}), ("af_packet", {})])
def test_a_pci_port_tells_its_link_and_what_its_device_counted(io, told):
    auxiliary = dict(result_of(io, 9).auxiliary)
    assert {name: count for name, count in auxiliary.items() if name.endswith("link_mbps")} == told
    assert auxiliary["p0.tx_packets"] == 9


@pytest.mark.parametrize(
    ("io", "no_room", "dropped"),
    [
        ("pci", 0, 0),
        ("pci", 1, 1),
        ("pci", 5, 2),  # only two of this stream were lost: the others were somebody else's
        ("virtio_user", 1, 1),
        ("af_packet", 1, 0),  # the kernel counts other things by that name
    ],
)
def test_what_a_testers_device_had_no_room_for_is_the_testers_loss(io, no_room, dropped):
    """It was the DUT's: `imissed` of DPDK was told and counted nowhere."""
    assert result_of(io, 10, no_room).streams[0].tester_dropped_frames == dropped
