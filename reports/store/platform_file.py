"""Writes platform.json: on what a run measures, from its beginning to its end, and bound to its trials."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from bmwg.methodology.errors import ToolkitBug
from bmwg.methodology.record.bound import escaped, sealed_form
from bmwg.methodology.record.redaction import host_name, telling
from bmwg.reports.store import binding
from bmwg.reports.store.checks import check_own
from bmwg.reports.store.codec import Json
from bmwg.reports.store.files import as_json, rows, utc_text, write_atomically
from bmwg.reports.store.read import PLATFORM_FILE, load_document

_KEY_OCTETS = 32  # choice: beyond guessing


class PlatformFile:
    """The platform file of a run that is open; each change is on the disk before the method returns.

    All methods raise TestbedError STORE-08 (disk) and ToolkitBug STORE-05 (a record that breaks our schema).
    """

    def __init__(self, folder: Path, data: Json, clock: Callable[[], datetime]) -> None:
        self._path = folder / PLATFORM_FILE
        self._data = data
        self._clock = clock
        self._bound: dict[tuple[str, int, int], Json] = {}
        self._names: tuple[str, ...] = ()

    @classmethod
    def create(cls, folder: Path, clock: Callable[[], datetime]) -> PlatformFile:
        """Begin the file of a new run."""
        data: Json = {
            "schema": "platform/1.0",
            "run_id": folder.name,
            "base": {"before": None, "after": None},
            "deployments": {},
            "seals": {"key": secrets.token_hex(_KEY_OCTETS), "places": []},
        }
        made = cls(folder, data, clock)
        made._write()
        return made

    @classmethod
    def read(cls, folder: Path, clock: Callable[[], datetime]) -> PlatformFile:
        """Take up the file of a run that was cut off. Raises ConfigError as `load_document` does."""
        return cls(folder, load_document(folder / PLATFORM_FILE, "platform"), clock)

    def hide(self, names: Sequence[str]) -> None:
        """Take note of what the testbed file and drivers name: from here on sentences hide it in public."""
        self._names = tuple(names)

    def set_base(
        self, *, before: Mapping[str, Any] | None = None, after: Mapping[str, Any] | None = None
    ) -> None:
        """Record the machine before or after the run; the record before it is never replaced."""
        for key, record in (("before", before), ("after", after)):
            if record is None:
                continue
            if key == "before" and self._data["base"][key] is not None:
                raise ToolkitBug("STORE-05", "platform: the record before the run stands already")
            self._data["base"][key] = as_json(record)
            self._seal({"base": {key: self._data["base"][key]}})
        self._write()

    def add_deployment(self, deployment_id: str, evidence: Mapping[str, Any]) -> None:
        """Record what a deployment was; its id must be new."""
        if deployment_id in self._data["deployments"]:
            raise ToolkitBug("STORE-05", f"deployment {deployment_id}: is in the run already")
        self._data["deployments"][deployment_id] = as_json(evidence)
        self._seal({"deployments": {deployment_id: self._data["deployments"][deployment_id]}})
        self._write()

    def note_doctor(self, suite: str, findings: Sequence[Mapping[str, Any]]) -> None:
        """Record what was found wrong with the platform before a suite."""
        entry = {"at": utc_text(self._clock()), "suite": suite, "findings": list(findings)}
        self._append("doctor", entry)

    def note_records(self, deployment_id: str, records: Mapping[str, Any]) -> None:
        """Record a deployment's platform, place by place. From the first call on the run is watched."""
        self._data.setdefault("drift", [])
        self._data.setdefault("records", {})[deployment_id] = as_json(records)
        self._seal({"records": {deployment_id: self._data["records"][deployment_id]}})
        self._write()

    def note_drift(
        self, deployment_id: str | None, outcomes: Sequence[str], changes: Sequence[Mapping[str, str]]
    ) -> None:
        """Record that the platform changed, and which outcomes that makes invalid."""
        entry = {
            "at": utc_text(self._clock()),
            "deployment": deployment_id,
            "outcomes": list(outcomes),
            "changes": list(changes),
        }
        self._append("drift", entry)

    @property
    def drift(self) -> dict[str, Any]:
        """The changes that stand, as `named_drift` reads them."""
        return {"drift": self._data.get("drift", [])}

    def _append(self, key: str, entry: Json) -> None:
        plain = as_json(entry)
        number = len(self._data.get(key, ()))
        self._data[key] = [*self._data.get(key, ()), plain]
        self._seal({key: {str(number): plain}})
        self._write()

    def bound(self, deployment_id: str) -> Json | None:
        """What a trial on a deployment is bound to; None in a run from before that was done."""
        if "seals" not in self._data:
            return None
        key = (deployment_id, len(self._data.get("doctor", ())), len(self._data.get("drift", ())))
        if key not in self._bound:
            self._bound = {key: binding.of_trial(sealed_form(self._part_of(deployment_id)), *key)}
        return self._bound[key]

    def _part_of(self, deployment_id: str) -> Json:
        """What a trial is bound to: the file grows with each deployment, this does not."""
        data = self._data
        named = {
            key: {deployment_id: data[key][deployment_id]}
            for key in ("deployments", "records")
            if deployment_id in data.get(key, {})
        }
        part: Json = {"deployments": {}, **named}
        part |= {key: data[key] for key in ("doctor", "drift") if key in data}
        part["base"] = {"before": data["base"]["before"]}
        there = tuple(
            f"/{key}/{escaped(name)}/"
            for key, names in (*named.items(), ("base", ["before"]))
            for name in names
        )
        places = [
            place for place in data["seals"]["places"] if place.startswith((*there, "/doctor/", "/drift/"))
        ]
        return {**part, "seals": {**data["seals"], "places": places}}

    def end(self, run: Json, journal_hash: str) -> str | None:
        """The last link of the chain: all of the file, after the last trial; None as for `bound`."""
        return binding.of_run(run, self._data, journal_hash) if "seals" in self._data else None

    def _seal(self, part: Json) -> None:
        """Seal the telling texts of a new part of the file."""
        if "seals" in self._data:
            self._data["seals"]["places"] += telling(part, host_name(self._data), self._names)

    def _write(self) -> None:
        check_own(self._data, "platform")
        write_atomically(self._path, rows(self._data))
