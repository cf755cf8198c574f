"""The validation criteria of RFC 9411 for a sustain phase, each by name (7.2.3.3, 7.3.3.3, 7.5.3.3). Pure.

Ratios are held as integers. A deviation of what is counted in whole ones is none as long as it is no more
than these come in: one connection's transactions, or a few connections.
"""

from __future__ import annotations

from bmwg.methodology.kinds.requests.sustained import Sustained

FEWER_THAN_ONE_IN = 100_000  # rfc9411-7.2.3.3: failed transactions, and resets, below 0.001 %
RATE_WITHIN = 0.05  # rfc9411-7.2.3.3: "constant" is a deviation below 5 %
OPEN_WITHIN = 0.10  # rfc9411-7.2.3.3: below 10 %
FEW_CONNECTIONS = 10  # choice: so many are open at any rate after a pause of some milliseconds
CUT_CONNECTIONS = 3  # choice: so many may be under way at one end of the phase more than at the other
REACHED = 0.99  # choice: of what was due; rfc9411-7.4.3.3 e asks to remain at the target, and names no share


def breaches(one: Sustained) -> tuple[str, ...]:
    """Say which criteria a sustain phase does not meet; empty where it meets all."""
    found = [*_failed(one), *_resets(one)]
    if one.held_connections:
        return (*found, *_held(one))
    return (*found, *_reached(one), *_rate(one), *_open(one))


def _failed(one: Sustained) -> list[str]:
    if not one.failed or one.failed * FEWER_THAN_ONE_IN < one.tried:
        return []
    how = ", ".join(f"{name}: {count}" for name, count in sorted(one.failures.items()))
    return [f"failed transactions: {one.failed} of {one.tried} ({how}), not fewer than 0.001 %"]


def _resets(one: Sustained) -> list[str]:
    if not one.resets or one.resets * FEWER_THAN_ONE_IN < one.opened:
        return []
    return [f"unexpected resets: {one.resets} of {one.opened} connections, not fewer than 0.001 %"]


def _reached(one: Sustained) -> list[str]:
    due = one.due_connections * one.requests_per_connection
    done = sum(one.completed)
    if done + CUT_CONNECTIONS * one.requests_per_connection >= REACHED * due:
        return []
    return [f"target rate: {done} transactions were completed in the sustain phase, {due} were due"]


def _rate(one: Sustained) -> list[str]:
    mean = sum(one.completed) / max(1, len(one.completed))
    worst = max(one.completed, key=lambda count: abs(count - mean), default=0)
    if _constant(worst, mean, RATE_WITHIN, one.requests_per_connection):
        return []
    return [f"constant rate: {worst} transactions in one interval, {mean:.0f} on average"]


def _constant(worst: float, mean: float, below: float, few: int) -> bool:
    """Whether the worst interval deviates by less than a share of the mean, or by no more than these few."""
    apart = abs(worst - mean)
    return apart < below * mean or apart <= few


def _open(one: Sustained) -> list[str]:
    open_mean = one.open_mean
    each = [open_ns / one.interval_ns for open_ns in one.open_ns]
    worst = max(each, key=lambda count: abs(count - open_mean), default=0.0)
    if _constant(worst, open_mean, OPEN_WITHIN, FEW_CONNECTIONS):
        return []
    return [f"constant connections: {worst:.0f} open in one interval, {open_mean:.0f} on average"]


def _held(one: Sustained) -> list[str]:
    if one.least_open >= one.held_connections:
        return []
    return [f"held connections: {one.least_open} at the fewest, {one.held_connections} were to be held"]
