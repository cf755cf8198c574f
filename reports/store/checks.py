"""Checks of the run files: against their schemas, and, by name, against versions we cannot read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import fastjsonschema

from bmwg.methodology.errors import ConfigError, ToolkitBug
from bmwg.methodology.kinds import registry as kinds
from bmwg.reports.store import loads
from bmwg.reports.store.files import opened
from bmwg.schemas import load
from bmwg.schemas.formats import READABLE, is_format, unreadable
from bmwg.schemas.validation import problems, problems_of

_SHOWN_PROBLEMS = 10
_SHOWN_CHARACTERS = 80


def check_version(data: Any, kind: str, where: str, first: str | None = None) -> None:
    """Raise ConfigError STORE-03 unless `data` names a version of format `kind` that we read.

    `first` is the format of a journal's first line; another one on a later line is ConfigError STORE-10.
    """
    found = data.get("schema") if isinstance(data, dict) else None
    if first is not None and found != first and is_format(found):
        raise ConfigError(
            "STORE-10",
            f"{where}: the journal mixes formats",
            expected=f"{first}, the format of its first line",
            found=_named(found),
            hint="lines of two runs or of two toolkits make no journal: take the original",
        )
    if found not in READABLE[kind]:
        what, mend = unreadable(found, kind)
        raise ConfigError(
            "STORE-03",
            f"{where}: {what}",
            expected=" or ".join(READABLE[kind]),
            found=_named(found),
            hint=mend,
        )


def check_kind_of_load(run: Mapping[str, Any], where: str) -> None:
    """Raise ConfigError STORE-03 when a run's profile is of a kind or version that we do not read.

    A profile without a format is of frames. Each further kind of load has its own.
    """
    if "schema" in run["profile"]:
        _check_profile(run["profile"], f"{where}: profile")
    for name, said in run.get(loads.KEY, {}).items():
        _check_profile(said["profile"], f"{where}: loads: {name}: profile")
        kinds.kind(name, f"{where}: loads")


def _check_profile(profile: Mapping[str, Any], where: str) -> None:
    if profile.get("schema") not in [kind.profile_format for kind in kinds.kinds().values()]:
        check_version(profile, "profile", where)


def _named(found: object) -> str:
    return repr(found)[:_SHOWN_CHARACTERS]


def check_document(data: Any, kind: str, where: str) -> None:
    """Raise ConfigError STORE-04, listing the problems, unless `data` keeps to schema `kind`."""
    if found := _found(data, kind):
        raise _mismatch(where, found)


def check_body(data: Any, kind: str, where: str) -> None:
    """Raise ConfigError STORE-04 unless `spec` and `result` keep to the schema of their kind of load.

    A kind that nothing registers is STORE-03.
    """
    if found := _found_of_kind(data, kind, where):
        raise _mismatch(where, found)


def check_own(data: Any, kind: str) -> None:
    """Raise ToolkitBug STORE-05, nothing written, when what we are about to write breaks our own schema."""
    if found := _found(data, kind):
        raise _broken_own(kind, found)


def check_own_body(data: Any, kind: str) -> None:
    """Raise ToolkitBug STORE-05, nothing written, for a trial that breaks the schema of its kind of load."""
    if found := _found_of_kind(data, kind, "trial"):
        raise _broken_own(kind, found)


def _broken_own(kind: str, found: list[str]) -> ToolkitBug:
    return ToolkitBug(
        "STORE-05",
        f"{kind}: refused to write a document that breaks its schema",
        found="; ".join(found[:_SHOWN_PROBLEMS]),
    )


def _found(data: Any, kind: str) -> list[str]:
    """Ask the compiled validator, which is fast; only of a document that it refuses, say what is wrong."""
    try:
        _compiled(kind)(data)
    except fastjsonschema.JsonSchemaValueException as error:
        return [str(problem) for problem in problems(data, kind)] or [str(error.message)]
    return []


def _found_of_kind(data: Any, kind: str, where: str) -> list[str]:
    schema = kinds.body_schema(kind, where)
    try:
        _compiled_body(kind)(data)
    except fastjsonschema.JsonSchemaValueException as error:
        return [str(problem) for problem in problems_of(data, schema)] or [str(error.message)]
    return []


def _mismatch(where: str, texts: list[str]) -> ConfigError:
    more = f"; and {len(texts) - _SHOWN_PROBLEMS} more" if len(texts) > _SHOWN_PROBLEMS else ""
    return ConfigError(
        "STORE-04",
        f"{where}: does not keep to its schema",
        found="; ".join(texts[:_SHOWN_PROBLEMS]) + more,
        hint="the file was changed after the run, or by hand: take the original",
    )


@cache
def _compiled(kind: str) -> Callable[[Any], Any]:
    return _compile(load(kind))


@cache
def _compiled_body(kind: str) -> Callable[[Any], Any]:
    return _compile(dict(kinds.body_schema(kind, "a trial")))


def _compile(schema: dict[str, Any]) -> Callable[[Any], Any]:
    validator: Callable[[Any], Any] = fastjsonschema.compile(schema, use_default=False)
    return validator


def read_bytes(path: Path) -> bytes:
    """Return a file's bytes. Raises ConfigError STORE-02 when it cannot be read."""
    try:
        with opened(path) as file:
            return file.read()
    except OSError as error:
        raise ConfigError(
            "STORE-02",
            f"{path}: cannot be read",
            expected="a run folder with run.json, trials.jsonl and platform.json",
            found=error.strerror or str(error),
            hint="name the folder below the results folder whose name is the run id",
        ) from error
