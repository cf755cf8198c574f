"""What a person declares beside what was measured: firmware settings, switches, a cloud's memory modules."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from bmwg.methodology.errors import ConfigError
from bmwg.methodology.record.facts import EACH, declaration, declared, facts, is_fact, state
from bmwg.schemas.document import parse
from bmwg.schemas.validation import near_name, shown

_KEYS = ("schema", "declared_by", "facts")


def read_overlay(text: str, file: str) -> dict[str, Any]:
    """The declared facts of an overlay file by path.

    The file is YAML: `schema: overlay/1.0`, `declared_by: <who>`, `facts: {<path>: <value>}` with paths as
    `bmwg record` prints them. Every problem is named in one ConfigError REC-05.
    """
    document = parse(text)
    found = [str(problem) for problem in document.problems]
    data = document.data
    if not found and not isinstance(data, dict):
        found.append(f"(document): expected a mapping with {', '.join(_KEYS)}, found {shown(data)}")
    if not found:
        found = list(_problems(data))
    if found:
        raise ConfigError(
            "REC-05",
            f"overlay {file}: {len(found)} problem(s), nothing was applied\n  " + "\n  ".join(found),
            hint="`bmwg record` prints the path of every fact; the schema record/1.0 describes them",
        )
    return {"facts": data["facts"], "declared_by": data["declared_by"]}


def _problems(data: dict[str, Any]) -> list[str]:
    found = []
    for key in sorted(data.keys() - set(_KEYS)):
        found.append(f"{key}: unknown key, expected one of {', '.join(_KEYS)}{_near(key, _KEYS)}")
    if data.get("schema") != "overlay/1.0":
        found.append(f"schema: expected 'overlay/1.0', found {shown(data.get('schema'))}")
    if not isinstance(data.get("declared_by"), str) or not data["declared_by"].strip():
        found.append(f"declared_by: expected who declares it, found {shown(data.get('declared_by'))}")
    facts = data.get("facts")
    if not isinstance(facts, dict):
        return [*found, f"facts: expected a mapping of paths to values, found {shown(facts)}"]
    for path, value in facts.items():
        if declaration(path) is None or EACH in path:
            found.append(f"facts.{path}: no record has such a fact{_near(path, declared())}")
        elif value is None:
            found.append(f"facts.{path}: expected a value, found nothing")
    return found


def _near(name: str, known: Any) -> str:
    near = near_name(name, known)
    return f" (did you mean {near!r}?)" if near else ""


def apply_overlay(record: Mapping[str, Any], overlay: Mapping[str, Any], file: str) -> dict[str, Any]:
    """A copy of the record with the declared facts where nothing was measured.

    A declared value that equals the measured one leaves the measured one; one that differs is a ConfigError
    REC-06 that names every contradiction: which of the two is right is not ours to choose. REC-05 when a fact
    names an interface or device that the record does not have.
    """
    result: dict[str, Any] = copy.deepcopy(dict(record))
    contradictions = []
    for path, value in sorted(overlay["facts"].items()):
        *groups, name = path.split("/")
        tree = result["fields"]
        for step in groups:
            if not isinstance(tree.get(step), dict):
                raise ConfigError(
                    "REC-05",
                    f"overlay {file}: facts.{path}: this record has no {step!r}",
                    found=_near(step, tree),
                )
            tree = tree[step]
        entry = tree.get(name)
        if is_fact(entry) and state(entry) == "value":
            if entry["value"] != value:
                contradictions.append(
                    f"{path}: declared {shown(value)}, measured {shown(entry['value'])} "
                    f"({entry['how']['from']})"
                )
            continue
        how = {"kind": "declared", "from": f"{overlay['declared_by']}, {file}"}
        tree[name] = {"value": value, "how": how, "at": record["taken_at"]}
    if contradictions:
        raise ConfigError(
            "REC-06",
            f"overlay {file}: {len(contradictions)} declared fact(s) contradict what was measured\n  "
            + "\n  ".join(contradictions),
            hint="correct the overlay, or find out why the machine says otherwise",
        )
    return result


def declared_facts(record: Mapping[str, Any]) -> dict[str, Any]:
    """The overlay that a record was completed with, so that a later record can be completed alike."""
    found = {
        path: fact
        for path, fact in facts(record["fields"])
        if fact["how"]["kind"] == "declared" and "value" in fact
    }
    who, _, file = next((fact["how"]["from"] for fact in found.values()), "").rpartition(", ")
    return {"facts": {path: fact["value"] for path, fact in found.items()}, "declared_by": who, "file": file}
