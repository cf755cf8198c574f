"""What passes between a search procedure and whoever runs or replays it."""

from __future__ import annotations

from dataclasses import dataclass

from bmwg.methodology.errors import ToolkitError
from bmwg.methodology.records import OutcomeType


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """The load of the one trial that must come next, in the unit of what the goal offers.

    `phase` is `maximum`, `bisection`, `verify lower` or `verify upper`; `attempt` counts trials at this load
    in this step, from 0.
    """

    load_fps: int
    phase: str
    attempt: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Conclusion:
    """How a procedure ended, before its trials are looked up."""

    type: OutcomeType
    reason: str = ""
    reopenings: int = 0
    lower_fps: int | None = None
    upper_fps: int | None = None


class IllegalTrialError(ToolkitError):
    """A recorded trial is not the one that the procedure called for; `expected_fps` None: it had ended."""

    exit_code = 4

    def __init__(self, seq: int, expected_fps: int | None, found_fps: int, unit: str) -> None:
        self.seq = seq
        self.expected_fps = expected_fps
        self.found_fps = found_fps
        expected = "no further trial" if expected_fps is None else f"a load of {expected_fps} {unit}"
        super().__init__(
            "SRCH-01",
            f"trial {seq} does not follow from the trials before it",
            expected=expected,
            found=f"{found_fps} {unit}, or another frame, duration or direction",
        )
