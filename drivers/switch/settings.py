"""What every switch can be set to, and that it is as it was asked for.

Ids: SWITCH-01 a switch has another setting than it was asked for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass

from bmwg.drivers.api.protocols import JsonValue
from bmwg.drivers.function.options import FunctionOptions
from bmwg.drivers.paths.bed import Bed
from bmwg.methodology.errors import TestbedError

AGEING_S = 300  # choice: the default of Linux and of Open vSwitch, and of IEEE 802.1Q 8.8.3
LEAST_AGEING_S, MOST_AGEING_S = 10, 3600
MOST_ENTRIES = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class TableSettings:
    """The address table: after how many seconds an unused entry goes, and how many it holds at most.

    `entries` 0: as the switch has it.
    """

    ageing_s: int
    entries: int

    @classmethod
    def read(
        cls, bed: Bed, name: str, *, least_entries: int = 1, least_ageing_s: int = LEAST_AGEING_S
    ) -> TableSettings:
        """Read `functions.<name>` of the testbed file; ConfigError FUNC-01 for what is unknown there."""
        options = FunctionOptions(bed, name)
        found = cls(
            ageing_s=options.count("ageing_s", default=AGEING_S, least=least_ageing_s, most=MOST_AGEING_S),
            entries=options.count("table_entries", default=0, least=0, most=MOST_ENTRIES),
        )
        options.finish()
        if 0 < found.entries < least_entries:
            raise options.refusal(
                "table_entries", expected=f"0, or {least_entries} or more", found=str(found.entries)
            )
        return found

    def told(self, name: str, found: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
        """Return what was asked for and what stands; TestbedError SWITCH-01 where the two differ."""
        wanted = {"ageing_s": self.ageing_s} | ({"table_entries": self.entries} if self.entries else {})
        other = {key: found.get(key) for key, value in wanted.items() if found.get(key) != value}
        if other:
            raise TestbedError(
                "SWITCH-01",
                f"switch {name}; no traffic was sent",
                expected=str(wanted),
                found=str(other),
                hint=f"functions.{name} of the testbed file asks for it",
            )
        return {"asked": asdict(self), "found": dict(found)}
