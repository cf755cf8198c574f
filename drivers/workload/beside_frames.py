"""A load beside what is timed: frames in small bursts between the same ports, at half of what gets through.

Half is found, not asked for: the rate is doubled until frames are lost, and half of the last rate without
is offered from then on. These frames carry a mark of their own and are in no count of the timed ones.

Ids: MOVE-05 nothing gets through.
"""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from bmwg.drivers.api.protocols import TesterPort
from bmwg.drivers.workload.offered_frames import ON_ITS_WAY_S, OfferedFrames
from bmwg.methodology.errors import DriverError
from bmwg.methodology.kinds.acts.records import HALF_LOAD, ActsSpec

_EVERY_US = 2000  # choice: what is due is offered each 2 ms, or when the sender comes to it
_MOST_AT_ONCE = 64  # choice: what a queue takes; what was due beyond is not offered
_FIRST_FPS = 500
_MOST_FPS = 64_000  # choice: more than one thread offers in time
_TRY_S = 0.4
_LOST_RATIO = 0.01  # choice: of a translated guest that stands still for milliseconds
_FULL_RATIO = 0.9  # choice: of what was asked for, or the sender is the limit


class BesideFrames(OfferedFrames):
    """Offers what is due of so many frames a second. `fps` is what is aimed at, not what was offered.

    `sender_limited`: more was asked for than this sender offers, so what gets through may be more than found.
    """

    def __init__(self, ports: tuple[TesterPort, TesterPort], *, frame_octets: int, routers: int) -> None:
        self._fps = 0
        self._from_s = self._owed = 0.0
        self._like: bytes = b""
        self.sender_limited = False
        super().__init__(ports, frame_octets=frame_octets, interval_us=_EVERY_US, routers=routers)

    @property
    def fps(self) -> int:
        """Frames a second that are aimed at."""
        return self._fps

    def aim(self, fps: int) -> None:
        """Offer so many a second from now on; of 0 one each 2 ms."""
        self._fps, self._from_s, self._owed = fps, time.monotonic(), 0.0

    def _offer(self, out: socket.socket) -> None:
        if self._peer is None or not self._fps:
            super()._offer(out)
            return
        now_s = time.monotonic()
        self._owed = min(_MOST_AT_ONCE, self._owed + (now_s - self._from_s) * self._fps)
        self._from_s = now_s
        while self._owed >= 1:
            super()._offer(out)
            self._owed -= 1

    def half(self) -> int:
        """Find by trials what gets through, aim at half of it, and return the whole; 0 where nothing does."""
        carried, fps = 0, _FIRST_FPS
        while fps <= _MOST_FPS:
            offered, received, took_s = self._tried(fps)
            if received < (1 - _LOST_RATIO) * offered:
                self.sender_limited = False
                break
            if self.sender_limited:
                carried = max(carried, int(offered / took_s))
                break
            carried, fps = fps, 2 * fps
        self.aim(carried // 2)
        time.sleep(ON_ITS_WAY_S)
        return carried

    def _tried(self, fps: int) -> tuple[int, int, float]:
        """Return what was offered, what of it came, and the seconds that it took: a sleep may last longer."""
        self.aim(fps)
        began_ns = time.monotonic_ns()
        time.sleep(_TRY_S)
        until_ns = time.monotonic_ns()
        time.sleep(ON_ITS_WAY_S)
        offered, received = self.between(began_ns, until_ns)
        took_s = (until_ns - began_ns) / 1e9
        self.sender_limited = offered < _FULL_RATIO * fps * took_s or fps == _MOST_FPS
        return offered, received, took_s

    def _frame(self, number: int) -> bytes:
        """Make a frame by another's example: only its number differs."""
        if not self._like or self._like[:6] != self._peer:
            self._like = super()._frame(0)
        at = self._like.index(self._token) + len(self._token)
        return self._like[:at] + struct.pack("!Q", number) + self._like[at + 8 :]


@dataclass(frozen=True, slots=True, kw_only=True)
class HalfLoad:
    """A load that goes on, and what got through before it did."""

    frames: BesideFrames
    carried_fps: int

    def told(self, from_ns: int, until_ns: int) -> dict[str, int]:
        """Return the figures of a life: what was found and aimed at, and what came of it in that time.

        The last of its frames may still be on their way, and are waited for.
        """
        time.sleep(max(0.0, ON_ITS_WAY_S - (time.monotonic_ns() - until_ns) / 1e9))
        offered, received = self.frames.between(from_ns, until_ns)
        return {
            "carried_fps": self.carried_fps,
            "beside_fps": self.frames.fps,
            "beside_window_ns": until_ns - from_ns,
            "sender_limited": int(self.frames.sender_limited),
            "beside_offered_frames": offered,
            "beside_received_frames": received,
        }


@contextmanager
def half_load(
    ports: tuple[TesterPort, TesterPort],
    spec: ActsSpec,
    *,
    routers: int,
    by: type[BesideFrames] = BesideFrames,
) -> Iterator[HalfLoad | None]:
    """Offer half of what gets through until this is left, where it is asked for; else nothing.

    `by` are the frames that are offered.

    Raises DriverError MOVE-05 where nothing gets through.
    """
    if spec.beside != HALF_LOAD:
        yield None
        return
    beside = by(ports, frame_octets=spec.frame_octets, routers=routers)
    with beside.offering():
        beside.begin()
        carried_fps = beside.half() if beside.wait(spec.first_frame_s) else 0
        if not carried_fps:
            raise DriverError(
                "MOVE-05",
                "a load beside an act; nothing was done",
                expected="a rate that gets through",
                found=f"none of {_FIRST_FPS} frames a second or more",
            )
        yield HalfLoad(frames=beside, carried_fps=carried_fps)
