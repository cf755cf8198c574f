"""What a run declares to do otherwise than a clause asks: by its profile, and by `deviations.yaml`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bmwg.methodology.errors import ConfigError
from bmwg.methodology.kinds import registry as kinds
from bmwg.methodology.requirements.rows import catalogue
from bmwg.reports.checker.source import RunFiles
from bmwg.reports.store import loads
from bmwg.schemas.document import parse
from bmwg.schemas.validation import Problem, near_hint, problems

DEVIATIONS_FILE = "deviations.yaml"
SUBMISSION_FILE = "submission.yaml"
# What a benchmark is, not how it is taken: no declaration may change these.
DEFINING = frozenset(
    {
        "RFC2544-26.1-01",
        "RFC2544-26.1-08",
        "RFC2544-26.2-05",
        "RFC2544-26.3-01",
        "RFC2544-26.4-01",
        "RFC2544-26.5-03",
        "RFC2544-26.6-04",
        "RFC2544-14-02",
        "RFC8172-5-01",
        "RFC8204-6-01",
        "RFC9004-8-01",
        "CINF08-7-01",
        "RFC9971-4.7.2.1",
        "RFC9971-4.7.2.2",
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    """One declared deviation from a catalogue row, and who declared it."""

    requirement: str
    what: str
    why: str
    by: str


def declared(files: RunFiles, run: Mapping[str, Any] | None) -> tuple[Declared, ...]:
    """Return all declarations, the profile's first. Raises ConfigError DEV-01 (form), DEV-02 (forbidden)."""
    found: list[Declared] = []
    of_rows: list[Declared] = []
    for load in loads.of_run(run) if run else ():
        profile = loads.said_of(run, load)["profile"] if run else {}
        said = [
            Declared(
                requirement=str(entry.get("requirement", "")),
                what=str(entry.get("what", "")),
                why=str(entry.get("why", "")),
                by=f"profile {profile['name']}",
            )
            for entry in profile["deviations"]
        ]
        found += said
        of_rows += said if _cites_catalogue(load) else []
    if files.has(DEVIATIONS_FILE):
        data = yaml_document(files.octets(DEVIATIONS_FILE), "deviations", f"{files.where}: {DEVIATIONS_FILE}")
        said = [Declared(**entry) for entry in data["deviations"]]
        found += said
        of_rows += said
    for row in of_rows:
        _refuse(row)
    return tuple(found)


def _cites_catalogue(load: str) -> bool:
    """Whether profiles of a kind of load deviate from documents that have rows in the catalogue."""
    return load not in kinds.kinds() or kinds.kinds()[load].cites_catalogue


def yaml_document(data: bytes, schema: str, where: str) -> dict[str, Any]:
    """Return a YAML document that keeps to a schema. Raises ConfigError DEV-01 with every problem."""
    try:
        document = parse(data.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise ConfigError("DEV-01", where, expected="UTF-8", found=str(error)) from error
    found: list[Problem] = list(document.problems) or problems(document.data, schema)
    if found:
        lines = [f"line {document.line(problem.location)}: {problem}" for problem in found]
        raise ConfigError("DEV-01", where, expected=f"a {schema} file", found="; ".join(lines))
    made: dict[str, Any] = document.data
    return made


def _refuse(entry: Declared) -> None:
    if entry.requirement not in catalogue():
        raise ConfigError(
            "DEV-02",
            f"a deviation from {entry.requirement!r}",
            expected="the id of a catalogue row",
            found=entry.requirement,
            hint=near_hint(entry.requirement, catalogue()),
        )
    if entry.requirement in DEFINING:
        raise ConfigError(
            "DEV-02",
            f"a deviation from {entry.requirement}",
            expected="a row that says how something is measured",
            found="one that says what is measured",
            hint="a result of another definition needs a metric of its own",
        )
