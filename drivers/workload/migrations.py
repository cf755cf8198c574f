"""How long frames are lost while a guest moves: live migration between two nodes, there and back.

Frames are offered all the time to a guest that routes. QEMU moves it by pre-copy or post-copy; its own
figures stand beside what the frames show. Beside the timed frames a load may go on, or the guest writes its
memory. Ids: MOVE-04 no frame was forwarded at the other place.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from typing import Any, ClassVar, cast

from bmwg.drivers.machines.guest_moves import Move, MovingGuest
from bmwg.drivers.paths import path_driver
from bmwg.drivers.workload import announcements
from bmwg.drivers.workload.announcements import Announcements
from bmwg.drivers.workload.beside_frames import HalfLoad
from bmwg.drivers.workload.lost_frames import fared, loss, offered, seen_to_its_end, steady, until
from bmwg.drivers.workload.moving_frames import MovingFrames, Outage
from bmwg.drivers.workload.of_acts import ActsWorkload, Ground, OfActs, life_of
from bmwg.methodology.errors import DriverError, ToolkitError
from bmwg.methodology.kinds.acts.experiments import MOVING_PATH
from bmwg.methodology.kinds.acts.records import (
    ANNOUNCED,
    MEMORY_WRITES,
    POST_COPY,
    ActsSpec,
    Life,
)

_ROUTERS = 1  # the guest, wherever it is
_LOOK_AT_GUEST_S = 1.0  # choice: frames come sooner where the guest runs, so it is seldom asked for


class Migrations(OfActs):
    """Moves a guest that stands, there and back, with frames on their way all the time."""

    paths: ClassVar[tuple[str, ...]] = (MOVING_PATH,)
    with_pods: ClassVar[bool] = False

    def _live(self, ground: Ground, spec: ActsSpec, began_ns: int, lives: list[Life]) -> None:
        path: Any = path_driver(ground.cell, ground.bed)
        with ExitStack() as stack:
            stands = stack.enter_context(path.standing(writes=spec.beside == MEMORY_WRITES))
            guest: MovingGuest = stands.guest
            heard = stack.enter_context(announcements.heard(stands.ports[0], guest.macs[0]))
            ways = stack.enter_context(offered(stands.ports, spec, _ROUTERS))
            if ways is None:
                return
            frames, beside = ways
            while len(lives) < spec.cycles and steady(frames, spec):
                lives.append(_Moved(guest, frames, heard, beside, spec, began_ns).life())
                if lives[-1].first_frame_ns is None:
                    break  # no frame has come since: it is not waited for once more


class _Moved:
    """One move of the guest, from the request until nothing of it is left at its first place."""

    def __init__(
        self,
        guest: MovingGuest,
        frames: MovingFrames,
        heard: Announcements,
        beside: HalfLoad | None,
        spec: ActsSpec,
        began_ns: int,
    ) -> None:
        self._guest, self._frames, self._heard = guest, frames, heard
        self._beside, self._spec, self._began_ns = beside, spec, began_ns

    def life(self) -> Life:
        """Move it. Raises what the guest's mover raises, and says how its frames fared meanwhile."""
        frames, spec = self._frames, self._spec
        self._guest.shown()  # before the move as well: only then is it known to be another one after it
        before = frames.oddities
        asked_ns = time.monotonic_ns()
        self._heard.forget()
        try:
            move = self._guest.moved(post_copy=spec.mode == POST_COPY, within_s=spec.first_frame_s)
        except ToolkitError as error:
            raise fared(error, frames, asked_ns, spec.first_frame_s) from error
        ready_ns = time.monotonic_ns()
        resumed_ns = move.steps["guest_resumed"]
        counted = self._guest.forwarded()
        try:
            came = self._awaited(lambda: frames.first_since(resumed_ns))
            # what is steady is told of half a second that lies wholly after the move
            settled = came and self._awaited(
                lambda: frames.settled_since(ready_ns, time.monotonic_ns()) or None
            )
        except ToolkitError as error:
            raise fared(error, frames, asked_ns, 0.0) from error
        by_frames = seen_to_its_end(frames, asked_ns, settled)
        move.told["forwarded_there_frames"] = self._guest.forwarded() - counted
        move.told |= self._guest.shown()
        if self._beside is not None:
            move.told |= self._beside.told(asked_ns, by_frames[0])
        leave_ns = time.monotonic_ns()
        self._guest.leave()
        left_ns = time.monotonic_ns()
        return self._told(move, by_frames, before, ready_ns, leave_ns, left_ns)

    def _awaited(self, seen: Callable[[], object | None]) -> bool:
        """Wait until frames show it, as long as the guest runs; tells whether they did.

        Raises TestbedError MOVE-06.
        """
        end_s = time.monotonic() + self._spec.first_frame_s
        while until(seen, _LOOK_AT_GUEST_S) is None:
            if time.monotonic() >= end_s:
                return False
            self._guest.require_running()
        return True

    def _told(
        self,
        move: Move,
        counted: tuple[int, Outage],
        before: tuple[int, int],
        ready_ns: int,
        leave_ns: int,
        left_ns: int,
    ) -> Life:
        frames, resumed_ns = self._frames, move.steps["guest_resumed"]
        steps = dict(move.steps)
        announced_ns = self._heard.first_ns(move.steps["guest_stopped"])
        if announced_ns is not None:
            steps[ANNOUNCED] = announced_ns
        first = frames.first_since(resumed_ns)
        steps |= loss(counted[1], move.asked_ns)
        last_ns = frames.last_before(move.steps["guest_stopped"], move.asked_ns)
        seen = frames.amid(counted, first, last_ns, before)
        if seen.first_ns is not None and not move.told["forwarded_there_frames"]:
            raise DriverError(
                "MOVE-04",
                "a move of a guest",
                expected="frames that the other place's interface has carried",
                found="frames that came, and none that it carried",
            )
        moments = {"ready_ns": ready_ns, "remove_asked_ns": leave_ns, "removed_ns": left_ns}
        life = life_of(seen, self._began_ns, asked_ns=move.asked_ns, steps=steps, moments=moments)
        return replace(life, told=move.told)


_: type[ActsWorkload] = cast("type[ActsWorkload]", Migrations)
