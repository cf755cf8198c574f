"""The frames around an act: offered, waited for, how they fared when it failed, when they were lost."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import TypeVar

from bmwg.drivers.api.protocols import TesterPort
from bmwg.drivers.workload.beside_frames import BesideFrames, HalfLoad, half_load
from bmwg.drivers.workload.moving_frames import MovingFrames, Outage
from bmwg.methodology.errors import DriverError, TestbedError, ToolkitError
from bmwg.methodology.kinds.acts.records import AGAIN, BEFORE_LOSS, STOPPED, ActsSpec

_LOOK_S = 0.01
_ValueT = TypeVar("_ValueT")


@contextmanager
def offered(
    ports: tuple[TesterPort, TesterPort],
    spec: ActsSpec,
    *ways: int,
    by: type[MovingFrames] = MovingFrames,
    beside_by: type[BesideFrames] = BesideFrames,
) -> Iterator[tuple[MovingFrames, HalfLoad | None] | None]:
    """Offer the timed frames, and the load beside them, to what stands; None where no frame comes.

    `ways` are the numbers of routers that may have forwarded a frame, `by` are the timed frames, `beside_by`
    those of the load.
    """
    frames = by(ports, frame_octets=spec.frame_octets, interval_us=spec.interval_us, ways=ways)
    with ExitStack() as stack:
        stack.enter_context(frames.offering())
        frames.begin()
        if not frames.wait(spec.first_frame_s):
            yield None
            return
        yield frames, stack.enter_context(half_load(ports, spec, routers=ways[0], by=beside_by))


def steady(frames: MovingFrames, spec: ActsSpec) -> bool:
    """Wait until no frame is lost before anything is done; tells whether that came about."""
    return until(lambda: frames.steady(time.monotonic_ns()) or None, spec.first_frame_s) is not None


def until(look: Callable[[], _ValueT | None], within_s: float) -> _ValueT | None:
    """Look again and again until something is seen, or the time is over: None then."""
    end_s = time.monotonic() + within_s
    while (found := look()) is None and time.monotonic() < end_s:
        time.sleep(_LOOK_S)
    return found


def counted(frames: MovingFrames, asked_ns: int, *, since_ns: int, within_s: float) -> tuple[int, Outage]:
    """Wait until half a second after a time has no loss, and count the frames from the request until then.

    Where that does not come about, it was not seen when the outage ended, and it has no end.
    """
    settled = until(lambda: frames.settled_since(since_ns, time.monotonic_ns()) or None, within_s)
    return seen_to_its_end(frames, asked_ns, settled is not None)


def seen_to_its_end(frames: MovingFrames, asked_ns: int, settled: bool) -> tuple[int, Outage]:
    """Count the frames from the request until now; without an end of their outage unless they are settled."""
    until_ns, out = frames.outage(asked_ns, time.monotonic_ns())
    return until_ns, out if settled else replace(out, again_ns=None)


def fared(error: ToolkitError, frames: MovingFrames, asked_ns: int, within_s: float) -> ToolkitError:
    """Return the error with what came of the frames meanwhile: what was before may stand, or nothing."""
    failed_ns = time.monotonic_ns()
    goes_on = until(lambda: frames.settled_since(failed_ns, time.monotonic_ns()) or None, within_s)
    _, out = frames.outage(asked_ns, time.monotonic_ns())
    said = "all come again" if goes_on else "they do not come again"
    lost = f"{out.lost} of {out.offered} frames were lost meanwhile"
    kind = type(error) if isinstance(error, (TestbedError, DriverError)) else DriverError
    found = f"{error.found}; {lost}, {said}"
    return kind(error.error_id, error.what, expected=error.expected, found=found, hint=error.hint)


def loss(out: Outage, asked_ns: int) -> dict[str, int]:
    """Return the moments of an outage that was seen to its end; none without one."""
    if out.stopped_ns is None or out.again_ns is None:
        return {}
    return {
        BEFORE_LOSS: max(asked_ns, out.before_ns or asked_ns),
        STOPPED: out.stopped_ns,
        AGAIN: out.again_ns,
    }
