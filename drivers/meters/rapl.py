"""RAPL: the processors' own counters of energy, as Linux has them in /sys/class/powercap.

Packages and their memory are read, once before a trial and once after it. The window lies between the moments
at which the counters themselves were read, by the clock of their machine. A counter begins anew at 0 behind
its range. Boards, disks, fans and supplies are not in it.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path

from bmwg.drivers.api.meters import Meter, Place
from bmwg.drivers.api.protocols import JsonValue, Missing
from bmwg.drivers.meters.options import require_known
from bmwg.methodology.answers.power import Energy, of_counters

_FOLDER = "sys/class/powercap"
_MOST_W = 1000  # choice: no package takes more; a range of 262 kJ then lasts 262 s at least


def zones(root: str = "") -> dict[str, dict[str, int]]:
    """Node function: the counters of packages and their memory by name: `energy_uj` and `range_uj`.

    `at_ns` is when a counter was read, on the machine's monotonic clock: the middle of the reading.
    """
    found: dict[str, dict[str, int]] = {}
    for folder in sorted(Path(root or "/", _FOLDER).glob("*rapl:*")):
        try:
            name = (folder / "name").read_text(encoding="ascii").strip()
            if name.startswith("package") or name == "dram":
                range_uj = int((folder / "max_energy_range_uj").read_text(encoding="ascii"))
                began_ns = time.monotonic_ns()
                energy_uj = int((folder / "energy_uj").read_text(encoding="ascii"))
                at_ns = (began_ns + time.monotonic_ns()) // 2
                found[f"{folder.name}/{name}"] = {
                    "energy_uj": energy_uj,
                    "range_uj": range_uj,
                    "at_ns": at_ns,
                }
        except (OSError, ValueError):
            continue  # one that cannot be read is not counted, and `describe` names those that are
    return found


class RaplMeter:
    """The energy of packages and memory of the machine under test."""

    def __init__(self, options: Mapping[str, JsonValue], place: Place) -> None:
        require_known("rapl", options, ())
        self._place = place

    def _zones(self) -> dict[str, dict[str, int]]:
        return dict(self._place.call(zones, root=self._place.root))

    def probe(self) -> Missing | None:
        """Return that the machine has no counters that can be read."""
        if self._zones():
            return None
        return Missing(
            what="energy by RAPL",
            reason="no package in /sys/class/powercap can be read; a virtual machine has none",
            mend="power: {meter: file}, with a meter of one's own (docs/power.md)",
        )

    def begin(self) -> dict[str, dict[str, int]]:
        """Return the counters."""
        return self._zones()

    def since(self, begun: dict[str, dict[str, int]]) -> Energy:
        """Return what the counters went on by; their windows differ by what reading them takes, or less."""
        last = self._zones()
        windows_ns = [last[name]["at_ns"] - one["at_ns"] for name, one in begun.items() if name in last]
        return of_counters(
            {name: one["energy_uj"] for name, one in begun.items()},
            {name: one["energy_uj"] for name, one in last.items()},
            {name: one["range_uj"] for name, one in last.items()},
            sum(windows_ns) // max(1, len(windows_ns)),
            _MOST_W,
        )

    def describe(self) -> Mapping[str, JsonValue]:
        """Which counters are summed."""
        return {"meter": "rapl", "zones": list(self._zones()), "unit": "uJ"}


_: type[Meter] = RaplMeter
