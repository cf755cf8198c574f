"""Makes the plan of a fleet: what one run would plan, in shards, and what each of these needs of a testbed.

Ids: FLEET-03 nothing can be shared out.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from bmwg.methodology.errors import ConfigError, ToolkitBug
from bmwg.methodology.plan.shards import AUTO, NONE, Pieces, calibrating, cut, joined, needed_beside, seconds
from bmwg.methodology.records import NOTHING
from bmwg.reports.fleet.plan import sealed
from bmwg.reports.store import PlannedCell, RunHeader
from bmwg.reports.store.canonical import sha256_of
from bmwg.reports.store.codec import plan_sha256
from bmwg.resources import rooms
from bmwg.resources.rooms import Share
from bmwg.resources.run.header import together
from bmwg.resources.run.settings import Settings

MOST_CALIBRATION = 0.05  # choice: of a shard's time; more of it would be spent on comparing than is gained


def fleet_document(
    settings: Settings,
    selected: Collection[str],
    suites: Sequence[str],
    *,
    shards: int,
    calibration: str = AUTO,
) -> dict[str, Any]:
    """Return the plan of a fleet that measures these tests in at most so many shards; starts nothing.

    The order seed is that of the settings, `calibration` one of `CALIBRATIONS`. Raises ConfigError FLEET-03,
    and what a run of these tests raises before it starts.
    """
    if shards < 1:
        raise ConfigError("FLEET-03", "--shards", expected="at least 1", found=str(shards))
    shares = shares_of(settings, selected)
    header = together({kind: share.header for kind, share in shares.items()})
    work = joined([share.work for share in shares.values()])
    tests = {name: one for name, one in work.tests.items() if one.own}
    if not tests:
        raise ConfigError(
            "FLEET-03",
            f"profile {settings.profile}; nothing was started",
            expected="a test that it measures",
            found=f"none of {', '.join(sorted(selected))}",
            hint="bmwg plan with the same words lists what is planned",
        )
    made, whole = [], []
    for number, names in enumerate(cut(tests, shards), start=1):
        known = work.calibration if calibration != NONE else {}
        beside = _beside([tests[name] for name in names], known, calibration)
        mine = header_of(settings, {*names, *beside})
        own = [cell for cell in mine.plan if cell.test_id in names]
        whole += own
        made.append(_shard(number, names, beside, tests | dict(known), mine, len(own)))
    if plan_sha256(whole) != plan_sha256(header.plan):
        raise ToolkitBug("FLEET-03", "shards", expected="together what one run plans", found="another plan")
    return sealed(
        {
            "schema": "fleet/1.0",
            "toolkit": toolkit_of(header),
            "order_seed": settings.order_seed,
            "profile": settings.profile,
            "profile_sha256": profile_sha256(header),
            "narrowing": settings.narrowing.as_builtins(),
            "suites": list(suites),
            "plan_sha256": plan_sha256(header.plan),
            "cells": len(header.plan),
            "estimate_s": math.ceil(seconds(list(tests.values()))),
            "shards": made,
        }
    )


def _beside(mine: Collection[Pieces], known: Mapping[str, Pieces], calibration: str) -> tuple[str, ...]:
    beside = calibrating(mine, known)
    pieces = [*mine, *(known[name] for name in beside)]
    if calibration == AUTO and seconds(pieces) - seconds(mine) > MOST_CALIBRATION * seconds(mine):
        return ()
    return beside


def _shard(
    number: int,
    names: Sequence[str],
    beside: Sequence[str],
    pieces: Mapping[str, Pieces],
    header: RunHeader,
    cells: int,
) -> dict[str, Any]:
    mine = [pieces[name] for name in names]
    all_s = seconds([pieces[name] for name in (*names, *beside)])
    needed = needed_beside(mine)
    return {
        "number": number,
        "tests": list(names),
        "calibration": list(beside),
        "plan_sha256": plan_sha256(header.plan),
        "cells": cells,
        "needed_cells": len(needed),
        "estimate_s": math.ceil(all_s),
        "needed_s": math.ceil(sum(needed.values())),
        "calibration_s": math.ceil(all_s - seconds(mine)),
        "needs": needs_of(header),
    }


def shares_of(settings: Settings, selected: Collection[str]) -> dict[str, Share]:
    """Return what these tests ask of a run, by kind of load. Raises what such a run would refuse."""
    shares = {
        kind: room.share(settings, tests, None) for kind, (room, tests) in rooms.asked(selected).items()
    }
    rooms.refuse_apart(shares)
    return shares


def header_of(settings: Settings, selected: Collection[str]) -> RunHeader:
    """Return the header that a run of these tests would have."""
    return together({kind: share.header for kind, share in shares_of(settings, selected).items()})


def toolkit_of(header: RunHeader) -> dict[str, Any]:
    """Return version, commit and state of the toolkit, as the header of a run has them."""
    return {
        "version": header.toolkit_version,
        "commit": header.toolkit_commit,
        "dirty": header.toolkit_dirty,
    }


def profile_sha256(header: RunHeader) -> str:
    """Return the hash of the profiles of all kinds of load."""
    return sha256_of([header.profile, {kind: said["profile"] for kind, said in header.loads.items()}])


def needs_of(header: RunHeader) -> dict[str, Any]:
    """Return what a run needs of a testbed: its medium, paths, and the networks that the planned one has."""
    options = header.testbed.get("networks")
    known = options if isinstance(options, dict) else {}
    return {
        "simulated": header.simulated,
        "medium": {"kind": header.medium_kind, "line_rate_bps": header.line_rate_bps},
        "paths": sorted({planned_cell.cell.path for planned_cell in header.plan}),
        "networks": sorted({name for cell in header.plan for name in _networks(cell) if name in known}),
    }


def _networks(planned: PlannedCell) -> tuple[str, ...]:
    return () if planned.cell.network == NOTHING else (planned.cell.network,)
