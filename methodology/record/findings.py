"""What the doctor found, as it stands in the report."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any


class Weight(StrEnum):
    """How much a finding matters."""

    BLOCKS = "blocks"  # something that was asked for cannot run
    DISTORTS = "distorts"  # numbers differ from those of a machine in order, or scatter
    NOTE = "note"  # known to matter on some machines; a reader should know


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One finding. `finding_id` is stable (`DOC-NN`); `mend` is one thing to do, a command where there is
    one.
    """

    finding_id: str
    weight: Weight
    what: str
    breaks: str
    mend: str

    def as_json(self) -> dict[str, Any]:
        """Builtins for a file."""
        return {**asdict(self), "weight": str(self.weight)}

    def __str__(self) -> str:
        return f"{self.finding_id}  {self.what}\n          breaks: {self.breaks}\nhint: {self.mend}"
