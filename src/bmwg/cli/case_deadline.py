"""The time that one case of an author's own search or model may take: a loop without a trial is ended.

Its clock is the machine's. What ends in time is the same whatever the machine. Ids: MTH-06.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from types import FrameType

from bmwg.methodology.errors import ConfigError
from bmwg.methodology.simulated_devices.algorithms import Algorithm, Answer
from bmwg.methodology.simulated_devices.bench import ModelBench

CASE_S = 120.0  # choice: a case of the toolkit's searches takes some milliseconds


class _NoEnd(BaseException):
    """The time is over. No `except Exception` of an author's code takes it."""


def bounded(within_s: float = CASE_S) -> Callable[[Algorithm], Algorithm]:
    """Return what gives an algorithm a deadline for each answer; beside the main thread it gives none."""

    def of(algorithm: Algorithm) -> Algorithm:
        def answer(bench: ModelBench) -> Answer:
            try:
                with _alarm(within_s):
                    return algorithm.answer(bench)
            except _NoEnd as error:
                raise ConfigError(
                    "MTH-06",
                    f"search {algorithm.name!r} on {bench.device}, seed {bench.seed},"
                    f" after {bench.count} trials",
                    expected=f"an answer within {within_s:g} s",
                    found="none",
                    hint="a loop that asks for no trial, or a model that does not answer",
                ) from error

        return replace(algorithm, answer=answer)

    return of


@contextmanager
def _alarm(within_s: float) -> Iterator[None]:
    """Raise `_NoEnd` in the code below when the time is over, and what it had for this signal comes back."""
    if threading.current_thread() is not threading.main_thread():  # only that one gets signals
        yield
        return
    before = signal.signal(signal.SIGALRM, _over)
    signal.setitimer(signal.ITIMER_REAL, within_s)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _over(number: int, frame: FrameType | None) -> None:
    raise _NoEnd
