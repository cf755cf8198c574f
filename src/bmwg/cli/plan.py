"""`bmwg plan`: what a profile would measure on a testbed, in which order, and how long it takes."""

from __future__ import annotations

import argparse
from collections.abc import Collection
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from bmwg.cli import selection
from bmwg.drivers import registry
from bmwg.drivers.testbed import Testbed, load_testbed
from bmwg.methodology import budget, planning, suites, turns
from bmwg.methodology.errors import ConfigError
from bmwg.methodology.http import profile as http_profile
from bmwg.methodology.kinds.requests import metric_of
from bmwg.methodology.profiles import Profile, load_profile
from bmwg.resources.http_proxy.header import of_testbed
from bmwg.resources.progress import clock_text
from bmwg.resources.settings import Settings


def add_parser(verbs: Any) -> None:
    """Add the verb to the command."""
    parser = verbs.add_parser(
        "plan", help="print the schedule of a run; nothing is started", description=__doc__
    )
    selection.add_arguments(parser)
    parser.add_argument("--testbed", type=Path, help="testbed file (default: the embedded testbed)")
    parser.add_argument("--profile", default="quick", help="compliance profile (default: quick)")
    parser.add_argument(
        "--budget", type=float, metavar="SECONDS", help="propose what to cut so that the run fits this time"
    )
    parser.add_argument(
        "--seed",
        type=int,
        default=1,
        help="what the order is drawn from (default 1; a run has its own)",
    )
    parser.set_defaults(handler=handle)


def handle(chosen: argparse.Namespace) -> int:
    """Print each cell with its estimated traffic, then the totals and the finish time."""
    named = chosen.suites or chosen.test or chosen.tag
    tests = suites.DEFAULT_TESTS
    if named:
        tests = selection.selected(selection.suites_of(chosen), selection.included(chosen))
    testbed = load_testbed(chosen.testbed)
    over_http = {test_id for test_id in tests if test_id.startswith(http_profile.TEST_IDS)}
    if over_http:
        _print_http(chosen, testbed, over_http)
    if packets := tests - over_http:
        _print_packets(chosen, testbed, packets)
    return 0


def _print_packets(chosen: argparse.Namespace, testbed: Testbed, tests: frozenset[str]) -> None:
    profile = load_profile(chosen.profile, paths=registry.paths())
    networks = planning.Networks.of(testbed.data["networks"])
    plan = turns.interleaved(planning.cells(profile, networks, test_ids=tests), chosen.seed)
    for planned in plan:
        estimate = planned.missing or (
            "with the one above" if planned.part else clock_text(planned.traffic_s)
        )
        print(f"{planned.test_id:<14} {planned.metric:<40} {planned.cell.cell_id:<48} {estimate}")
    traffic_s, whole_s = planning.traffic_s(plan), planning.duration_s(plan)
    finish = datetime.now().astimezone() + timedelta(seconds=whole_s)
    print(
        f"{len(plan)} cells, about {clock_text(traffic_s)} of traffic and {clock_text(whole_s)} with waits; "
        f"started now it would end about {finish:%Y-%m-%d %H:%M %Z}. What the machine lacks takes no time."
    )
    print(f"{planning.order_seed_text(chosen.seed)}: a run draws its own unless BMWG_ORDER_SEED is set")
    for deviation in profile.deviations:
        print(f"deviation {deviation.requirement}: {deviation.what}")
    if chosen.budget is not None:
        _print_proposal(profile, networks, tests, chosen.budget)


def _print_http(chosen: argparse.Namespace, testbed: Testbed, tests: Collection[str]) -> None:
    """Print the cells of HTTP experiments with requests and repetitions: their time is not known before."""
    networks = list(of_testbed(Settings(testbed=Path(testbed.file))))
    plan = http_profile.load(chosen.profile).with_networks(networks).plan()
    mine = [planned for planned in plan if planned.test_id in tests]
    for planned in mine:
        load = f"{planned.requests} requests, {planned.repetitions} repetitions"
        print(f"{planned.test_id:<14} {metric_of(planned.cell):<40} {planned.cell.cell_id:<48} {load}")
    print(f"{len(mine)} cells of HTTP experiments; how long they take follows from the servers' speed.")


def _print_proposal(
    profile: Profile, networks: planning.Networks, tests: frozenset[str], budget_s: float
) -> None:
    """Print what to cut, cheapest in conformance first."""
    if not budget_s > 0:
        raise ConfigError("PLAN-01", "--budget", expected="seconds, above 0", found=str(budget_s))
    proposal = budget.propose(profile, networks, budget_s, test_ids=tests)
    if not proposal.cuts:
        print(f"fits {clock_text(budget_s)}: nothing to cut" if proposal.fits else "nothing can be cut")
        return
    print(f"to fit {clock_text(budget_s)} (planned: {clock_text(proposal.before_s)}):")
    for cut in proposal.cuts:
        clause = f" [{cut.requirement}]" if cut.requirement else ""
        print(f"cut {cut.what}{clause}: saves {clock_text(cut.saves_s)}; {cut.cost}")
    verdict = "fits" if proposal.fits else "does not fit; take paths or networks out of the profile"
    print(f"then {clock_text(proposal.after_s)}: {verdict}")
