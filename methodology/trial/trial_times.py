"""When the steps around a trial happened, as the journal keeps it beside the counts."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialTimes:
    """When the steps around a trial happened (RFC 2544 section 23): nanoseconds of one monotonic clock.

    `deployed_ns` is when the deployment and the tester's ports stood, `learning_ns` when learning frames
    were begun and `learnt_ns` when they had been sent (None: none before this trial), `began_ns` when the
    trial was commanded and `ended_ns` when its counts were there. Only readings of one deployment compare.
    """

    deployed_ns: int
    learning_ns: int | None
    learnt_ns: int | None
    began_ns: int
    ended_ns: int

    @property
    def first_ns(self) -> int:
        """When the first frame for this trial could leave: a learning frame, or the trial's own."""
        return self.began_ns if self.learning_ns is None else self.learning_ns
