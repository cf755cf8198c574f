"""`bmwg compare --reproduce A B`: whether a second party's run measures what a first one did."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

from bmwg.methodology.errors import ConfigError
from bmwg.reports.bundle.archive import Archive
from bmwg.reports.checker.findings import shown
from bmwg.reports.compare.field_rules import Place, Role
from bmwg.reports.compare.fields import Difference, differences
from bmwg.reports.compare.reproduce import Agreement, Held, Stated
from bmwg.reports.compare.sides import Side
from bmwg.reports.store import Run, read_run
from bmwg.reports.submissions.reproduction import Candidate, candidate, held
from bmwg.reports.verify.certified import certified
from bmwg.reports.verify.verify import verify_folder

EXIT_CODES = {Agreement.AGREES: 0, Agreement.DIFFERS: 1, Agreement.CANNOT_TELL: 6}
_EVIDENCE = ("run.json", "platform.json", "trials.jsonl")
_SHOWN = 20  # choice: fields that may explain a difference; more are counted


@dataclass(frozen=True, slots=True, kw_only=True)
class _Read:
    """One side: its run, what is held of it, and whether somebody signed it."""

    run: Run
    candidate: Candidate
    signed: bool


def reproduced_lines(first: Path, second: Path) -> tuple[int, list[str]]:
    """Return the exit status and what is to be printed. Raises ConfigError CMP-08, CMP-09."""
    one, other = _read(first), _read(second)
    found = held(one.candidate, other.candidate)
    said = [f"{found.agreement.value}: {found.why}"]
    for name, read in (("first", one), ("second", other)):
        if not read.signed:
            said.append(f"{name}: nobody signed it, so it may be of the same party")
        said += [f"{name}: {shown(text)}" for text in read.candidate.not_whole]
    said += [_line(entry) for entry in found.held]
    if found.agreement is not Agreement.AGREES:
        said += _explanations(one.run, other.run)
    return EXIT_CODES[found.agreement], said


def _read(path: Path) -> _Read:
    """Verify and read a bundle or the folder of a run."""
    verified = verify_folder(path) if path.is_dir() else certified(path)
    if verified.findings or verified.evidence is None:
        raise ConfigError(
            "CMP-08",
            f"{path}: the run does not verify",
            expected="figures that follow from the recorded trials",
            found=f"{len(verified.findings)} findings: {verified.findings[0].rule_id}",
            hint=f"see all of them by `bmwg verify {path}`",
        )
    key_ids = verified.standing.key_ids if verified.standing else frozenset()
    return _Read(run=_run(path), candidate=candidate(verified.evidence, key_ids), signed=bool(key_ids))


def _run(path: Path) -> Run:
    if path.is_dir():
        return read_run(path)
    with tempfile.TemporaryDirectory(prefix="bmwg-compare-") as temporary, Archive(path) as archive:
        for name in _EVIDENCE:
            (Path(temporary) / name).write_bytes(archive.octets(name))
        return replace(read_run(Path(temporary)), folder=path)


def _line(entry: Held) -> str:
    ends = " and ".join(_ends(stated) for stated in (entry.first, entry.second))
    why = f" ({entry.why})" if entry.why and entry.first.ends and entry.second.ends else ""
    return f"  {entry.agreement.value}: {entry.metric} on {shown(entry.cell_id)}: {ends}{why}"


def _ends(one: Stated) -> str:
    if one.ends is None:
        return one.why or "no number"
    mark = f" [{one.mark}]" if one.mark else ""
    return f"{one.ends[0]:,.10g}..{one.ends[1]:,.10g} {one.unit}{mark}"  # 7 digits of frames/s are usual


def _explanations(first: Run, second: Run) -> list[str]:
    """Return the differences of the records that might explain it, those on the path of the traffic first."""
    sides = [Side(name="A", runs=(first,)), Side(name="B", runs=(second,))]
    found = [difference for difference in differences(sides) if difference.role is Role.CONFIGURATION]
    found.sort(key=lambda one: one.place is not Place.ON_PATH)
    if not found:
        return ["no field of the two records differs"]
    more = [f"  and {len(found) - _SHOWN} more"] if len(found) > _SHOWN else []
    return ["fields that differ and might explain it:", *(f"  {_told(one)}" for one in found[:_SHOWN]), *more]


def _told(one: Difference) -> str:
    a, b = (", ".join(one.values[name]) for name in ("A", "B"))
    return f"{shown(one.path)}: {shown(a)} | {shown(b)}"
