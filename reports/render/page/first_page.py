"""The first page in words: what was measured and on what, how far to trust it, and what to do next.

Each sentence is computed from the run; what the run does not tell is left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import datetime

from bmwg.methodology.answers.throughput import is_wide
from bmwg.methodology.cells import patterns
from bmwg.methodology.record.facts import below
from bmwg.methodology.records import OutcomeType, Validity
from bmwg.methodology.trial.disturbed import hardly_usable
from bmwg.reports import rooms
from bmwg.reports.checker.documents import Grade
from bmwg.reports.checker.judge import Judgement
from bmwg.reports.render.blocks import Block, Part, Rich, items, pairs, title
from bmwg.reports.render.facts import Facts
from bmwg.reports.render.sections.results import FULL_TRIAL_S
from bmwg.reports.render.text import number_of, percent
from bmwg.reports.store.run import CABLES

_BANNERS = ("simulated:", "dirty:", "indicative:")  # states of a run that a banner tells
_LONGER = "--profile hour"
_LONGER_BETWEEN_PORTS = "--profile rfc2889 testcases/rfc2889"
_EMBEDDED = "embedded"  # the testbed of `bmwg run` that names none
_GIBI = 1 << 30


def measured(facts: Facts) -> list[Block]:
    """Return what was measured, on what, how and when, in one row each."""
    rows = [
        ("measured", "; ".join(filter(None, (_measured(facts), rooms.summaries(facts.run))))),
        ("on", _machine(facts)),
        ("how", ", ".join(filter(None, (_how(facts), _when(facts))))),
    ]
    return pairs([(name, said) for name, said in rows if said])


def _measured(facts: Facts) -> str:
    """Count the answers of frames; their options stand in the figure."""
    tried = [one for one in facts.outcomes if one.type is not OutcomeType.NOT_ASSESSED]
    if not facts.outcomes:
        return "" if facts.run.outcomes else "nothing: the run holds no answer"
    paths = ", ".join(dict.fromkeys(one.cell.path for one in tried)) or "no path"
    metrics = dict.fromkeys(
        _named(outcome.metric) for outcome in facts.outcomes if not outcome.cell.qualifies_tester
    )
    counted = f"{number_of(len(facts.outcomes), 'answer')} from {number_of(len(facts.run.trials), 'trial')}"
    return f"{counted} on {paths}{f': {listed}' if (listed := ', '.join(metrics)) else ''}"


def _named(metric: str) -> str:
    """Return the family of a metric in words."""
    return metric.partition(".")[0].replace("_", " ")


def _machine(facts: Facts) -> str:
    run = facts.run
    online, memory, model, version, release = (
        below(run.platform_before, "fields", *path.split("/"), "value")  # None where unknown or hidden
        for path in ("cpu/online", "memory/total_octets", "cpu/model", "system/version", "kernel/release")
    )
    parts = [
        f"testbed {run.testbed.get('name', 'without a name')}",
        f"medium {run.medium_kind}",
        f"{number_of(len(online), 'CPU')} {model or ''}".strip() if isinstance(online, list) else "",
        f"{memory / _GIBI:.1f}\u00a0GiB" if isinstance(memory, int) else "",
        str(version or ""),
        f"kernel {release}" if release else "",
    ]
    return ", ".join(filter(None, parts))


def _how(facts: Facts) -> str:
    run = facts.run
    names = ", ".join(dict.fromkeys(run.of_load(load).profile["name"] for load in run.kinds))
    durations = sorted({trial.spec.duration_s for trial in run.trials})
    lasted = ""
    if durations:
        ends = " to ".join(dict.fromkeys(f"{one:.3g}" for one in (durations[0], durations[-1])))
        lasted = f"trials of {ends}\u00a0s"
    return ", ".join(filter(None, (f"profile {names or run.profile['name']}", lasted)))


def _when(facts: Facts) -> str:
    run = facts.run
    said = run.started_at[:16].replace("T", " ") + " UTC"
    if run.ended_at is None:
        return said
    try:
        took = datetime.fromisoformat(run.ended_at) - datetime.fromisoformat(run.started_at)
    except ValueError:
        return said
    minutes, seconds = divmod(round(took.total_seconds()), 60)
    return f"{said}, {minutes} min {seconds} s"


def trust(facts: Facts) -> list[Block]:
    """Return what decides how far the answers can be trusted."""
    if not facts.run.outcomes:
        return []
    return [*title("What to trust"), *items(_trusted(facts))]


def _trusted(facts: Facts) -> Iterator[str]:
    run = facts.run
    if run.simulated:
        yield "No figure is a measurement: no frame was sent, the devices are models."
    valid, trials = facts.validity[Validity.VALID], len(run.trials)
    yield f"{_answers(facts)}." + (
        f" {valid} of {trials} trials were valid ({percent(valid / trials, 1)})." if trials else ""
    )
    longest = max((trial.spec.duration_s for trial in run.trials), default=FULL_TRIAL_S)
    if longest < FULL_TRIAL_S and not facts.indicative:  # of which a banner says it
        yield (
            f"No trial lasted longer than {longest:g}\u00a0s, where RFC 2544 section 24 asks for "
            f"{FULL_TRIAL_S:g}\u00a0s."
        )
    if run.trials and run.line_rate_bps is None and run.medium_kind != CABLES and not run.simulated:
        yield (
            "Tester and device share a machine, and the medium is virtual: compare options of this run, "
            "not machines."
        )
    yield from _unpinned(facts)
    yield "A range is of this run; how far other runs lie from it, only other runs show."
    if isinstance(facts.judgement, Judgement):
        yield from _graded(facts.judgement)


def _unpinned(facts: Facts) -> Iterator[str]:
    """Say why threads of device queues were not on the DUT's CPUs, each reason once."""
    queues = [
        one
        for evidence in facts.run.deployments.values()
        for one in evidence.get("device_queues") or ()
        if isinstance(one, Mapping)
    ]
    reasons = dict.fromkeys(str(queue["cpu_reason"]) for queue in queues if queue.get("cpu_reason"))
    for reason in reasons:
        yield (
            f"What forwards ran on any CPU, the tester's as well, and its CPU time was not counted: {reason}."
            " In a container share the host's PID namespace (--pid=host)."
        )


def _answers(facts: Facts) -> str:
    """Count the answers by what is known: `4 measured, 3 as a range, 10 unstable, 7 not run`."""
    ranges = sum(one.type is OutcomeType.MEASURED and is_wide(one) for one in facts.outcomes)
    counted = Counter(outcome.type for outcome in facts.run.outcomes)
    plain = counted[OutcomeType.MEASURED] - ranges
    bounds = sum(
        counted[kind] for kind in (OutcomeType.AT_FLOOR, OutcomeType.AT_CEILING, OutcomeType.TESTER_LIMITED)
    )
    parts = (
        (f"{plain} measured", plain),
        (f"{ranges} measured as a range", ranges),
        (f"{bounds} bounded from one side", bounds),
        (f"{counted[OutcomeType.UNSTABLE]} unstable", counted[OutcomeType.UNSTABLE]),
        (f"{counted[OutcomeType.INVALID]} invalid", counted[OutcomeType.INVALID]),
        (f"{counted[OutcomeType.NOT_ASSESSED]} not run", counted[OutcomeType.NOT_ASSESSED]),
        (f"{len(facts.never_reached)} not reached", len(facts.never_reached)),
    )
    return f"Of {number_of(len(facts.run.outcomes), 'answer')}: " + ", ".join(
        said for said, count in parts if count
    )


def _graded(judgement: Judgement) -> Iterator[str]:
    """Say the grades that there are, and what stands against them beside what a banner says."""
    untold = {Grade.NOT_ASSESSED, Grade.NOT_GRADED}
    held = [grade for grade in judgement.grades if grade.document == "RFC2544" and grade.grade not in untold]
    if held:
        said = ", ".join(
            f"{document_grade.benchmark} {document_grade.grade.value}" for document_grade in held
        )
        yield f"Graded by RFC 2544 section 5: {said}. A grade is of the procedure, not of the device."
    against = [said for said in judgement.state if not said.startswith(_BANNERS)]
    if against:
        yield f"Not to be graded as compliant: {'; '.join(against)}."


def following(facts: Facts) -> list[Block]:
    """Return what a reader can do next, as commands that take the run's id.

    A model answers the same each time and however long it is asked: what was simulated is to be measured.
    """
    run = facts.run
    several = any(patterns.of(one.cell.axes) for one in facts.outcomes)
    default = run.testbed.get("name") == _EMBEDDED and not several
    on_testbed = "bmwg run" if default else "bmwg run --testbed FILE"
    said = [
        ("Recompute every figure from the raw trials: ", f"bmwg verify {run.run_id}"),
        ("Take the answers elsewhere: ", f"bmwg export {run.run_id} --csv answers.csv"),
    ]
    if hardly_usable(facts.outcomes, (trial.validity for trial in run.trials)):
        said.insert(0, ("See what disturbs this machine: ", "bmwg doctor"))
    if run.simulated:
        said.append(("Measure with frames, not with a model: ", "bmwg run"))
    else:
        said.append(("See how far runs lie apart: ", f"{on_testbed} --repeat 5, then bmwg compare"))
        if facts.indicative:
            said.append(("Measure longer: ", f"{on_testbed} {_LONGER_BETWEEN_PORTS if several else _LONGER}"))
    return [
        *title("What next"),
        *items(Rich(Part(text=words), Part(text=command, role="command")) for words, command in said),
    ]
