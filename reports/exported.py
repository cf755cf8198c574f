"""A run's answers for other programs: JSON's builtins, rows of CSV, and JUnit for what shows test results.

All are those of `bmwg.open_run`: no figure is computed here (docs/adr/0532).
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from dataclasses import asdict, fields
from typing import Any
from xml.etree import ElementTree

from bmwg.methodology.records import OutcomeType
from bmwg.reports.opened import Answer, OpenedRun

_SKIPPED = (OutcomeType.NOT_ASSESSED, OutcomeType.UNSTABLE)  # no answer, and nothing of the procedure broke
_NOT_XML = dict.fromkeys((*range(9), 11, 12, *range(14, 32), 65534, 65535), "�")


def as_data(run: OpenedRun) -> dict[str, Any]:
    """Return the document `answers` of docs/json.md as builtins."""
    return {
        "run_id": run.run_id,
        "status": run.status,
        "profile": run.profile,
        "testbed": run.testbed,
        "simulated": run.simulated,
        "indicative": run.indicative,
        "started_at": run.started_at,
        "answers": [
            asdict(answer) | {"remarks": list(answer.remarks), "trials": list(answer.trials)}
            for answer in run.answers
        ],
    }


def as_csv(run: OpenedRun) -> str:
    """Return a row an answer, with the run's id first; an absent figure is an empty field.

    Whether the run was simulated or indicative stands in each row: rows of several runs end in one table.
    """
    names = [field.name for field in fields(Answer)]
    stream = io.StringIO()
    rows = csv.writer(stream, lineterminator="\n")
    rows.writerow(["run_id", "simulated", "indicative", *names])
    head = [run.run_id, str(run.simulated).lower(), str(run.indicative).lower()]
    for answer in run.answers:
        told = asdict(answer) | {
            "remarks": "; ".join(answer.remarks),
            "trials": " ".join(map(str, answer.trials)),
        }
        rows.writerow([*head, *(told[name] for name in names)])
    return stream.getvalue()


def as_junit(run: OpenedRun) -> str:
    """Return a test case an answer, its figures among its properties.

    A figure never fails a case. What broke in the procedure is an error; an unstable answer and one that
    could not be tried are skipped, with the reason.
    """
    cases = [_case(run, answer) for answer in run.answers]
    counts = {
        "tests": str(len(cases)),
        "failures": "0",
        "errors": str(sum(case.find("error") is not None for case in cases)),
        "skipped": str(sum(case.find("skipped") is not None for case in cases)),
    }
    suite = ElementTree.Element("testsuite", {"name": f"bmwg {run.run_id}", **counts})
    if run.started_at:
        suite.set("timestamp", run.started_at)
    whole = {"profile": run.profile, "testbed": run.testbed, "status": run.status}
    whole |= {name: str(getattr(run, name)).lower() for name in ("simulated", "indicative")}
    suite.append(_properties(whole))
    suite.extend(cases)
    root = ElementTree.Element("testsuites", counts)
    root.append(suite)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=False) + "\n"


def _case(run: OpenedRun, answer: Answer) -> ElementTree.Element:
    name = _text(f"{answer.metric} {answer.cell_id}")
    case = ElementTree.Element("testcase", {"classname": _text(answer.test_id), "name": name, "time": "0"})
    case.append(_properties(dict(_figures(answer))))
    message = _text(f"{answer.type}: {answer.reason}".rstrip(": "))
    if answer.type == OutcomeType.INVALID:
        ElementTree.SubElement(case, "error", {"type": answer.type, "message": message})
    elif answer.type in _SKIPPED:
        ElementTree.SubElement(case, "skipped", {"message": message})
    return case


def _figures(answer: Answer) -> Iterator[tuple[str, str]]:
    yield "type", answer.type
    told = asdict(answer)
    for name in ("number", "unit", "low_fps", "high_fps"):
        if told[name] not in (None, ""):
            yield name, str(told[name])
    if answer.reason and answer.type not in (OutcomeType.INVALID, *_SKIPPED):  # whose elements say it
        yield "reason", answer.reason
    if answer.remarks:
        yield "remarks", "; ".join(answer.remarks)


def _properties(told: dict[str, str]) -> ElementTree.Element:
    group = ElementTree.Element("properties")
    for name, value in told.items():
        ElementTree.SubElement(group, "property", {"name": name, "value": _text(value)})
    return group


def _text(said: str) -> str:
    """Return text without characters that no XML document may hold."""
    return said.translate(_NOT_XML)
