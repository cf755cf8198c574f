"""Versions of the procedures that turn trials into answers, so that a changed one is told by name.

A procedure is named after the metric that the journal writes beside its trials; `trial` is what all share:
how one trial is judged, and how those that are not valid are repeated. Whoever changes which trial a
procedure asks for next, or what it concludes from the same trials, adds one to its number here
(tests/unit/methodology/test_procedure_versions.py fails until that is done).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

TRIAL = "trial"
RULES = "clause_rules"  # how verdicts come about; beside the procedures in the header
FIRST = 1  # of every procedure, and of runs whose header names no version
CURRENT: Mapping[str, int] = {
    # name: version; one that is not named here has its first version still
    # Disturbed trials alone make an answer unstable, no longer invalid (docs/adr/0182).
    RULES: 2,  # each rule judged by evidence, with a basis (docs/adr/0247)
    "back_to_back.rfc9004": 2,
    "conditional_throughput.rfc9971": 2,
    "frame_loss_ratio.rfc2544_26_3": 2,
    "latency.all_frames": 2,
    "latency.rfc2544_26_2": 2,
    "latency.rfc8219_7_2.typical": 2,
    "pdv.rfc8219_7_3_1": 2,
    "reset.rfc6201.container": 2,
    "reset.rfc6201.link": 2,
    "reset.rfc6201.vswitch": 2,
    "soak.loss_ratio": 2,
    "system_recovery.rfc2544_26_5": 2,
    # 2: no loss at the lowest load is claimed that was never tried; 3: a load without a valid trial is
    # unknown, and the interval below a load that did not hold is searched (docs/adr/0231)
    "tester.envelope": 3,
    "throughput.rfc2544_26_1": 3,  # 2: an unstable answer says how far its trials agree
    "throughput.tst009_12_3": 2,
    "throughput_modified.rfc2544_11.broadcast": 2,
    "throughput_modified.rfc2544_11.filters_1": 2,
    "throughput_modified.rfc2544_11.filters_25": 2,
    "throughput_modified.rfc2544_11.management": 2,
    "throughput_modified.rfc2544_11.route_updates": 2,
}


def version(name: str) -> int:
    """Return the version of a procedure as this toolkit has it."""
    return CURRENT.get(name, FIRST)


def versions(names: Iterable[str]) -> dict[str, int]:
    """Return the versions of procedures, of `trial` and of the clause rules, by name."""
    return {name: version(name) for name in sorted({TRIAL, RULES, *names})}


def other_versions(recorded: Mapping[str, int], name: str) -> tuple[tuple[str, int, int], ...]:
    """Return of `trial` and one procedure those recorded with another version: name, recorded, known here."""
    pairs = ((one, recorded.get(one, FIRST), version(one)) for one in (TRIAL, name))
    return tuple((one, theirs, ours) for one, theirs, ours in pairs if theirs != ours)
