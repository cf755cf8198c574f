"""What the mover of a guest asks of QEMU, what it makes of its answers, and what is heard of the guest."""

from __future__ import annotations

import socket
import struct
import time

import pytest

from bmwg.drivers.api.protocols import TesterPort
from bmwg.drivers.machines import guest_moves, hosted, moving_machine
from bmwg.drivers.machines.guest_moves import GuestIntent, MovePlace, MovingGuest
from bmwg.drivers.watch import wall_clock
from bmwg.drivers.workload.announcements import Announcements
from bmwg.drivers.workload.moving_frames import MovingFrames
from bmwg.methodology.errors import DriverError, TestbedError, ToolkitError

MS = 1_000_000
INTENT = GuestIntent(
    name="g", taps=("t0", "t1"), macs=("02:00:00:00:00:01", "02:00:00:00:00:02"), memory_octets=1, words="w"
)
DONE = {
    "status": "completed",
    "downtime": 30,
    "total-time": 900,
    "setup-time": 2,
    "ram": {"transferred": 80, "total": 134, "dirty-sync-count": 3, "postcopy-requests": 4},
}


class Qemu:
    """A node with one QEMU of which `answers` are what it says of the move, the last one again and again."""

    def __init__(self, *answers: dict, said: dict | None = None, status: str = "running") -> None:
        self.answers, self.said, self.status = list(answers), said or {}, status
        self.asked: list[tuple[str, dict]] = []
        self.here = 0
        self.broken: str | None = None

    def call_within(self, deadline_s, function, **arguments):
        return self.call(function, **arguments)

    def call(self, function, **arguments):
        if function is moving_machine.start:
            self.here += 1
            return {"accelerator": "tcg"}
        if function is hosted.stop:
            self.here = 0
            return None
        if function is moving_machine.moments:
            return self.said
        if function is hosted.fault:
            return self.broken
        assert function is moving_machine.ask, function
        command, given = arguments["command"], arguments["arguments"]
        self.asked.append((command, given))
        if command == "query-migrate":
            return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        return {"status": self.status} if command == "query-status" else {}

    @property
    def commands(self) -> list[str]:
        return [command for command, _ in self.asked]

    def given(self, command: str) -> dict:
        return next(given for asked, given in self.asked if asked == command)


def guest(here: Qemu, there: Qemu) -> MovingGuest:
    places = [
        MovePlace(node=node, address=f"198.18.192.{n}", bridges=("a", "b"))
        for n, node in ((1, here), (2, there))
    ]
    return MovingGuest(INTENT, places)


def there_it_runs() -> Qemu:
    return Qemu(said={"RESUME": 230, "MIGRATION": 240})


STOPPED = {"STOP": 200, "MIGRATION": 250}


@pytest.mark.parametrize("post_copy", [False, True])
def test_a_move_is_asked_for_told_and_ends_at_the_other_place(post_copy) -> None:
    said = STOPPED | ({"MIGRATION postcopy-active": 190} if post_copy else {})
    here = Qemu({}, {"status": "setup"}, {"status": "active"}, {"status": "active"}, DONE, said=said)
    there = there_it_runs()
    made = guest(here, there)
    move = made.moved(post_copy=post_copy, within_s=60.0)
    for one in (here, there):
        capabilities = one.given("migrate-set-capabilities")["capabilities"]
        assert {given["capability"]: given["state"] for given in capabilities} == {
            "events": True, "return-path": True, "postcopy-ram": post_copy,
        }  # fmt: skip
    limits = here.given("migrate-set-parameters")
    assert limits["max-bandwidth"] == limits["max-postcopy-bandwidth"] == 64 << 20
    assert here.given("migrate") == there.given("migrate-incoming") == {"uri": "tcp:198.18.192.2:4444"}
    assert here.commands.count("migrate-start-postcopy") == post_copy
    assert "migrate_cancel" not in here.commands
    assert move.steps["guest_stopped"] == 200
    assert move.steps["guest_resumed"] == 230
    assert move.steps["move_completed"] == 250
    assert move.steps.get("post_copy_began") == (190 if post_copy else None)
    assert move.told == {
        "qemu_downtime_ns": 30 * MS,
        "qemu_total_ns": 900 * MS,
        "qemu_setup_ns": 2 * MS,
        "ram_octets": 80,
        "guest_octets": 134,
        "passes": 3,
        "asked_pages": 4,
    }
    assert (made.here.node, made.there.node) == (there, here)
    here.here = 1
    made.leave()
    assert (here.here, there.here) == (0, 1)


def failed(status: str, **more) -> dict:
    return {"status": status, "ram": {"transferred": 7, "remaining": 5}, **more}


@pytest.mark.parametrize(
    ("answers", "within_s", "error_id", "said"),
    [
        ([failed("failed", **{"error-desc": "no room"})], 60.0, "MOVE-01", "failed: no room, 7 octets sent"),
        ([failed("cancelled")], 60.0, "MOVE-02", "cancelled, 7 octets sent, 5 left"),
        ([failed("active"), failed("cancelled")], 0.0, "MOVE-03", "cancelled, 7 octets sent, 5 left"),
    ],
)
def test_a_move_that_fails_leaves_the_guest_where_it_was_and_clears_the_other_place(
    answers, within_s, error_id, said
) -> None:
    here, there = Qemu(*answers, status="paused"), Qemu()
    here.here = 1
    made = guest(here, there)
    with pytest.raises(TestbedError, match=error_id) as caught:
        made.moved(post_copy=False, within_s=within_s)
    assert said in caught.value.found
    assert ("migrate_cancel" in here.commands) == (error_id == "MOVE-03")
    assert "cont" in here.commands
    assert (here.here, there.here) == (1, 0)
    assert made.here.node is here


def test_a_move_that_does_not_even_let_itself_be_cancelled_ends(monkeypatch) -> None:
    monkeypatch.setattr(guest_moves, "_CANCEL_S", 0.0)
    here = Qemu(failed("active"))
    with pytest.raises(TestbedError, match="MOVE-03") as caught:
        guest(here, Qemu()).moved(post_copy=False, within_s=0.0)
    assert "active, 7 octets sent" in caught.value.found


def test_a_guest_whose_memory_was_following_it_is_not_started_again() -> None:
    here = Qemu(failed("active"), failed("failed"), status="postmigrate")
    here.broken = "the guest is postmigrate"
    with pytest.raises(DriverError, match="MOVE-01") as caught:
        guest(here, Qemu()).moved(post_copy=True, within_s=60.0)
    assert "migrate-start-postcopy" in here.commands
    assert "cont" not in here.commands
    assert "it no longer runs" in caught.value.what
    assert "the guest is postmigrate" in caught.value.found


def test_a_guest_that_runs_on_by_itself_is_left_alone() -> None:
    here = Qemu(failed("failed"), status="running")
    with pytest.raises(TestbedError, match="MOVE-01"):
        guest(here, Qemu()).moved(post_copy=False, within_s=60.0)
    assert "cont" not in here.commands


@pytest.mark.parametrize(
    ("here", "there"),
    [({"MIGRATION": 9}, {"RESUME": 8}), (STOPPED, {}), ({"STOP": 7}, {"RESUME": 8})],
)
def test_moments_that_qemu_does_not_tell_are_an_error_and_no_zero(here, there) -> None:
    with pytest.raises(ToolkitError, match="MOVE-03"):
        guest(Qemu(DONE, said=here), Qemu(said=there)).moved(post_copy=False, within_s=60.0)


class Port:
    """A socket at which these frames were heard: sender, EtherType, when (ns of the wall clock), way."""

    def __init__(self, *heard: tuple[str, int, int, int]) -> None:
        self.heard = list(heard)

    def recvmsg(self, octets, ancillary):
        if not self.heard:
            raise BlockingIOError
        mac, kind, at_ns, way = self.heard.pop(0)
        frame = b"\xff" * 6 + bytes.fromhex(mac.replace(":", "")) + kind.to_bytes(2, "big")
        stamp = struct.pack("@qq", *divmod(at_ns, 1_000_000_000))
        return frame, [(socket.SOL_SOCKET, 35, stamp)], 0, ("p0", kind, way)


def test_the_first_announcement_of_the_guest_counts_and_nobody_else_s(monkeypatch) -> None:
    ahead = 10**18
    monkeypatch.setattr(time, "monotonic_ns", lambda: 5000)
    monkeypatch.setattr(time, "time_ns", lambda: ahead + 5000)
    mac, other = INTENT.macs
    port = Port(
        (mac, 0x0806, ahead + 90, 0),  # before it stopped
        (other, 0x8035, ahead + 110, 0),  # of its other interface
        (mac, 0x0800, ahead + 120, 0),  # no announcement
        (mac, 0x8035, ahead + 130, 4),  # one that leaves
        (mac, 0x0806, ahead + 150, 0),
        (mac, 0x8035, ahead + 140, 0),
    )
    heard = Announcements(port, mac)
    assert heard.first_ns(100) == 140
    assert heard.first_ns(100) is None
    port.heard = [(mac, 0x8035, ahead + 140, 0)]
    heard.forget()
    assert heard.first_ns(100) is None


def test_a_read_amid_which_the_cpu_was_away_moves_no_stamp(monkeypatch) -> None:
    """Of three reads the first and the last are torn apart; the second says how far the clock is ahead."""
    monkeypatch.setattr(wall_clock, "_READS", 3)
    monotonic = iter([0, 100_000, 200_000, 200_010, 300_000, 900_000])
    wall = iter([90_000, 5_200_005, 310_000])
    monkeypatch.setattr(time, "monotonic_ns", lambda: next(monotonic))
    monkeypatch.setattr(time, "time_ns", lambda: next(wall))
    assert wall_clock.ahead_ns() == 5_000_000


def port(number: int) -> TesterPort:
    return TesterPort(name="p", device="p", netns=None, io="af_packet", mac=f"02:00:00:00:00:0{number}")


def frames(sent: list[int], came: dict[int, int]) -> MovingFrames:
    made = MovingFrames((port(0), port(1)), frame_octets=64, interval_us=1000, ways=(1,))
    made._sent = {number: ms * MS for number, ms in enumerate(sent)}
    made._received = {number: ms * MS for number, ms in came.items()}
    made._number = len(sent)
    return made


def test_a_frame_that_waited_came_after_those_that_were_offered_meanwhile() -> None:
    found = frames([10, 20, 30, 40, 50], {0: 11, 2: 45, 4: 52})
    assert found.first_since(25 * MS) == (45 * MS, 40 * MS)
    assert found.first_since(50 * MS) == (52 * MS, 40 * MS)
    assert found.first_since(51 * MS) is None
    assert frames([10], {0: 11}).first_since(0) == (11 * MS, None)


def test_the_last_frame_before_a_stop_is_the_last_that_came_of_those_offered_until_then() -> None:
    found = frames([10, 20, 30], {0: 11, 1: 31, 2: 32})
    assert found.last_before(25 * MS, 0) == 31 * MS
    assert found.last_before(15 * MS, 0) == 11 * MS
    assert found.last_before(25 * MS, 21 * MS) is None


def test_frames_are_settled_when_half_a_second_of_them_lies_after_the_act() -> None:
    sent = list(range(0, 2000, 10))
    found = frames(sent, {number: ms + 1 for number, ms in enumerate(sent)})
    assert not found.settled_since(1500 * MS, 2000 * MS)
    assert found.settled_since(1400 * MS, 2000 * MS)
    del found._received[150]  # 1,500 ms
    assert not found.settled_since(1400 * MS, 2000 * MS)


def test_a_guest_is_ended_at_its_other_place_too_where_its_first_does_not_answer() -> None:
    class Gone(Qemu):
        def call(self, function, **arguments):
            raise DriverError("NODE-03", "node dut1 is broken")

    there = Qemu({})
    there.here = 1
    with pytest.raises(DriverError, match="NODE-03"):
        guest(Gone({}), there).end()
    assert there.here == 0
