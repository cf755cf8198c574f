"""Whether the hosting forms of a sweep took turns as a run's header says, and ratios within their blocks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from bmwg.methodology.kinds.streams import order
from bmwg.methodology.kinds.streams.kind import STREAMS
from bmwg.methodology.kinds.streams.profile import CLAIM
from bmwg.methodology.kinds.streams.records import KIND, StreamsResult
from bmwg.methodology.plan import blocks
from bmwg.methodology.plan.blocks import Against
from bmwg.reports.checker.evidence import Evidence
from bmwg.reports.checker.findings import Rule, Shortfall, rule
from bmwg.reports.kinds.repeated.physics import in_turns
from bmwg.reports.kinds.streams.answers import Answered
from bmwg.reports.render.text import NONE
from bmwg.reports.store import Run

_KVM = "kvm"


def claimed(run: Run) -> bool:
    """Whether the forms of a run's sweeps took turns, as its profile says."""
    return bool(run.profile.get(CLAIM))


def within_blocks(
    one: Answered, base: Answered, figure: Callable[[StreamsResult], float | None]
) -> Against | None:
    """Hold a form's figure against native's, execution by execution of the same block."""
    return blocks.against(_by_block(one, figure), _by_block(base, figure))


def words(found: Against | None) -> str:
    """Say a ratio with its interval, what it shows, and of how many blocks it is."""
    if found is None:
        return NONE
    if found.low is None or found.high is None:
        return f"{found.ratio:.3f} (1 block)"
    shown = "lower" if found.high < 1 else "higher" if found.low > 1 else "no difference shown"
    return f"{found.ratio:.3f} ({found.low:.3f} to {found.high:.3f}, {found.blocks} blocks; {shown})"


def _by_block(one: Answered, figure: Callable[[StreamsResult], float | None]) -> Mapping[int, float]:
    return {number: figure(result) or 0.0 for number, result in one.by_number.items()}


def accelerators(told: Mapping[str, Any]) -> set[str]:
    """Return what ran the instructions of a deployment's machines; empty where none took part."""
    machines = told.get("machines")
    each = [*(machines.values() if isinstance(machines, Mapping) else ()), told.get("machine")]
    return {str(one.get("accelerator") or "") for one in each if isinstance(one, Mapping)}


@rule("VER-59", "", "the forms of a sweep took turns in the order that the header's seed gives")
def in_random_blocks(evidence: Evidence) -> Iterator[Shortfall]:
    """Each execution is of the cell whose turn it was, by seed and by what stood before it in the journal.

    A translated machine has no turn: it is held against nothing. A form without a further one had broken.
    """
    run = evidence.run
    if run is None or not evidence.whole_journal or STREAMS.wrong_profile(run["profile"]):
        return
    profile = run["profile"]
    planned = STREAMS.planned_by(profile)
    stood = {cell.cell.cell_id for cell in evidence.plan}
    sweeps = {
        name: sweep
        for name, one in planned.items()
        if name in stood and (sweep := order.sweep_of(profile, one.cell))
    }
    mine = [one for one in evidence.executions if one.body.kind == KIND and one.cell_id in sweeps]
    forms = {
        sweep: order.forms(profile, [planned[name].cell for name in planned if name in stood], sweep)
        for sweep in dict.fromkeys(sweeps.values())
    }
    apart = {
        one.cell_id
        for one in mine
        if planned[one.cell_id].cell.hosting in order.MACHINES
        and accelerators(evidence.deployments.get(one.deployment_id, {})) - {_KVM}
    }
    whole = Counter(execution.cell_id for execution in mine)
    yield from in_turns(
        evidence, STREAMS, forms, sweeps, lambda name, done: name in apart or done == whole[name]
    )


RULES: tuple[Rule[Evidence], ...] = (in_random_blocks,)
