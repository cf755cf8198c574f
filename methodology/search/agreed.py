"""Up to which load, and from which on, the valid trials of a search say the same."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import takewhile

from bmwg.methodology.search.offer import Tried


def agreed_fps(
    trials: Iterable[Tried], *, loss_ratio: float = 0.0, exceed_ratio: float = 0.0
) -> tuple[int | None, int | None]:
    """Return (highest load without loss, lowest load with loss); None where trials give none.

    Every valid trial at the first and below it was lossless, every one at the second and above it was not. Of
    a goal that lets a share of `exceed_ratio` (0..1) of the trials lose more than `loss_ratio` (0..1), all
    loads up to the first kept it by their trials, and none from the second on did. They are no bounds: an
    unstable search could not confirm any.
    """
    found: dict[int, list[bool]] = {}
    for trial in trials:
        if trial.valid:
            found.setdefault(trial.load, []).append(trial.loss_ratio > loss_ratio)
    share = {load: sum(lossy) / len(lossy) for load, lossy in found.items()}
    clean = list(takewhile(lambda load: share[load] <= exceed_ratio, sorted(share)))
    lossy = list(
        takewhile(
            lambda load: share[load] > exceed_ratio if exceed_ratio else share[load] == 1,
            sorted(share, reverse=True),
        )
    )
    return (clean[-1] if clean else None), (lossy[-1] if lossy else None)
