"""Throughput by the number of flows that a switch was given beforehand (LTD 3.2.2.3.1), and their name."""

from __future__ import annotations

import re

METRIC = "throughput_flows.ltd_3_2_2_3_1"
FLOWS = (1_000, 2_000, 4_000, 8_000, 16_000)  # ltd-3.2.2.3.1 goes on to 64,000 and the table's maximum
MATCHED = "modifier.matched_flows"  # count of a trial
REQUIREMENTS = ("LTD-3.2.2.3.1",)
_NAME = re.compile(r"matched-flows-([1-9][0-9]{0,5})")


def modifier(flows: int) -> str:
    """Return what a trial names by which each of its flows has an entry of its own."""
    return f"matched-flows-{flows}"


def matched(name: str) -> int | None:
    """Return how many entries a modifier says; None where it is another one."""
    found = _NAME.fullmatch(name)
    return int(found[1]) if found else None
