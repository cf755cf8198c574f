"""Where the hours of a plan go, and what one option takes by itself."""

from __future__ import annotations

import re

import pytest

from bmwg.methodology.plan.planning import cells, duration_s
from bmwg.methodology.profiles import load_profile
from bmwg.methodology.records import NOTHING
from bmwg.resources.run.plan_hours import where_it_goes
from bmwg.resources.run.progress import clock_text

NETWORKS = {"bridge": None, "macvlan": None, "ptp": None}


def test_shares_are_of_the_whole_and_name_the_largest_first() -> None:
    plan = cells(load_profile("rfc2544"), NETWORKS)
    by_kind, by_size, _ = where_it_goes(plan)
    for line in (by_kind, by_size):
        shares = [int(share) for share in re.findall(r"\((\d+)%\)", line)]
        assert sum(shares) == pytest.approx(100, abs=3)
    waits_s = sum(one.waits_s for one in plan)
    assert f"waits around trials are {waits_s / duration_s(plan):.0%} of it" in by_kind


def test_one_option_is_held_against_wire_and_bare_metal() -> None:
    plan = cells(load_profile("rfc2544"), NETWORKS)
    alone = [one for one in plan if one.cell.network in (NOTHING, "bridge")]
    (said,) = [line for line in where_it_goes(plan) if line.startswith("one option")]
    assert clock_text(duration_s(alone)) in said
    assert "--network bridge" in said


def test_of_a_short_plan_nobody_asks() -> None:
    assert where_it_goes(cells(load_profile("quick"), NETWORKS)) == []


def test_of_one_option_there_is_nothing_to_say_beside_the_whole() -> None:
    plan = cells(load_profile("rfc9971"), {"bridge": None})
    assert len(where_it_goes(plan)) == 2
