"""What recorded trials let a report say of their load: how it varies, how interfaces share it (RFC 9971)."""

from __future__ import annotations

from collections.abc import Iterable

from bmwg.methodology.records import TrialResult, TrialSpec

CONSTANT = "constant within a trial"
EQUAL = "equal on each interface that sends"


def load_shape(specs: Iterable[TrialSpec]) -> tuple[bool, str]:
    """Return whether a report can say how the load varies with the Trial Load, and the words (4.5.2)."""
    varying = [spec for spec in specs if spec.burst or spec.then_load_fps is not None]
    if not varying:
        return True, CONSTANT
    if any(spec.then_load_fps is None for spec in varying):
        return False, f"{len(varying)} trials of bursts, without a rule that follows the Trial Load"
    shares = {round((spec.then_load_fps or 0) / spec.load_fps, 3) for spec in varying}
    if len(shares) > 1:
        return False, f"a second load of {', '.join(f'{share:g}' for share in sorted(shares))} of the first"
    return True, f"a second load of {shares.pop():g} of the Trial Load follows it in {len(varying)} trials"


def interface_shares(results: Iterable[TrialResult]) -> tuple[bool, str]:
    """Return whether a report can say how interfaces share the Trial Load, and the words (4.5.2)."""
    shares: set[float] = set()
    for result in results:
        if result.spec.pattern is not None:
            continue  # all senders have one load, and what comes to a port is no interface's share of it
        counts = [stream.intended_frames for stream in result.streams]
        if len(counts) > 1 and max(counts) - min(counts) > 1:
            shares.add(round(counts[0] / max(1, sum(counts)), 3))
    if not shares:
        return True, EQUAL
    if len(shares) > 1:
        words = ", ".join(f"{one:g}" for one in sorted(shares))
        return False, f"the first interface has {words} of the frames: no rule"
    share = shares.pop()
    return (
        True,
        f"{share:g} of the frames on the first interface and {1 - share:g} on the other, at every load",
    )
