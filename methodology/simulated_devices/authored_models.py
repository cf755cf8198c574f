"""An author's own models, whose every answer is looked at: a model that breaks is named, never an answer.

Ids: MTH-07 the model broke, or said what no device can.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TypeVar

from bmwg.methodology.errors import ConfigError
from bmwg.methodology.simulated_devices.algorithms import Algorithm, Answer
from bmwg.methodology.simulated_devices.bench import ModelBench
from bmwg.methodology.simulated_devices.device import Claim, Device, Passed
from bmwg.methodology.simulated_devices.study import Scene

Answered = TypeVar("Answered")


@dataclass(kw_only=True)
class HeldDevice:
    """A device of an author's. `fault` is the first thing that was wrong with what it said.

    A search may take an error of its trial for a trial without an answer, so whoever asked it looks here.
    """

    name: str
    limit_fps: int
    own: Device
    fault: ConfigError | None = field(default=None, repr=False)

    def passes(self, frames: int, duration_s: float, dice: random.Random) -> Passed:
        """Pass what the author's device passes. Raises ConfigError MTH-07."""
        asked = f"passes({frames}, {duration_s:g}, dice)"
        passed = self._asked(asked, lambda: self.own.passes(frames, duration_s, dice))
        if not isinstance(passed, Passed):
            raise self._broke(asked, "a Passed", type(passed).__name__)
        counts = (passed.received, passed.reordered, passed.duplicates)
        if not all(isinstance(count, int) and count >= 0 for count in counts) or passed.received > frames:
            wanted = f"whole numbers from 0 up, received at most {frames}"
            raise self._broke(asked, wanted, repr(passed))
        return passed

    def truth_fps(self, claim: Claim) -> float | None:
        """Return the truth that the author states. Raises ConfigError MTH-07."""
        truth = self._asked("truth_fps(claim)", lambda: self.own.truth_fps(claim))
        numeric = isinstance(truth, (int, float)) and math.isfinite(truth) and truth > 0
        if truth is not None and not numeric:
            raise self._broke("truth_fps(claim)", "frames/s above 0, or None: there is none", repr(truth))
        return truth

    def _asked(self, asked: str, ask: Callable[[], Answered]) -> Answered:
        try:
            return ask()
        except Exception as error:  # an author's model may raise anything
            raise self._broke(asked, "an answer", f"{type(error).__name__}: {error}") from error

    def _broke(self, asked: str, expected: str, found: str) -> ConfigError:
        told = _broke(self.name, self.limit_fps, f"{asked} to answer {expected}", found)
        self.fault = self.fault or told
        return told


def held_scene(scene: Scene) -> Scene:
    """Return an author's scene, its devices looked at."""

    def device(limit_fps: int) -> Device:
        try:
            made = scene.device(limit_fps)
        except Exception as error:
            raise _broke(scene.name, limit_fps, "a device", f"{type(error).__name__}: {error}") from error
        if not isinstance(made, Device):
            raise _broke(scene.name, limit_fps, "a device: methods passes and truth_fps", type(made).__name__)
        return HeldDevice(name=scene.name, limit_fps=limit_fps, own=made)

    return replace(scene, device=device)


def told_of(algorithm: Algorithm) -> Algorithm:
    """Return an algorithm that gives no answer about a model that broke. Its answer raises ConfigError."""

    def answer(bench: ModelBench) -> Answer:
        try:
            found = algorithm.answer(bench)
        except Exception:
            _raise_fault(bench)
            raise
        _raise_fault(bench)
        return found

    return replace(algorithm, answer=answer)


def _raise_fault(bench: ModelBench) -> None:
    if isinstance(bench.device, HeldDevice) and bench.device.fault:
        raise bench.device.fault


def _broke(name: str, limit_fps: int, expected: str, found: str) -> ConfigError:
    return ConfigError(
        "MTH-07", f"model {name!r} with a limit of {limit_fps} frames/s", expected=expected, found=found
    )
