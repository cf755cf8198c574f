"""What forwards is given another size, and the one that it had, while frames pass: CPUs or memory.

Frames are offered all the time. A size is in force when it is read back where it is enforced, and the first
frame offered after that and forwarded ends the time; the interface of what forwards counts what it forwarded
with it. Ids: RESIZE-01 it does not come to the size, RESIZE-02 the size is refused.
"""

from __future__ import annotations

import time
from abc import abstractmethod
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, replace
from typing import Protocol

from bmwg.drivers.api.protocols import TesterPort
from bmwg.drivers.workload.beside_frames import BesideFrames, HalfLoad
from bmwg.drivers.workload.lost_frames import counted, fared, loss, offered, steady, until
from bmwg.drivers.workload.moving_frames import MovingFrames
from bmwg.drivers.workload.of_acts import Ground, OfActs, life_of
from bmwg.methodology.errors import TestbedError, ToolkitError
from bmwg.methodology.kinds.acts.records import SIZE_ASKED, SIZE_REACHED, ActsSpec, Life


class Resizable(Protocol):
    """What can be given another size. `sizes` are the one that it has and the other, in the cell's unit.

    `name` is what errors call it.
    """

    name: str
    sizes: tuple[int, int]

    def ask(self, size: int) -> None:
        """Ask for a size. Raises ToolkitError where that is refused."""
        ...

    def size(self) -> int:
        """Return the size in force now."""
        ...

    def shown(
        self, frames: MovingFrames, beside: BesideFrames | None, asked_ns: int
    ) -> tuple[dict[str, int], dict[str, int]]:
        """Show what the size in force is worth: return further steps of the change, and figures."""
        ...

    def complete(self) -> None:
        """Have what is no longer wanted go, once the new size is in force."""
        ...

    def forwarded(self) -> int:
        """Count the frames that have left it with the size that was asked for last."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """What forwards between the tester's ports, past so many routers with it.

    `frames` are the timed ones, `beside` those of a load that is asked for beside them.
    """

    ports: tuple[TesterPort, TesterPort]
    routers: int
    resizable: Resizable
    frames: type[MovingFrames] = MovingFrames
    beside: type[BesideFrames] = BesideFrames


class Resizes(OfActs):
    """Resizes what stands, there and back, with frames on their way all the time."""

    @abstractmethod
    def standing(self, ground: Ground, spec: ActsSpec) -> AbstractContextManager[Standing]:
        """Have it stand with the first of its sizes."""

    def _live(self, ground: Ground, spec: ActsSpec, began_ns: int, lives: list[Life]) -> None:
        with (
            self.standing(ground, spec) as stands,
            offered(stands.ports, spec, stands.routers, by=stands.frames, beside_by=stands.beside) as ways,
        ):
            if ways is None:
                return
            frames, beside = ways
            sizes = stands.resizable.sizes
            while len(lives) < spec.cycles and steady(frames, spec):
                had, asked = sizes if len(lives) % 2 == 0 else sizes[::-1]
                lives.append(_life(stands.resizable, had, asked, frames, beside, spec, began_ns))


def _life(
    what: Resizable,
    had: int,
    asked: int,
    frames: MovingFrames,
    beside: HalfLoad | None,
    spec: ActsSpec,
    began_ns: int,
) -> Life:
    _require(what, had, spec.first_frame_s)
    odd = frames.oddities
    asked_ns = time.monotonic_ns()
    try:
        steps = _resized(what, had, asked, spec.first_frame_s)
    except ToolkitError as error:
        raise fared(error, frames, asked_ns, spec.first_frame_s) from error
    ready_ns = steps[SIZE_REACHED]
    before = what.forwarded()
    first = until(lambda: frames.first_since(ready_ns), spec.first_frame_s)
    what.complete()
    done_ns = time.monotonic_ns()
    by_frames = counted(frames, asked_ns, since_ns=done_ns, within_s=spec.first_frame_s)
    sizes = {"had": had, "asked": asked, "actual": what.size()}  # it is in force still
    told = {f"{name}_{spec.size_unit}": size for name, size in sizes.items()}
    told["forwarded_frames"] = what.forwarded() - before
    told |= {} if beside is None else beside.told(asked_ns, by_frames[0])
    seen = frames.amid(by_frames, first, frames.last_before(ready_ns, asked_ns), odd)
    more_steps, figures = what.shown(frames, None if beside is None else beside.frames, asked_ns)
    life = life_of(
        seen,
        began_ns,
        asked_ns=asked_ns,
        steps={**more_steps, **steps, **loss(by_frames[1], asked_ns)},
        moments={"ready_ns": ready_ns},
    )
    return replace(life, told=told | figures)


def _require(what: Resizable, had: int, within_s: float) -> None:
    """Wait until it has the size that it is told to have had. Raises TestbedError RESIZE-01."""
    if until(lambda: (what.size() == had) or None, within_s) is None:
        raise TestbedError(
            "RESIZE-01",
            what.name,
            expected=f"{had}, before another size is asked for",
            found=f"{what.size()}",
        )


def _resized(what: Resizable, had: int, asked: int, within_s: float) -> dict[str, int]:
    """Ask for a size and wait for it; returns the moments.

    Raises TestbedError RESIZE-01, RESIZE-02; it is asked to have what it had before.
    """
    end_s = time.monotonic() + within_s
    try:
        what.ask(asked)
    except ToolkitError as error:
        _as_before(what, had)
        raise TestbedError(
            "RESIZE-02",
            what.name,
            expected=f"that {asked} is taken, {had} before",
            found=f"{error.error_id} {error.found}",
            hint=error.hint,
        ) from error
    steps = {SIZE_ASKED: time.monotonic_ns()}
    if until(lambda: (what.size() == asked) or None, end_s - time.monotonic()) is None:
        found = what.size()
        _as_before(what, had)
        raise TestbedError(
            "RESIZE-01",
            what.name,
            expected=f"{asked} within {within_s:g} s",
            found=f"{found}, of {had} before",
        )
    return {**steps, SIZE_REACHED: time.monotonic_ns()}


def _as_before(what: Resizable, had: int) -> None:
    with suppress(ToolkitError):  # the first error says more
        what.ask(had)
