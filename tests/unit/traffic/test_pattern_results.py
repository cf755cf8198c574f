"""What a trial of a pattern counted: frames that stood in the tester's queues are nobody's loss."""

import itertools

import pytest

from bmwg.drivers.api.protocols import TesterPort
from bmwg.drivers.traffic.embedded.pattern import learning, order_of, read_ports
from bmwg.methodology.errors import DriverError
from bmwg.methodology.records import TrialSpec
from bmwg.methodology.trial.pattern import Pattern, full_mesh

PORTS = tuple(TesterPort(name=f"p{side}", io="af_xdp", device=f"d{side}") for side in range(4))
ONE_TO_MANY = Pattern(to=((1, 2, 3), (), (), ()))


def counted(pattern, sent, received):
    """Return what the tester answers: of the frames of each sender, so many came to each receiver."""
    of_ports = "duplicate reordered corrupt foreign flooded stale beyond_window largest_burst"
    zero = {f"{name}_frames": 0 for name in of_ports.split()}
    zero |= {"backpressure_bursts": 0, "largest_lateness_ns": 0, "effective_duration_ns": 0}
    ports = []
    for port in range(pattern.ports):
        came = sum(received[sender][pattern.to[sender].index(port)] for sender in pattern.senders_to(port))
        meant = pattern.meant_for(port, sent)
        latency = {"buckets": [[1, 1, came]] if came else [], "sum_ns": came, "min_ns": 1, "max_ns": 1}
        ports.append(
            zero
            | {"intended_frames": meant, "sent_frames": meant, "received_frames": came, "latency": latency}
        )
    senders = [
        {"sent_frames": frames, "returned_frames": 0, "received_frames": list(came), "first_sent_ns": 5}
        for frames, came in zip(sent, received, strict=True)
    ]
    return {"ports": ports, "senders": senders}


def read(pattern, sent, received, left):
    interfaces = [{"tx_packets": frames} for frames in left]
    return read_ports(pattern, PORTS, counted(pattern, sent, received), interfaces, [0] * 4, largest_gap_ns=0)


@pytest.mark.parametrize("held", range(5))
@pytest.mark.parametrize("lost", list(itertools.product(range(4), repeat=3)))
def test_held_frames_are_taken_from_those_that_did_not_come(held, lost):
    sent = [11, 0, 0, 0]
    meant = [4, 4, 3]
    came = [max(0, whole - missing) for whole, missing in zip(meant, lost, strict=True)]
    streams, told = read(ONE_TO_MANY, sent, [came, [], [], []], [11 - held, 0, 0, 0])
    missing = sum(meant) - sum(came)
    taken = min(held, missing)
    assert told["p0.held_frames"] == taken
    assert told["p0.sent_frames"] == 11 - taken
    assert sum(stream.sent_frames for stream in streams) == 11 - taken
    assert sum(stream.lost_frames for stream in streams) == missing - taken
    for stream, whole, got in zip(streams[1:], meant, came, strict=True):
        assert got == stream.received_frames <= stream.sent_frames <= whole


def test_a_held_broadcast_frame_went_to_nobody():
    pattern = Pattern(to=((1, 2, 3), (), (), ()), broadcast=True)
    streams, _ = read(pattern, [10, 0, 0, 0], [[9, 8, 7], [], [], []], [8, 0, 0, 0])
    assert [stream.sent_frames for stream in streams] == [0, 9, 9, 9]  # one of the two came to a port
    assert [stream.lost_frames for stream in streams] == [0, 0, 1, 2]


def test_an_answer_of_other_ports_is_nonsense():
    found = counted(full_mesh(4), [0] * 4, [[0] * 3] * 4)
    for part in ("ports", "senders"):
        broken = found | {part: found[part][:3]}
        with pytest.raises((DriverError, ValueError)):
            read_ports(full_mesh(4), PORTS, broken, [{}] * 4, [0] * 4, largest_gap_ns=0)


def test_ports_that_are_attached_beside_a_pattern_listen():
    spec = TrialSpec(frame_octets=64, load_fps=1, duration_s=1.0, pattern=Pattern(to=((1,), ())))
    assert order_of(spec, 4, 1, mac_step=1)["receivers"] == [[1], [], [], []]
    assert order_of(TrialSpec(frame_octets=64, load_fps=1, duration_s=1.0), 4, 1, mac_step=1) is None


def test_all_that_take_part_are_learned_and_no_other():
    found = learning(Pattern(to=((2,), (), (), ()), sources=5, destinations=7))
    assert (found.to, found.sources, found.destinations) == (((2,), (), (0,), ()), 7, 1)
