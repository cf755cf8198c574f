"""How chains beside each other are written down, and what of a result is each one's. Pure.

`a+b` are two chains of one function each (two PVP side by side), `a>s+b>s` two chains that share the function
`s` (CINF08-5.2.6-02, 5.2.6-05). One name is one running function. The tester draws one of as many destination
networks as there are chains for each frame: network n goes through chain n, and is counted by itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from bmwg.methodology.cells import chains
from bmwg.methodology.records import Cell, TrialResult

PATH = "parallel"
AXIS: Final = "chains"  # of a cell, and of a line of a profile's plan
MOST = 16  # choice: more chains than that have no room on any node that was tried
_BESIDE = "+"
Chains = tuple[tuple[str, ...], ...]


def members(text: object) -> Chains:
    """Return the functions of each chain in order. Raises ValueError that says what is wrong."""
    if not isinstance(text, str):
        raise ValueError(f"chains joined by {_BESIDE}, such as a{_BESIDE}b, found {text!r}")
    found = tuple(chains.members(part) for part in text.split(_BESIDE))
    if len(found) < 2:
        raise ValueError(f"two chains at least, such as a{_BESIDE}b, found {text!r}; one is the path chain")
    if len(found) > MOST:
        raise ValueError(f"at most {MOST} chains, found {len(found)}")
    if twice := [one for place, one in enumerate(found) if one in found[:place]]:
        raise ValueError(f"chains that differ, found {'>'.join(twice[0])} twice in {text!r}")
    if (number := len(functions(found))) > chains.MOST:
        raise ValueError(f"at most {chains.MOST} functions, found {number}")
    return found


def functions(found: Chains) -> tuple[str, ...]:
    """Return every function once, in the order in which they are named."""
    return tuple(dict.fromkeys(name for one in found for name in one))


def shared(found: Chains) -> tuple[str, ...]:
    """Return the functions that more than one chain passes."""
    times = Counter(name for one in found for name in one)
    return tuple(name for name in functions(found) if times[name] > 1)


def words(text: object) -> str:
    """Return chains beside each other as a reader would call them."""
    found = members(text)
    common = shared(found)
    return f"{len(found)} chains at once ({text})" + (f", {', '.join(common)} shared" if common else "")


def of(cell: Cell) -> Chains:
    """Return the chains of a cell; none for a cell of another path."""
    text = dict(cell.axes).get(AXIS)
    return () if text is None else members(text)


def networks(axes: Iterable[tuple[str, int | str]]) -> int:
    """Return among how many destination networks such a cell spreads its frames; 1: it has one chain."""
    text = dict(axes).get(AXIS)
    return 1 if text is None else len(members(text))


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """Frames of one chain in one direction, over so many seconds of trials.

    `stream` numbers the directions of the trials, `number` the chains from 0. `offered_frames` were handed to
    the tester's interface for this chain.
    """

    stream: int
    number: int
    offered_frames: int
    received_frames: int
    duration_s: float

    @property
    def lost_frames(self) -> int:
        """Frames that were offered to this chain and did not come out."""
        return self.offered_frames - self.received_frames

    @property
    def received_fps(self) -> float:
        """Frames a second that came out of this chain."""
        return self.received_frames / self.duration_s


def shares(results: Sequence[TrialResult]) -> tuple[Share, ...]:
    """Return what each chain got and gave over these trials, by direction and chain; empty without counts."""
    offered: Counter[tuple[int, int]] = Counter()
    received: Counter[tuple[int, int]] = Counter()
    for result in results:
        for stream, counts in enumerate(result.streams):
            pairs = zip(counts.sent_by_network, counts.received_by_network, strict=True)
            for number, (left, came) in enumerate(pairs):
                offered[stream, number] += left
                received[stream, number] += came
    duration_s = sum(result.spec.duration_s for result in results)
    return tuple(
        Share(
            stream=stream,
            number=number,
            offered_frames=frames,
            received_frames=received[stream, number],
            duration_s=duration_s,
        )
        for (stream, number), frames in sorted(offered.items())
    )
