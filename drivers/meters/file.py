"""A file that a meter's own program writes: a line for each sample, with time and value.

The time is that of this machine's clock, in seconds since 1970; the value is power, or energy that the meter
has counted. Whatever has a number can write it: IPMI, SNMP, a meter at the plug (docs/power.md).
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path

from bmwg.drivers.api.meters import Meter, Place
from bmwg.drivers.api.protocols import JsonValue, Missing
from bmwg.drivers.meters.options import require_known, wrong
from bmwg.methodology.answers.power import Energy, Lack, Sample, of_samples

_OPTIONS = ("path", "unit", "period_s")
_UNITS = {"W": 1e3, "mW": 1.0, "J": 1e6, "Wh": 3.6e9, "kWh": 3.6e12}  # to mW, or to uJ of a counter
_POWER = ("W", "mW")
_MISSED = 3  # choice: so many periods without a sample are a meter that stopped
_WRITTEN_WITHIN = 1.5  # choice: periods between a sample's time and its writing; more is another clock
_LINE_OCTETS = 80  # a longer line is none of a sample
_TAIL_OCTETS = 1 << 22  # choice: what is read of a file at most: two weeks of samples a second
_LOOK_AGAIN_S = 0.02


class FileMeter:
    """Reads the samples around a trial, after it."""

    def __init__(self, options: Mapping[str, JsonValue], place: Place) -> None:
        require_known("file", options, _OPTIONS)
        path, self._unit = options.get("path"), options.get("unit", "W")
        period = options.get("period_s")
        if not isinstance(path, str) or not path.startswith("/"):
            raise wrong("file", "path: an absolute path", repr(path))
        if self._unit not in _UNITS:
            raise wrong("file", f"unit: {' or '.join(_UNITS)}", repr(self._unit))
        if isinstance(period, bool) or not isinstance(period, int | float) or not 0 < period <= 60:
            raise wrong("file", "period_s: the seconds between two samples, 60 at most", repr(period))
        self._path = Path(path)
        self._scale = _UNITS[str(self._unit)]
        self._period_ns = round(period * 1e9)
        self._written_ns = 0  # when the file was, as it was read last

    def probe(self) -> Missing | None:
        """Return that nothing writes the file, or that its clock is another one."""
        begun = self.begin()
        time.sleep(min(1.0, self._period_ns / 1e9))
        found = self.since(begun)
        if found.lack is None:
            return None
        return Missing(
            what=f"samples of power in {self._path}",
            reason=f"{found.lack.value.replace('_', ' ')}: {found.samples} samples in a period",
            mend="start the program that writes it, on this machine's clock (docs/power.md)",
        )

    def begin(self) -> tuple[int, int]:
        """Return the time of the wall clock and of the monotonic one."""
        return time.time_ns(), time.monotonic_ns()

    def since(self, begun: tuple[int, int]) -> Energy:
        """Wait for the sample after now, then return the energy between both moments."""
        began_ns, began_monotonic_ns = begun
        window_ns = time.monotonic_ns() - began_monotonic_ns
        ended_ns = began_ns + window_ns  # a clock that was set meanwhile is told by `_apart`
        deadline_s = time.monotonic() + _MISSED * self._period_ns / 1e9
        samples = self._samples()
        while (not samples or samples[-1].at_ns < ended_ns) and time.monotonic() < deadline_s:
            time.sleep(_LOOK_AGAIN_S)
            samples = self._samples()
        if samples and self._apart(samples[-1].at_ns, ended_ns):
            return Energy(window_ns=window_ns, samples=len(samples), lack=Lack.CLOCK_APART)
        return of_samples(
            _around(samples, began_ns, ended_ns),
            began_ns,
            ended_ns,
            longest_gap_ns=_MISSED * self._period_ns,
            counter=self._unit not in _POWER,
        )

    def _apart(self, newest_ns: int, ended_ns: int) -> bool:
        """Whether the newest sample is of another clock: later than now, or than when it was written."""
        now_ns = time.time_ns()
        if newest_ns > now_ns + self._period_ns or abs(now_ns - ended_ns) > 2 * _MISSED * self._period_ns:
            return True
        return abs(self._written_ns - newest_ns) > _WRITTEN_WITHIN * self._period_ns

    def _samples(self) -> list[Sample]:
        """Return the samples at the end of the file; a line that is not whole yet is left out."""
        try:
            with self._path.open("rb") as file:
                self._written_ns = os.fstat(file.fileno()).st_mtime_ns
                size = file.seek(0, 2)
                file.seek(max(0, size - _TAIL_OCTETS))
                text = file.read(_TAIL_OCTETS)
        except OSError:
            return []
        lines = text[: text.rfind(b"\n") + 1].splitlines()
        return [one for line in lines if (one := self._sample(line)) is not None]

    def _sample(self, line: bytes) -> Sample | None:
        """Return the sample of a line; None for a heading, or for what is none."""
        parts = line[:_LINE_OCTETS].replace(b",", b" ").split()
        try:
            at_s, value = (float(part) for part in parts[:2])
            return Sample(at_ns=_nanoseconds(parts[0], at_s), value=round(value * self._scale))
        except (ValueError, OverflowError):
            return None

    def describe(self) -> Mapping[str, JsonValue]:
        """What its samples are; the path may name somebody and is left out."""
        return {"meter": "file", "unit": str(self._unit), "period_s": self._period_ns / 1e9}


def _nanoseconds(text: bytes, number: float) -> int:
    """Return a time with all its digits: a double of seconds since 1970 has no more than 0.2 us."""
    whole, point, part = text.partition(b".")
    if whole.isdigit() and (part.isdigit() or not point):
        return int(whole) * 1_000_000_000 + int(part[:9].ljust(9, b"0") or 0)
    return round(number * 1e9)


def _around(samples: list[Sample], begin_ns: int, end_ns: int) -> list[Sample]:
    """Return the samples within the window, with the last before it and the first after it, in file order."""
    first = max((at for at, one in enumerate(samples) if one.at_ns <= begin_ns), default=0)
    last = next((at for at, one in enumerate(samples) if at > first and one.at_ns >= end_ns), len(samples))
    return samples[first : last + 1]


_: type[Meter] = FileMeter
