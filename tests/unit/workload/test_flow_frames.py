"""Which replica forwarded a frame, and when the last flow had moved: by frames that a test makes."""

from __future__ import annotations

import pytest

from bmwg.drivers.api.protocols import TesterPort
from bmwg.drivers.workload.flow_frames import FLOWS, FlowFrames, FlowsBeside

MS = 1_000_000
ONE, TWO = 0x0200_0000_0001, 0x0200_0000_0002
HOPS = 62 << 48  # of two routers


PORT = TesterPort(
    name="p0",
    io="af_packet",
    device="p0",
    netns="/x",
    ipv4="198.18.0.2/24",
    gateway_ipv4="198.18.0.1",
    mac="02:00:00:00:00:aa",
    peer_mac="02:00:00:00:00:bb",
)


@pytest.fixture
def frames() -> FlowFrames:
    made = FlowFrames((PORT, PORT), frame_octets=64, interval_us=1000, ways=(2,))
    made.begin()
    return made


def offer(frames: FlowFrames, at_ms: int, by: int | None) -> None:
    number = frames._number
    frames._sent[number] = at_ms * MS
    frames._number += 1
    if by is not None:
        frames._count(number, at_ms * MS + MS // 2, told=HOPS | by)


def test_flows_differ_by_source_port_and_come_again_in_turn(frames) -> None:
    whole = [frames._frame(number) for number in range(FLOWS + 1)]
    assert len({one[34:36] for one in whole}) == FLOWS
    assert whole[0][34:36] == whole[FLOWS][34:36]
    assert {len(one) for one in whole} == {60}
    assert {one[36:38] for one in whole} == {b"\0\x07"}


def test_a_load_beside_is_of_the_same_flows_and_counted_by_who_forwarded_it(frames) -> None:
    beside = FlowsBeside((PORT, PORT), frame_octets=64, routers=2)
    beside.begin()
    whole = [beside._frame(number) for number in range(FLOWS + 1)]
    assert [one[:42] for one in whole] == [frames._frame(number)[:42] for number in range(FLOWS + 1)]
    assert [int.from_bytes(one[50:58], "big") for one in whole] == list(range(FLOWS + 1))
    for at, by in enumerate((ONE, TWO, None, TWO)):
        beside._sent[at] = at * MS
        beside._number += 1
        if by is not None:
            beside._count(at, at * MS + MS // 2, told=HOPS | by)
    assert beside.came_by(0, 9 * MS) == {ONE: 1, TWO: 2}
    assert beside.between(0, 9 * MS) == (4, 3)


def test_frames_are_counted_by_who_forwarded_them_last(frames) -> None:
    for at in range(10):
        offer(frames, at, ONE if at < 6 else TWO)
    offer(frames, 10, None)
    frames._count(99, MS, told=HOPS | TWO)  # none of ours
    assert frames.came_by(0, 20 * MS) == {ONE: 6, TWO: 4}
    assert frames.came_by(5 * MS, 7 * MS) == {ONE: 1, TWO: 2}


def test_a_frame_that_passed_another_number_of_routers_is_none_of_a_replica(frames) -> None:
    frames._sent[0] = 0
    frames._number = 1
    frames._count(0, MS, told=63 << 48 | ONE)
    assert frames.came_by(0, MS) == {}
    assert frames.oddities == (0, 1)


def test_shares_are_settled_when_the_last_flow_has_moved_for_good(frames) -> None:
    asked = FLOWS
    for at in range(FLOWS):
        offer(frames, at, ONE)
    assert frames.settled_ns(asked * MS) is None
    for at in range(FLOWS, 2 * FLOWS):  # flow 3 moves at once, flow 5 is lost for one turn
        offer(frames, at, {3: TWO, 5: None}.get(at % FLOWS, ONE))
    assert frames.settled_ns(asked * MS) == (FLOWS + 3) * MS + MS // 2
    for at in range(2 * FLOWS, 3 * FLOWS):
        offer(frames, at, TWO if at % FLOWS in (3, 5) else ONE)
    assert frames.settled_ns(asked * MS) == (2 * FLOWS + 5) * MS + MS // 2


def test_a_flow_that_moved_before_the_request_is_no_part_of_it_and_one_that_moves_twice_has_its_last(
    frames,
) -> None:
    for at in range(2 * FLOWS):  # flow 7 moves in the second turn, before the request
        offer(frames, at, TWO if at % FLOWS == 7 and at >= FLOWS else ONE)
    asked = 2 * FLOWS * MS
    assert frames.settled_ns(asked) is None
    for turn, by in ((2, TWO), (3, ONE), (4, TWO)):
        for at in range(turn * FLOWS, (turn + 1) * FLOWS):
            offer(frames, at, by if at % FLOWS == 9 else TWO if at % FLOWS == 7 else ONE)
    assert frames.settled_ns(asked) == (4 * FLOWS + 9) * MS + MS // 2


def test_what_came_amid_an_act_is_of_its_own_frames_and_oddities(frames) -> None:
    for at in (0, 1):
        offer(frames, at, ONE)
    frames._sent[2] = frames._sent[3] = 2 * MS
    frames._number = 4
    frames._count(3, 3 * MS, told=HOPS | ONE)
    frames._count(2, 3 * MS, told=HOPS | ONE)  # after a later one, and before the act
    odd = frames.oddities
    assert odd == (1, 0)
    for at in (10, 11, 12):
        offer(frames, at, None if at == 11 else ONE)
    counted = frames.outage(10 * MS, 200 * MS)
    seen = frames.amid(counted, (10 * MS + MS // 2, 9 * MS), 3 * MS, odd)
    assert (seen.offered, seen.received, seen.reordered, seen.bypassed) == (3, 2, 0, 0)
    assert (seen.first_ns, seen.not_before_ns, seen.last_ns) == (10 * MS + MS // 2, 9 * MS, 3 * MS)
    late = frames.amid(counted, (150 * MS, 9 * MS), None, odd)  # it came when nothing was counted any more
    assert (late.first_ns, late.not_before_ns) == (None, None)
