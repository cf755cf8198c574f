"""Up to which load, and from which on, all valid trials of a search say the same."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import takewhile

from bmwg.methodology.search.offer import Tried


def agreed_fps(trials: Iterable[Tried]) -> tuple[int | None, int | None]:
    """Return (highest load without loss, lowest load with loss); None where trials give none.

    Every valid trial at the first and below it was lossless, every one at the second and above it was not.
    They are no bounds: an unstable search could not confirm any.
    """
    found: dict[int, set[bool]] = {}
    for trial in trials:
        if trial.valid:
            found.setdefault(trial.load, set()).add(trial.lossless)
    clean = list(takewhile(lambda load: found[load] == {True}, sorted(found)))
    lossy = list(takewhile(lambda load: found[load] == {False}, sorted(found, reverse=True)))
    return (clean[-1] if clean else None), (lossy[-1] if lossy else None)
