"""Half of a load is half of what was seen to get through, and it is said where the sender was the limit."""

from __future__ import annotations

import threading
import time

import pytest

from bmwg.drivers.api.protocols import TesterPort
from bmwg.drivers.workload import beside_frames
from bmwg.drivers.workload.beside_frames import BesideFrames, HalfLoad


def port(number: int) -> TesterPort:
    return TesterPort(
        name=f"p{number}", device=f"p{number}", netns=None, io="af_packet", mac=f"02:00:00:00:00:0{number}",
        ipv4=f"198.1{8 + number}.0.2/24", ipv6=None, gateway_ipv4=f"198.1{8 + number}.0.1",
    )  # fmt: skip


@pytest.fixture
def frames(monkeypatch):
    made = BesideFrames((port(0), port(1)), frame_octets=64, routers=1)

    def like(*, device: int, sender: int, late: float = 1.0) -> BesideFrames:
        """Frames of a made clock; a sleep lasts `late` times as long as was asked for."""
        now_ns = [0]

        def sleep(s: float) -> None:
            now_ns[0] += round(s * late * 1e9)

        def between(began_ns, until_ns):
            offered, took_s = min(made.fps, sender), (until_ns - began_ns) / 1e9
            return int(offered * took_s), int(min(offered, device) * took_s)

        monkeypatch.setattr(made, "between", between)
        monkeypatch.setattr(beside_frames.time, "monotonic_ns", lambda: now_ns[0])
        monkeypatch.setattr(beside_frames.time, "sleep", sleep)
        return made

    return like


@pytest.mark.parametrize(
    ("device", "sender", "carried", "limited"),
    [
        (9000, 10**6, 8000, False),
        (8000, 10**6, 8000, False),
        (15_900, 10**6, 16_000, False),  # less than one in a hundred is lost
        (15_800, 10**6, 8000, False),
        (10**6, 10**6, 64_000, True),
        (10**6, 26_000, 26_000, True),
        (20_000, 26_000, 16_000, False),
        (400, 10**6, 0, False),
    ],
)
@pytest.mark.parametrize("late", [1.0, 1.25])
def test_half_of_what_gets_through_is_aimed_at(frames, device, sender, carried, limited, late) -> None:
    """A sleep that lasted longer offered more, which was told as a higher rate."""
    found = frames(device=device, sender=sender, late=late)
    assert found.half() == carried
    assert found.fps == carried // 2
    assert found.sender_limited is limited


def test_what_is_due_is_offered_and_no_more_than_a_queue_takes(frames, monkeypatch) -> None:
    found = frames(device=1, sender=1)
    sent: list[int] = []
    monkeypatch.setattr(beside_frames.OfferedFrames, "_offer", lambda self, out: sent.append(1))
    now_s = [100.0]
    monkeypatch.setattr(beside_frames.time, "monotonic", lambda: now_s[0])
    found._peer = b"\x02\0\0\0\0\x09"
    found.aim(1000)
    for after_s, due in ((0.002, 2), (0.0024, 2), (0.0026, 3), (10.0, 64), (0.0, 0)):
        now_s[0] += after_s
        sent.clear()
        found._offer(None)
        assert abs(len(sent) - due) <= 1, (after_s, len(sent))
    assert len(sent) <= 1


def test_a_frame_by_another_s_example_differs_by_its_number(frames) -> None:
    found = frames(device=1, sender=1)
    found._peer = b"\x02\0\0\0\0\x09"
    plain = super(BesideFrames, found)._frame
    assert [found._frame(number) for number in (0, 7, 2**40)] == [plain(number) for number in (0, 7, 2**40)]
    found._peer = b"\x02\0\0\0\0\x0a"
    assert found._frame(3) == plain(3)


def test_a_frame_that_is_on_its_way_when_an_act_ends_is_no_lost_one() -> None:
    """The last burst beside a pod that has gone had no time to come: it was told as lost."""
    made = BesideFrames((port(0), port(1)), frame_octets=64, routers=1)
    offered_ns = time.monotonic_ns()
    made._sent, made._number = {0: offered_ns}, 1

    def comes() -> None:
        with made._lock:
            made._received[0] = time.monotonic_ns()

    late = threading.Timer(0.02, comes)
    late.start()
    told = HalfLoad(frames=made, carried_fps=1000).told(offered_ns, time.monotonic_ns())
    late.join()
    assert (told["beside_offered_frames"], told["beside_received_frames"]) == (1, 1)
