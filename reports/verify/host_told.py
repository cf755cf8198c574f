"""What the machine did beside each trial of frames: always recorded, and possible (docs/adr/0510).

A run by the embedded tester tells CPU time, steal and frames of pods beside each trial. Each of these is a
part of something else that is told too; nothing here shows what the CPUs really did.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bmwg.methodology.record.facts import below
from bmwg.methodology.records import TRIAL_NUMBER
from bmwg.reports.checker.evidence import Evidence, Trial
from bmwg.reports.checker.findings import Rule, Shortfall, rule
from bmwg.reports.verify.timing import CLOCK_ERROR_RATIO

SOFTIRQ, STEAL = "host.softirq_ns", "host.steal_ns"
_HOST, _WINDOW, _OF_PODS = "host.", ".window_ns", ".frames"
_TIMES = (".cpu_ns", ".softirq_ns")  # of a window
_TICK_NS = 10_000_000  # choice: what the kernel counts CPU time by, on machines with 100 ticks a second
_EARLY_NS = 1_000_000  # choice: a window opens before its trial and closes after it
_NAMED = "what the machine did beside it"


@rule("VER-70", "", "each trial tells what its toolkit always tells of the machine beside it")
def machine_told(evidence: Evidence) -> Iterator[Shortfall]:
    """A trial of the embedded tester has the machine's CPU time, and a look of the doctor before it."""
    for trial in _of_the_machine(evidence):
        where, told = f"trial {trial.trial.seq}", dict(trial.trial.result.auxiliary)
        if missing := [name for name in (SOFTIRQ, STEAL) if name not in told]:
            yield where, f"{_NAMED}: {', '.join(missing)}", "nothing"
        if trial.platform is not None and not trial.platform[0]:
            yield where, "a look of the doctor before its suite", "none"


@rule("VER-71", "", "what is told of the machine beside a trial is possible", exit_code=2)
def machine_possible(evidence: Evidence) -> Iterator[Shortfall]:
    """No count is negative, no part above its whole: CPUs in a window, steal of a CPU, frames of a pod."""
    cpus = _cpus(evidence)
    for trial in _of_the_machine(evidence):
        told = dict(trial.trial.result.auxiliary)
        for what, expected, found in _impossible(trial, told, cpus):
            yield f"trial {trial.trial.seq}: {what}", expected, found


@rule("VER-75", "", "no trial is missing between those that the tester counted", exit_code=2)
def trials_counted(evidence: Evidence) -> Iterator[Shortfall]:
    """The trials of a deployment have the numbers that the tester gave them, from 1 on, none left out."""
    if not _is_embedded(evidence):
        return
    last: dict[str, int] = {}
    for trial in evidence.trials:
        due = last.get(trial.deployment_id, 0) + 1
        found = dict(trial.trial.result.auxiliary).get(TRIAL_NUMBER)
        if found != due:
            told = "no number" if found is None else f"number {found}"
            yield f"trial {trial.trial.seq}", f"number {due} of {trial.deployment_id}", told
        last[trial.deployment_id] = due if found is None else found


def _is_embedded(evidence: Evidence) -> bool:
    run = evidence.run
    tester = run["testbed"].get("tester") if run is not None else None
    real = run is not None and not run["simulated"]
    return real and isinstance(tester, dict) and tester.get("driver") == "embedded"


def _of_the_machine(evidence: Evidence) -> Iterator[Trial]:
    """Give the trials of a run by the embedded tester in which nothing failed."""
    if _is_embedded(evidence):
        yield from (trial for trial in evidence.trials if not trial.fault)


def _impossible(trial: Trial, told: Mapping[str, int], cpus: int | None) -> Iterator[Shortfall]:
    result = trial.trial.result
    for name, value in told.items():
        if not name.startswith(_HOST):
            continue
        if value < 0:
            yield name, "no less than 0", str(value)
        if name.endswith(_WINDOW):
            least_ns = result.wall_time_ns * (1 - CLOCK_ERROR_RATIO) - _EARLY_NS
            if value < least_ns:
                yield name, f"at least the trial's {result.wall_time_ns} ns", f"{value} ns"
            yield from _above_window(name, value, told, cpus)
    cpu_ns, all_ns = told.get("host.dut.cpus.softirq_ns", 0), told.get(SOFTIRQ)
    if all_ns is not None and cpu_ns > all_ns + _TICK_NS:
        yield "host.dut.cpus.softirq_ns", f"at most the {all_ns} ns of all CPUs", f"{cpu_ns} ns"
    stolen_ns = sum(count for _, count in result.disturbance.steal_ns) if result.disturbance else 0
    if STEAL in told and stolen_ns > told[STEAL] + _TICK_NS:
        yield STEAL, f"at least the {stolen_ns} ns of the CPUs of tester and SUT", f"{told[STEAL]} ns"
    yield from _fewer_in_pods(told, sum(stream.received_frames for stream in result.streams))


def _above_window(
    name: str, window_ns: int, told: Mapping[str, int], cpus: int | None
) -> Iterator[Shortfall]:
    for ending in _TIMES:
        part = name.removesuffix(_WINDOW) + ending
        if cpus is not None and told.get(part, 0) > cpus * (window_ns * (1 + CLOCK_ERROR_RATIO) + _TICK_NS):
            yield part, f"at most {cpus} CPUs for {window_ns} ns", f"{told[part]} ns"


def _fewer_in_pods(told: Mapping[str, int], received: int) -> Iterator[Shortfall]:
    """Each frame that arrived went through each pod: its interfaces together counted no fewer."""
    pods: dict[str, int] = {}
    for name, count in told.items():
        if name.startswith(_HOST) and name.endswith(_OF_PODS):
            pod = name.removesuffix(_OF_PODS).rpartition(".")[0]
            pods[pod] = pods.get(pod, 0) + count
    for pod, count in pods.items():
        if 0 < count < received and len(pods) == 1:  # of several, frames may have been shared
            yield f"{pod}: frames of its interfaces", f"at least {received}, as were received", str(count)


def _cpus(evidence: Evidence) -> int | None:
    """Return how many CPUs the largest machine of the records has; None where none tells."""
    platform: Mapping[str, Any] = evidence.platform or {}
    base = platform.get("base", {})
    records = [base.get("before"), base.get("after")]
    for places in platform.get("records", {}).values():
        records += places.values() if isinstance(places, Mapping) else ()
    found = []
    for record in records:
        value = below(record, "fields", "cpu", "online", "value")
        if isinstance(value, list):
            found.append(len(value))
    return max(found, default=None)


RULES: tuple[Rule[Evidence], ...] = (machine_told, machine_possible, trials_counted)
