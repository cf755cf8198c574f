"""The rules of a firewall, exchanged for others while frames pass. Node functions.

A configuration has so many rules of nftables: all but the last forbid what nobody sends, and the last lets
test frames through and marks them (DSCP), so that each tells by which configuration it came. Counters stand
beside the rules and outlive them. Ids: as in `tables`.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

from bmwg.drivers.function import tables
from bmwg.drivers.function.rules import BLOCKED_DESTINATION, TEST_PORT, blocked_by
from bmwg.methodology.answers.data_plane_functions import DROPPED
from bmwg.methodology.kinds.acts.records import TABLE_FLUSHED, TABLE_LOADED, TABLE_LOADING

_RULES = f"ip {tables.TABLE} rules"  # the firewall's chain
_MARKED = "marked."


def exchange(*, entries: int, mark: int, flush_first: bool, wait_s: float) -> dict[str, int]:
    """Node function: have these rules in place of those that stand; returns moments of the monotonic clock.

    In one transaction, or with `flush_first` in two: between them all is dropped, for `wait_s` and as long as
    the second takes. Raises what `tables.change` raises: the rules stand then as before the transaction.
    """
    moments = {}
    loaded = list(_configuration(entries, mark))
    if flush_first:
        tables.change([f"flush chain {_RULES}", f"add rule {_RULES} {_all_else()}"])
        moments[TABLE_FLUSHED] = time.monotonic_ns()
        time.sleep(wait_s)
    moments[TABLE_LOADING] = time.monotonic_ns()
    tables.change(loaded)
    moments[TABLE_LOADED] = time.monotonic_ns()
    return moments


def _configuration(entries: int, mark: int) -> Iterator[str]:
    yield f"add counter ip {tables.TABLE} {_MARKED}{mark}"
    yield f"flush chain {_RULES}"
    for source, port in blocked_by(entries - 1):
        match = f"ip saddr {source} ip daddr {BLOCKED_DESTINATION} udp dport {port + mark}"
        yield f"add rule {_RULES} {match} drop"
    passed = f"counter name {_MARKED}{mark} ip dscp set {mark} accept"
    yield f"add rule {_RULES} udp dport {TEST_PORT} {passed}"
    yield f"add rule {_RULES} {_all_else()}"


def _all_else() -> str:
    return f"counter name {DROPPED} drop"


def counts(*, marks: list[int]) -> dict[str, int]:
    """Node function: frames that each configuration has let through, by its mark, and those dropped."""
    found = tables.counts()
    return {str(mark): found.get(f"{_MARKED}{mark}", 0) for mark in marks} | {"stopped": found[DROPPED]}
