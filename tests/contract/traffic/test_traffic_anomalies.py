"""Frames lost, doubled, reordered, corrupted, foreign or late are told apart; shown with real frames.

Two programs account for frames: one inside the kernel (`xdp`), and the tester itself for every device of
DPDK. So each anomaly is shown by both, with AF_XDP for DPDK. What a device may do to a frame before it is
accounted is shown on AF_PACKET too: lengths, tags and headers, and that a clean path is clean.
"""

import struct
import time

import pytest
import tester_bed as bed
from tests.contract.traffic.middle import Middle, as_it_came

from bmwg.methodology.records import FrameFormat, TrialSpec
from bmwg.methodology.trial.pattern import PHASE_SEED, Pattern

pytestmark = pytest.mark.quiet

LISTENS_S = 0.2  # the tester's `drain_quiet_s` in conftest.py: a frame that is later is lost


def queues(space, io):
    """Frames of programs inside the kernel come to a veth end by its device queue only."""
    for device in ("m0", "m1") if io == "xdp" else ():
        bed.inside(space, "ethtool", "-K", device, "gro", "on")


def ones_sum(octets):
    if len(octets) % 2:
        octets += b"\0"
    total = sum(struct.unpack(f"!{len(octets) // 2}H", octets))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total


def is_test_frame(frame):
    return len(frame) >= 56 and frame[12:14] == b"\x08\x00" and frame[23] == 17


class Numbered:
    """Counts the test frames that go forward and hands (number, frame) to `act`; the rest passes."""

    def __init__(self, act):
        self.act = act
        self.seen = 0

    def __call__(self, side, frame):
        if side or not is_test_frame(frame):
            return [frame]
        self.seen += 1
        return self.act(self.seen - 1, frame)


by_each_program = pytest.mark.parametrize("io", ["xdp", "af_xdp"], indirect=True)


@pytest.fixture(scope="module", params=["xdp", "af_xdp", "af_packet"])
def io(request):
    return request.param


@pytest.fixture(scope="module")
def middle(tester, io):
    """The tester's two ports joined by a forwarder in Python, for all tests of a port kind."""
    with bed.namespace("a") as left, bed.namespace("m") as dut, bed.namespace("b") as right:
        bed.veth((left, "p0"), (dut, "m0"))
        bed.veth((right, "p1"), (dut, "m1"))
        queues(dut, io)
        made = Middle(dut, ("m0", "m1"))
        try:
            tester.attach((bed.port(0, left, "p0", io), bed.port(1, right, "p1", io)))
            yield made
            tester.detach()
        finally:
            made.stop()


@pytest.fixture
def ruled(middle):
    """Have the forwarder do as a rule says, until the test has ended."""

    def by(rule):
        middle.rule = rule

    yield by
    middle.rule = as_it_came


@pytest.fixture
def through(tester, middle, ruled):
    """Run one 400-frame trial through a Python forwarder with a rule, all of it sent and none held up."""

    def run(act, frame_octets=128, **more):
        rule = Numbered(act)
        ruled(rule)
        for _ in range(20):
            rule.seen = 0
            middle.begin()
            spec = TrialSpec(frame_octets=frame_octets, load_fps=1_000, duration_s=0.4, **more)
            result = tester.run(spec)
            if result.streams[0].sent_frames == 400 and middle.held_up_s() < LISTENS_S / 2:
                return result
        pytest.fail("the machine was too busy for 400 frames in 20 trials")

    return run


def test_clean_path_is_clean(through):
    counts = through(lambda number, frame: [frame]).streams[0]
    assert counts.received_frames == 400
    assert counts.duplicate_frames == counts.reordered_frames == counts.corrupt_frames == 0


def test_lost_frames(through):
    counts = through(lambda number, frame: [] if number % 10 == 3 else [frame]).streams[0]
    assert (counts.received_frames, counts.lost_frames) == (360, 40)
    assert counts.reordered_frames == 0


@by_each_program
def test_duplicates_are_counted_once(through):
    counts = through(lambda number, frame: [frame] * (3 if number % 100 == 5 else 1)).streams[0]
    assert (counts.received_frames, counts.duplicate_frames) == (400, 8)
    assert counts.latency.frames == 400


@by_each_program
def test_duplicate_never_hides_a_loss(through):
    def act(number, frame):
        return {7: [], 8: [frame, frame]}.get(number, [frame])

    counts = through(act).streams[0]
    assert (counts.received_frames, counts.duplicate_frames, counts.lost_frames) == (399, 1, 1)


@by_each_program
def test_reordering(through):
    held = []

    def act(number, frame):
        if number % 50 == 10:
            held[:] = [frame]
            return []
        if number % 50 == 13:
            return [frame, held[0]]
        return [frame]

    counts = through(act).streams[0]
    assert (counts.received_frames, counts.reordered_frames) == (400, 8)
    assert counts.duplicate_frames == 0


def test_corrupt_frames(through):
    def act(number, frame):
        flipped = bytearray(frame)
        if number == 20:
            flipped[-1] ^= 0x10  # fill
        if number == 21:
            flipped[48] ^= 0x01  # sequence number
        if number == 22:
            return [frame[:-3]]  # length
        return [bytes(flipped)]

    counts = through(act).streams[0]
    assert (counts.received_frames, counts.corrupt_frames, counts.lost_frames) == (397, 3, 3)


@by_each_program
def test_foreign_frames_are_not_ours(through):
    def act(number, frame):
        foreign = bytearray(frame)
        foreign[36:38] = struct.pack("!H", 4789)  # another UDP destination port
        return [frame, bytes(foreign)] if number % 40 == 0 else [frame]

    counts = through(act).streams[0]
    assert (counts.received_frames, counts.foreign_frames) == (400, 10)
    assert counts.corrupt_frames == 0


@by_each_program
def test_frames_of_an_older_trial_are_late_not_received(through):
    kept = []

    def keep(number, frame):
        if number == 0:
            kept[:] = [frame]
            return []  # spoils this trial: 399 of 400
        return [frame]

    def send_again(number, frame):
        return [frame, kept[0]] if number == 200 else [frame]

    first = through(keep)
    assert first.streams[0].lost_frames == 1
    second = through(send_again)
    assert second.streams[0].received_frames == 400
    assert second.streams[0].duplicate_frames == 0
    assert dict(second.auxiliary)["forward.stale_frames"] == 1


def test_checksums_are_those_of_the_standards(tester, ruled):
    """What a receiver in the DUT would compute over our headers: RFC 791, RFC 768, RFC 8200."""
    caught = {}

    def keep(side, frame):
        if not side:
            source_port = struct.unpack_from("!H", frame, 34 if frame[12] == 8 else 54)[0]
            caught.setdefault((frame[12:14], source_port), frame)
        return [frame]

    ruled(keep)
    for frame_format in (FrameFormat.IPV4_UDP, FrameFormat.IPV6_UDP):
        tester.run(
            TrialSpec(frame_octets=101, load_fps=500, duration_s=0.2, frame_format=frame_format, flows=16)
        )
    time.sleep(0.1)
    ipv4 = [frame for (kind, _), frame in caught.items() if kind == b"\x08\x00" and frame[23] == 17]
    ipv6 = [frame for (kind, _), frame in caught.items() if kind == b"\x86\xdd" and frame[20] == 17]
    assert len(ipv4) == 16
    assert len(ipv6) == 16
    for frame in ipv4:
        assert len(frame) == 97
        assert ones_sum(frame[14:34]) == 0xFFFF
        udp = frame[34:]
        assert ones_sum(frame[26:34] + struct.pack("!HH", 17, len(udp)) + udp) == 0xFFFF
    for frame in ipv6:
        udp = frame[54:]
        assert udp[6:8] != b"\0\0"
        assert ones_sum(frame[22:54] + struct.pack("!II", len(udp), 17) + udp) == 0xFFFF


def with_tag(frame):
    return frame[:12] + struct.pack("!HH", 0x8100, 200) + frame[12:]


@pytest.mark.parametrize("octets", [64, 128, 132, 1518])
def test_a_tag_that_is_to_be_added_is_asked_of_each_frame(through, octets):
    def act(number, frame):
        if number == 20:
            return [frame]  # as it was sent
        if number == 21:
            return [with_tag(frame)[:-1] + b"\xff"]  # fill
        return [with_tag(frame)]

    counts = through(act, octets, added_tags=1).streams[0]
    assert (counts.received_frames, counts.corrupt_frames, counts.lost_frames) == (398, 2, 2)
    assert counts.latency.frames == 398


@pytest.mark.parametrize("octets", [64, 128])
def test_a_tag_that_is_to_be_taken_away_is_missed_of_each_frame(through, octets):
    """The kernel hands the forwarder frames without their tag: it takes tags away by doing nothing."""

    def act(number, frame):
        if number == 20:
            return [with_tag(frame)]  # as it was sent
        if number == 21:
            return [frame.ljust(60, b"\0")]  # filled up as a link does it; as it is, where it is longer
        return [frame]

    counts = through(act, octets, added_tags=-1, vlan_id=100).streams[0]
    assert (counts.received_frames, counts.corrupt_frames, counts.lost_frames) == (399, 1, 1)


def test_a_tag_that_nobody_asked_for_is_told(through):
    counts = through(lambda number, frame: [with_tag(frame) if number == 20 else frame]).streams[0]
    assert (counts.received_frames, counts.corrupt_frames) == (399, 1)


@by_each_program
def test_flows_beyond_the_source_ports_have_other_destination_ports_and_arrive(tester, ruled):
    """Known truth: as many pairs of ports as flows, each frame with a checksum that holds."""
    flows, pairs, wrong = 40_000, set(), []

    def keep(side, frame):
        if not side and is_test_frame(frame):
            pairs.add(frame[34:38])
            udp = frame[34:]
            if ones_sum(frame[26:34] + struct.pack("!HH", 17, len(udp)) + udp) != 0xFFFF:
                wrong.append(frame)
        return [frame]

    ruled(keep)
    result = tester.run(TrialSpec(frame_octets=64, load_fps=8_000, duration_s=5.0, flows=flows))
    (counts,) = result.streams
    assert not wrong
    assert counts.corrupt_frames == counts.foreign_frames == 0
    assert 0 < counts.received_frames <= len(pairs) <= counts.sent_frames <= flows
    ports = {struct.unpack("!HH", one) for one in pairs}
    assert {far for _, far in ports} == {7, 0xC021, 0xC022}
    assert {near for near, _ in ports} <= set(range(0xC020, 0x10000))


def test_pairs_of_several_addresses_at_both_ends_are_drawn(tester, io, ruled):
    """Of 16 addresses at each end there are 256 pairs; in turn they would be 16 of them (RFC 2889 5.1.3)."""
    pairs = set()

    def keep(side, frame):
        if not side and frame[6:8] == b"\x02\xb6" and is_test_frame(frame):
            pairs.add(frame[:12])
        return [frame]

    if io == "xdp":
        pytest.skip("programs inside the kernel know no patterns")
    pattern = Pattern(to=((1,), ()), sources=16, destinations=16, unprepared=True)
    ruled(keep)
    result = tester.run(TrialSpec(frame_octets=64, load_fps=4_000, duration_s=1.0, pattern=pattern))
    assert len(pairs) > 200
    assert {len({pair[:6] for pair in pairs}), len({pair[6:] for pair in pairs})} == {16}
    assert dict(result.auxiliary)[PHASE_SEED] >= 0
    assert result.streams[1].received_frames > 0
    assert result.streams[1].flooded_frames == result.streams[1].corrupt_frames == 0


def test_renamed_frames_are_a_fault_and_no_loss(through):
    def rename(number, frame):
        other = bytearray(frame)
        other[34:36] = struct.pack("!H", 1024)  # none of the source ports that the tester uses
        return [bytes(other)]

    result = through(rename)
    (counts,) = result.streams
    assert counts.received_frames == 0
    assert counts.foreign_frames == counts.sent_frames
    assert "rewrites their headers" in result.fault
