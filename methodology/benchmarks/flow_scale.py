"""Throughput by the number of flows that a switch was given beforehand (LTD 3.2.2.3.1), and their names.

Their entries stand for the whole search, or the switch removes each after a time and is given it again.
"""

from __future__ import annotations

import re

METRIC = "throughput_flows.ltd_3_2_2_3_1"
EXPIRING_METRIC = "throughput_expiring_flows.ltd_3_2_2_3_1"
FLOWS = (1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 64_000)  # ltd-3.2.2.3.1, without its maximum
MATCHED, EXPIRED = "modifier.matched_flows", "modifier.expired_flows"  # counts of a trial
TIMEOUT_S = 1  # choice: the shortest that OpenFlow 1.0 has, so that trials of a second see entries expire
REQUIREMENTS = ("LTD-3.2.2.3.1",)
_MATCHED, _EXPIRING = "matched-flows-", "expiring-flows-"
_NUMBER = re.compile(r"[1-9][0-9]{0,5}")


def modifier(flows: int) -> str:
    """Return what a trial names by which each of its flows has an entry of its own."""
    return f"{_MATCHED}{flows}"


def expiring_modifier(flows: int) -> str:
    """Return what a trial names by which each of its flows has an entry that expires and is given again."""
    return f"{_EXPIRING}{flows}"


def matched(name: str) -> int | None:
    """Return how many entries that stand a modifier says; None where it is another one."""
    return _number(name, _MATCHED)


def expiring(name: str) -> int | None:
    """Return how many entries that expire a modifier says; None where it is another one."""
    return _number(name, _EXPIRING)


def _number(name: str, prefix: str) -> int | None:
    said = name.removeprefix(prefix)
    return int(said) if said != name and _NUMBER.fullmatch(said) else None


def due_expiries(flows: int, duration_s: float) -> int:
    """Return how many entries expire at least while a trial lasts.

    A switch looks after its entries now and then; that each goes within twice its time is a choice.
    """
    return flows * int(duration_s / (2 * TIMEOUT_S))
