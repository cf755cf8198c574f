"""When frames stopped and came again, from numbers and times; the answer for the second port."""

from __future__ import annotations

from types import SimpleNamespace

from bmwg.drivers.workload.offered_frames import OfferedFrames

MS = 1_000_000


def frames(sent: dict[int, int], came: dict[int, int]) -> OfferedFrames:
    ports = [
        SimpleNamespace(
            ipv4=f"198.1{8 + side}.0.2/24",
            mac=f"02:00:00:00:00:0{side}",
            peer_mac=None,
            gateway_ipv4=f"198.1{8 + side}.0.1",
        )
        for side in (0, 1)
    ]
    made = OfferedFrames(tuple(ports), frame_octets=64, interval_us=1000, routers=1, answers=True)
    made._sent = sent
    made._received = came
    made._highest = max(came, default=-1)
    made._number = max(sent, default=-1) + 1
    return made


def test_frames_stopped_between_the_last_that_came_and_the_next() -> None:
    sent = {number: number * MS for number in range(10)}
    # frame 3 was lost by the way: frames came after it, so nothing stopped there
    made = frames(sent, {number: number * MS + 5 for number in (0, 1, 2, 4, 5)})
    assert made.stopped() == (5 * MS, 5 * MS + 5, 6 * MS)
    assert made.between(2 * MS, 6 * MS) == (5, 3)
    assert made.again(6 * MS) is None


def test_frames_that_still_come_have_not_stopped_and_none_is_no_stop() -> None:
    sent = {number: number * MS for number in range(3)}
    assert frames(sent, {number: number * MS for number in range(3)}).stopped() is None
    assert frames(sent, {}).stopped() is None


def test_they_came_again_with_the_first_that_was_offered_after_that() -> None:
    sent = {number: number * MS for number in range(10)}
    made = frames(sent, {0: 5, 8: 9 * MS, 9: 9 * MS + 7})
    assert made.again(5 * MS) == 9 * MS


def test_a_question_for_the_second_ports_address_is_answered_with_its_mac() -> None:
    made = frames({}, {})
    asking = bytes.fromhex("0a0000000001") + bytes((198, 19, 0, 1))
    head = bytes.fromhex("ffffffffffff 0a0000000001 0806 0001 0800 06 04 0001".replace(" ", ""))
    mine = head + asking + bytes(6) + bytes((198, 19, 0, 2))
    other = head + asking + bytes(6) + bytes((198, 19, 0, 3))
    assert made._is_asked_for(mine)
    assert not made._is_asked_for(other)
    answer = made._answer(mine)
    assert answer[:6] == bytes.fromhex("0a0000000001")
    assert answer[20:22] == b"\x00\x02"
    assert answer[22:32] == bytes.fromhex("020000000001") + bytes((198, 19, 0, 2))
    assert answer[32:42] == asking
    assert len(answer) == 60


def test_what_was_offered_after_an_end_is_not_counted_to_it() -> None:
    sent = {number: number * MS for number in range(10)}
    made = frames(sent, {0: 5, 1: MS + 5})
    made._bypassed = {2, 9}
    assert (made.seen().offered, made.seen().received, made.seen().bypassed) == (10, 2, 2)
    assert (made.seen(4 * MS).offered, made.seen(0).received, made.seen(4 * MS).bypassed) == (5, 1, 1)
