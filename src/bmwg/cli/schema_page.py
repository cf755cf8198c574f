"""Tables of the keys of a JSON Schema, for the pages of docs/ that `bmwg sync` computes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bmwg.schemas import load

_TYPES = {
    "string": "text",
    "integer": "whole number",
    "number": "number",
    "boolean": "true or false",
    "array": "list",
    "object": "mapping",
    "null": "null",
}
_HEAD = ("| key | value | needed | meaning |", "|---|---|---|---|")
_FOREIGN = {  # profiles of the other kinds of load: their schema and whose profiles they are
    "http_profile": "Requests (`testcases/http_proxy`)",
    "streams_profile": "Streams (`testcases/pod_to_pod`, `testcases/sockets`)",
    "acts_profile": "Acts (`testcases/lifecycle`)",
    "jobs_profile": "Jobs (`testcases/hosts`)",
}


def profile_keys_page() -> str:
    """Return docs/profile-keys.md."""
    lines = [
        "# Keys of a profile",
        "",
        "A profile says what is measured and by which numbers. `--profile` takes a name",
        "(`bmwg list profiles`) or a file that ends with `.yaml`. [profiles.md](profiles.md) says how to",
        "write your own. `[]` stands for each entry of a list, `<name>` for each key of a mapping.",
        "",
        "## Frames",
        "",
        *table(load("profile")),
    ]
    for name, title in _FOREIGN.items():
        lines += ["", f"## {title}", "", *table(load(name))]
    return "\n".join(lines) + "\n"


def output_page() -> str:
    """Return docs/json.md."""
    schema = load("output")
    lines = [
        "# What verbs print with `--json`",
        "",
        "One document a call on standard output; `schema` names its form. Errors stay on standard error, and",
        "the exit status is the same as without ([errors.md](errors.md)). The forms are also in",
        "`schemas/output.schema.json`, against which tests hold what is printed. `[]` stands for each entry",
        "of a list, `<name>` for each key of a mapping.",
    ]
    for one in schema["oneOf"]:
        name = one["$ref"].rpartition("/")[2]
        form = schema["$defs"][name]
        described = form["description"]
        lines += ["", f"## {name}", "", f"{described[:1].upper()}{described[1:]}.", "", *table(form, schema)]
    return "\n".join(lines) + "\n"


def table(schema: Mapping[str, Any], root: Mapping[str, Any] | None = None) -> list[str]:
    """Return a row for each key below an object, as lines of Markdown; `root` holds its definitions."""
    rows = _rows(schema, root or schema, "")
    return [*_HEAD, *(f"| {' | '.join(_escaped(cell) for cell in row)} |" for row in rows)]


def undescribed(schema: Mapping[str, Any], root: Mapping[str, Any] | None = None) -> list[str]:
    """Return the keys that have no meaning of their own in the schema."""
    return [row[0].strip("`") for row in _rows(schema, root or schema, "") if not row[3]]


def _rows(schema: Mapping[str, Any], root: Mapping[str, Any], above: str) -> Iterator[tuple[str, ...]]:
    for key, said in schema.get("properties", {}).items():
        told = _whole(said, root)
        needed = "yes" if key in schema.get("required", ()) else ""
        path = f"{above}{key}"
        yield f"`{path}`", _value(told, root), needed, str(told.get("description", ""))
        yield from _below(told, root, path)


def _below(told: Mapping[str, Any], root: Mapping[str, Any], path: str) -> Iterator[tuple[str, ...]]:
    items = _whole(told.get("items", {}), root)
    others = told.get("additionalProperties")
    yield from _rows(told, root, f"{path}.")
    if "properties" in items:
        yield from _rows(items, root, f"{path}[].")
    if isinstance(others, Mapping):
        named = _whole(others, root)
        yield from _rows(named, root, f"{path}.<name>.")


def _whole(said: Mapping[str, Any], root: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what a schema says with what it refers to; its own words win."""
    if "$ref" not in said:
        return said
    target = root["$defs"][said["$ref"].rpartition("/")[2]]
    return {**_whole(target, root), **{key: value for key, value in said.items() if key != "$ref"}}


def _value(told: Mapping[str, Any], root: Mapping[str, Any]) -> str:
    if "const" in told:
        return f"`{told['const']}`"
    if "enum" in told:
        return ", ".join(f"`{one}`" for one in told["enum"])
    if "anyOf" in told:
        return " or ".join(_value(_whole(one, root), root) for one in told["anyOf"])
    kinds = told.get("type", "mapping")
    words = " or ".join(_TYPES.get(kind, kind) for kind in ([kinds] if isinstance(kinds, str) else kinds))
    if items := told.get("items"):
        each = _whole(items, root)
        if "properties" not in each:
            return f"list of: {_value(each, root)}"
    return f"{words}{_limits(told)}"


def _limits(told: Mapping[str, Any]) -> str:
    said = []
    if "minimum" in told and "maximum" in told:
        return f", {told['minimum']} to {told['maximum']}"
    for name, words in (
        ("minimum", "at least"),
        ("exclusiveMinimum", "above"),
        ("maximum", "at most"),
        ("exclusiveMaximum", "below"),
    ):
        if name in told:
            said.append(f"{words} {told[name]}")
    return f", {', '.join(said)}" if said else ""


def _escaped(cell: str) -> str:
    return " ".join(cell.split()).replace("|", "\\|").replace("<", "&lt;") if "`" not in cell else cell
