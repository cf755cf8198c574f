"""What stood beside an answer in version 4: nothing of stalls that counted as loss.

Frozen. Commits after 6211dd0befea up to f5a6afed wrote it; docs/adr/0370 says what version 5 does otherwise.
All else is that of today, pinned by tests/unit/methodology/test_counted_stalls.py: whoever changes
`methodology.believed` again keeps a whole copy here, as `standing_3` is one.
"""

from __future__ import annotations

from collections.abc import Sequence

from bmwg.methodology import believed as today
from bmwg.methodology.records import Outcome
from bmwg.methodology.trial import JudgedTrial

VERSION = 4


def standing(
    outcome: Outcome,
    trials: Sequence[JudgedTrial],
    *,
    most_ratio: float | None,
    continued: bool,
    by_cpu: bool = False,
) -> Outcome:
    """Return an outcome with what stood beside it; the arguments are those of `methodology.believed`."""
    return today.believed(outcome, trials, most_ratio=most_ratio, continued=continued, by_cpu=by_cpu)
