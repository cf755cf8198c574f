"""What a witness read from a switch beside a run: frames from and to the tester, held against its trials.

A switch between tester and device has counters that the vendor does not keep. They can differ from the run's
honestly (frames between the trials, two clocks), so what contradicts is asked about and refuses nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from bmwg.methodology.errors import ConfigError, ToolkitError
from bmwg.methodology.records import Direction, TrialResult
from bmwg.reports.bundle.archive import COUNTERS_PART, Archive
from bmwg.reports.checker.evidence import Evidence
from bmwg.reports.checker.findings import Finding, of_error, shown
from bmwg.reports.submissions.documents import SignedDocument, moment, read_document, sign_document
from bmwg.reports.submissions.envelope import MAX_OCTETS, Signer
from bmwg.reports.submissions.keyring import Role
from bmwg.reports.submissions.trust import Trust
from bmwg.reports.verify.physics import ports_in_order
from bmwg.schemas.document import parse

KIND = "counters"
_SCHEMA = "counters/1.0"
_OF_RUN = ("run_id", "header_sha256")  # what the bundle tells, and no witness writes
_CLOCKS_APART = timedelta(seconds=60)  # choice: of the switch's reader and of the machine that measured
_BESIDE_FRAMES, _BESIDE_RATIO = 10_000, 0.01  # choice: what nobody records: next hops, other hosts' frames
_LEARNING_FRAMES = 100  # choice: before a trial, for each network or flow that it is spread to
_BESIDE = (".broadcast_sent_frames", "modifier.sent_frames")  # counts of a trial's other frames
_SENDERS = {Direction.FORWARD: (0,), Direction.REVERSE: (1,), Direction.BOTH: (0, 1)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """What the counters in a bundle add. `said` tells whose they are; empty where nobody counts for it."""

    said: str = ""
    questions: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()


def sign_counters(octets: bytes, where: str, run: Mapping[str, Any], signer: Signer) -> bytes:
    """Return the signed document of a witness's file about a run, given as its header says.

    Raises ConfigError WIT-01 (no YAML; a reading that cannot be), STORE-04.
    """
    try:
        made = parse(octets[:MAX_OCTETS].decode("utf-8"))
    except UnicodeDecodeError as error:
        raise _impossible(where, "UTF-8", str(error)) from error
    told = made.data
    if made.problems or not isinstance(told, dict) or set(told) & set(_OF_RUN):
        found = "; ".join(map(str, made.problems)) or "another form"
        raise _impossible(where, f"a file of schema {_SCHEMA} with switch and readings", found)
    signed = sign_document(KIND, told | {name: run[name] for name in _OF_RUN}, signer)
    read_counters(signed, where)
    return signed


def read_counters(octets: bytes, where: str = COUNTERS_PART) -> SignedDocument:
    """Read counters whose signature nobody checked yet.

    Raises ConfigError WIT-01 for a reading that cannot be, and what `read_document` raises.
    """
    document = read_document(octets, KIND, where)
    for number, reading in enumerate(document.predicate["readings"]):
        here = f"{where}: readings[{number}]"
        if moment(reading["until"]) <= moment(reading["from"]):
            found = f"{reading['from']} to {reading['until']}"
            raise _impossible(here, "a time that ends after it begins", found)
        for name in ("received_frames", "sent_frames"):
            before, after = reading[name]["before"], reading[name]["after"]
            if after < before:
                expected = "a counter that only grew; read one that was cleared from then on"
                raise _impossible(f"{here}.{name}", expected, f"{before}, then {after}")
    return document


def judged(archive: Archive, evidence: Evidence, trust: Trust | None, at: datetime, owner: str) -> Counted:
    """Say whose counters a bundle holds, and what of them contradicts the run. `at` is the keys' time."""
    if not archive.has(COUNTERS_PART) or evidence.run is None:
        return Counted()
    try:
        document = read_counters(archive.octets(COUNTERS_PART))
        _require_of(evidence.run, document)
        if trust is None:
            return Counted(notes=("a switch's counters: no body that you trust (--trust FOLDER)",))
        by = _signer(document, trust, at, owner)
    except ToolkitError as error:
        return Counted(findings=(of_error(error),))
    told = document.predicate
    if not by:
        return Counted(notes=(f"a switch's counters: no witness or lab beside {shown(owner)} signed them",))
    ports = ", ".join(shown(reading["port"]) for reading in told["readings"])
    return Counted(
        said=f"switch {shown(told['switch'])}, {ports}, read by {by}",
        questions=tuple(contradictions(told, evidence)),
    )


def contradictions(told: Mapping[str, Any], evidence: Evidence) -> Iterator[str]:
    """Ask where a switch counted other frames than the run's trials tell in the same time."""
    if evidence.run is None or evidence.run["simulated"]:
        return
    for reading in told["readings"]:
        where = f"counters: switch {shown(told['switch'])}, {shown(reading['port'])}"
        when = f"from {reading['from']} to {reading['until']}"
        run, port = _told(reading, evidence), reading["tester_port"]
        came, left = _grown(reading["received_frames"]), _grown(reading["sent_frames"])
        if came < run.sent:
            yield (
                f"{where}: it received {came} frames {when}, and the trials in it sent {run.sent} at the "
                f"tester's port {port}: did they leave?"
            )
        if left < run.received:
            yield (
                f"{where}: it sent {left} frames {when}, and the trials in it received {run.received} at the "
                f"tester's port {port}: where did they come from?"
            )
        if run.most_sent is not None and came > run.most_sent:
            yield (
                f"{where}: it received {came} frames {when}, and the run tells of at most {run.most_sent} "
                f"at the tester's port {port}: was more measured?"
            )


@dataclass(slots=True)
class _Told:
    """What trials tell of one port: frames of those that surely lie in a time, and the most that can.

    `most_sent` is None where a trial failed: nobody knows what it sent.
    """

    sent: int = 0
    received: int = 0
    most_sent: int | None = _BESIDE_FRAMES


def _told(reading: Mapping[str, Any], evidence: Evidence) -> _Told:
    begin, end = moment(reading["from"]), moment(reading["until"])
    port, told = reading["tester_port"] - 1, _Told()
    order = ports_in_order(evidence.run["testbed"] if evidence.run else {})
    for trial in evidence.trials:
        result, ended = trial.trial.result, moment(trial.at)
        began = ended - timedelta(microseconds=result.wall_time_ns / 1000)
        if ended < begin - _CLOCKS_APART or began > end + _CLOCKS_APART:
            continue
        sent, received = _of_port(result, port, order)
        if began >= begin + _CLOCKS_APART and ended <= end - _CLOCKS_APART:
            told.sent += sent
            told.received += received
        if trial.fault or told.most_sent is None:
            told.most_sent = None
        else:
            told.most_sent += round(sent * (1 + _BESIDE_RATIO)) + _beside(result)
    return told


def _of_port(result: TrialResult, port: int, order: Sequence[str]) -> tuple[int, int]:
    """Return the frames that one of the tester's ports sent and received; `order` is the testbed file's."""
    sent = received = 0
    if result.spec.pattern is not None:
        counts = dict(result.auxiliary)
        told = [counts[name] for one in order if (name := f"{one}.sent_frames") in counts]
        own = result.streams[port] if port < len(result.streams) else None
        taken = own.received_frames + own.duplicate_frames + own.flooded_frames if own else 0
        return told[port] if port < len(told) else 0, taken
    for stream, sender in zip(result.streams, _SENDERS[result.spec.direction], strict=False):
        if sender == port:
            sent += stream.sent_frames
        else:
            received += stream.received_frames + stream.duplicate_frames
    return sent, received


def _beside(result: TrialResult) -> int:
    """Return the most frames that left beside a trial's own: learning, broadcasts, routing updates."""
    spec = result.spec
    others = sum(count for name, count in result.auxiliary if name.endswith(_BESIDE))
    return others + _LEARNING_FRAMES * max(1, spec.destination_networks) + spec.flows


def _grown(counter: Mapping[str, int]) -> int:
    return counter["after"] - counter["before"]


def _require_of(run: Mapping[str, Any], document: SignedDocument) -> None:
    """Raise ConfigError WIT-02 unless the counters are of this run."""
    for name in _OF_RUN:
        if document.predicate[name] != run[name]:
            raise ConfigError(
                "WIT-02",
                f"{COUNTERS_PART}: counters of another run",
                expected=f"{name} {run[name]}",
                found=document.predicate[name],
            )


def _signer(document: SignedDocument, trust: Trust, at: datetime, owner: str) -> str:
    """Return which witness or lab signed, valid and not the owner; empty where none. Raises SIG-02."""
    known = [
        known_key
        for known_key in trust.keyring.of_role(Role.WITNESS, Role.LAB)
        if known_key.organization != owner and not known_key.wrong_at(at)
    ]
    signed = document.sealed.signed_by([key.key for key in known])
    return ", ".join(f"{shown(one.organization)} ({one.role.value})" for one in known if one.key_id in signed)


def _impossible(where: str, expected: str, found: str) -> ConfigError:
    return ConfigError("WIT-01", f"{where}: counters of a switch", expected=expected, found=found)
