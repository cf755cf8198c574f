"""What stands in a run's header from its beginning: toolkit, testbed, profile and plan."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from bmwg.drivers.testbed.file import Testbed
from bmwg.drivers.testbed.medium import medium_of
from bmwg.methodology import suites
from bmwg.methodology.answers.procedures import versions
from bmwg.methodology.measurements.registry import measurements
from bmwg.methodology.plan.planning import PlannedAnswer, highest_fps
from bmwg.methodology.profiles import Profile
from bmwg.reports.store import PlannedCell, RunHeader
from bmwg.resources.run.provenance import toolkit_state


def run_header(
    testbed: Testbed,
    profile: Profile,
    plan: Sequence[PlannedAnswer],
    selected: Collection[str],
    order_seed: int | None = None,
) -> RunHeader:
    """Return the header of a run of this plan, which answers the selected tests.

    `order_seed` is what its order was drawn from.
    """
    return header_of(
        simulated=testbed.tester.driver == "simulated",
        testbed=testbed.data,
        testbed_source=testbed.file,
        profile=profile.data,
        medium_kind=medium_of(testbed).kind,
        line_rate_bps=medium_of(testbed).line_rate_bps,
        plan=tuple(
            PlannedCell(test_id=planned.test_id, metric=planned.metric, cell=planned.cell) for planned in plan
        ),
        families=(family for kind in measurements().values() for family in kind.families),
        qualification_max_fps=highest_fps(medium_of(testbed).line_rate_bps),
        cases=suites.outside(selected),
        order_seed=order_seed,
    )


def header_of(
    *,
    testbed: Mapping[str, Any],
    profile: Mapping[str, Any],
    plan: tuple[PlannedCell, ...],
    families: Iterable[str],
    medium_kind: str,
    line_rate_bps: int | None = None,
    testbed_source: str | None = None,
    simulated: bool = False,
    qualification_max_fps: int | None = None,
    cases: tuple[suites.Case, ...] = (),
    order_seed: int | None = None,
) -> RunHeader:
    """Return the header of a run that begins now, of any kind of load; `families` are its procedures."""
    version, commit, dirty = toolkit_state()
    return RunHeader(
        toolkit_version=version,
        toolkit_commit=commit,
        toolkit_dirty=dirty,
        simulated=simulated,
        testbed=testbed,
        testbed_source=testbed_source,
        profile=profile,
        medium_kind=medium_kind,
        line_rate_bps=line_rate_bps,
        plan=plan,
        procedures=versions(families),
        qualification_max_fps=qualification_max_fps,
        cases=cases,
        order_seed=order_seed,
    )


def together(headers: Mapping[str, RunHeader]) -> RunHeader:
    """Return the header of a run: the first kind's, with what the others say beside it.

    `headers` are those that each kind's own run would have; a run of one kind has the header of that kind.
    """
    first, *others = headers.values()
    each = (first, *others)
    return replace(
        first,
        simulated=any(one.simulated for one in each),
        order_seed=next((one.order_seed for one in each if one.order_seed is not None), None),
        plan=tuple(planned for one in each for planned in one.plan),
        drivers=tuple(driver for one in each for driver in one.drivers),
        procedures={name: version for one in each for name, version in one.procedures.items()},
        cases=tuple(case for header in each for case in header.cases),
        loads={
            kind: {
                "testbed": dict(one.testbed),
                "profile": dict(one.profile),
                "medium": {"kind": one.medium_kind, "line_rate_bps": one.line_rate_bps},
            }
            for kind, one in headers.items()
            if one is not first
        },
    )
