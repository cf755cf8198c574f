"""Every field of a run, and which differ: what is under test, what confounds, what the run made up itself."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bmwg.methodology.record.drift import drift
from bmwg.methodology.record.facts import facts, state
from bmwg.reports.compare.field_rules import Place, Role, place_of, role_of, words_of
from bmwg.reports.compare.sides import Side
from bmwg.reports.store import Run, loads
from bmwg.reports.store.redact import redact

# choice, docs/adr/0090: how a network function is attached is what this toolkit compares
UNDER_TEST = ("testbed/networks", "deployment", "platform/cni")
UNWAIVABLE = ("simulated",)
ABSENT = "(not in the run)"
MADE = "made"  # of a deployment as a whole; its parts are compared where it was made
_UNKNOWN = "unknown"
_COUNTER = re.compile(r"-\d+$")  # of a deployment id: its turn in the run
_PASSING = (  # what the kernel, a plugin or the run itself invents each time; the rest of the text stays
    (re.compile(r"\bbmwg(-?)[0-9a-f]{6}-\d+(?![\w.])"), r"bmwg\1<run>-<turn>"),
    (re.compile(r"\bbmwg(-?)[0-9a-f]{6}(?![0-9a-f])"), r"bmwg\1<run>"),
    (re.compile(r"\b(?:veth[0-9a-f]{6,}|bmwg[0-9a-f]{8})\b"), "<interface>"),
    (re.compile(r"\b(net\d+)-[0-9a-f]{8}\b"), r"\1-<attachment>"),
    (re.compile(r"/proc/\d+/"), "/proc/<pid>/"),
    (re.compile(r"\bnapi/(\S+?)-\d+$"), r"napi/\1"),
)
_SHOWN = 160


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One field that is not the same in all runs. `values` by side; several where its own repeats differ.

    `role` and `place` follow from the declared rules; `reason` says why it is no configuration, or off the
    path.
    """

    path: str
    values: Mapping[str, tuple[str, ...]]
    under_test: bool
    waived: bool = False
    role: Role = Role.CONFIGURATION
    place: Place = Place.ON_PATH
    reason: str = ""


def differences(
    sides: Sequence[Side], *, under_test: Sequence[str] = UNDER_TEST, waived: Sequence[str] = ()
) -> tuple[Difference, ...]:
    """Return each field that differs between any two runs, by path, also what the runs made up. Pure.

    A deployment that a run has not is one difference, not one for each of its parts.
    """
    told = {side.name: [dict(fields(run)) for run in side.runs] for side in sides}
    paths = sorted({path for runs in told.values() for run in runs for path in run})
    set_up = words_of(run for runs in told.values() for run in runs)
    made = {path for path in paths if any(run.get(path) == MADE for runs in told.values() for run in runs)}
    found = []
    for path in paths:
        whole = max((one for one in made if path.startswith(f"{one}/")), key=len, default=None)
        values = {
            name: tuple(sorted({run.get(path, ABSENT) for run in runs if whole is None or whole in run}))
            for name, runs in told.items()
        }
        if len({text for texts in values.values() for text in texts}) > 1:
            values = {name: texts or (ABSENT,) for name, texts in values.items()}
            role, why = role_of(path)
            place, where = place_of(path, set_up)
            found.append(
                Difference(
                    path=path,
                    values=values,
                    under_test=_within(path, under_test),
                    waived=_within(path, waived) and path not in UNWAIVABLE,
                    role=role,
                    place=place,
                    reason=why or where,
                )
            )
    return tuple(found)


def unknown_everywhere(sides: Sequence[Side]) -> tuple[str, ...]:
    """Return the fields that no run knows: nothing shows that they are equal."""
    runs = [dict(fields(run)) for side in sides for run in side.runs]
    shared = set.intersection(*(set(run) for run in runs))
    nowhere = sorted(path for path in shared if all(run[path] == _UNKNOWN for run in runs))
    return tuple(path for path in nowhere if role_of(path)[0] is Role.CONFIGURATION)


def _within(path: str, names: Sequence[str]) -> bool:
    return any(path == name or path.startswith(name.rstrip("/") + "/") for name in names)


def fields(run: Run) -> Iterator[tuple[str, str]]:
    """Yield (path, value in words) of what a run was made on and with.

    A change of the platform during the run is a field of its own. Names that are new each time are replaced
    in the texts of deployments.
    """
    yield "simulated", json.dumps(run.simulated)
    yield "toolkit/version", run.toolkit_version
    yield "toolkit/commit", run.toolkit_commit or _UNKNOWN
    yield "toolkit/dirty", _UNKNOWN if run.toolkit_dirty is None else json.dumps(run.toolkit_dirty)
    yield "medium/kind", run.medium_kind
    yield "medium/line_rate_bps", json.dumps(run.line_rate_bps)
    yield from _leaves("testbed", run.testbed)
    yield from _leaves("profile", run.profile)
    for load, said in run.loads.items():  # the file's network options stand under `testbed` already
        own = {name: one for name, one in said["testbed"].items() if name != "networks"}
        for part in loads.SAID:
            yield from _leaves(f"{part}/{load}", own if part == "testbed" else said[part])
    alike: Counter[str] = Counter()
    in_any_order = sorted(run.drivers, key=lambda one: json.dumps(one, sort_keys=True))
    for number, driver in enumerate(in_any_order):
        name = str(driver.get("driver") or driver.get("name") or number)
        alike[name] += 1
        again = f"/{alike[name]}" if alike[name] > 1 else ""
        yield from _leaves(f"driver/{name}{again}", driver)
    yield from _record(run.platform_before)
    yield from _moved(run)
    turns: dict[str, int] = {}
    for deployment_id, evidence in run.deployments.items():
        name = _COUNTER.sub("", deployment_id)
        turns[name] = turns.get(name, 0) + 1
        again = f"/{turns[name]}" if turns[name] > 1 else ""
        yield f"deployment/{name}{again}", MADE
        yield from _leaves(f"deployment/{name}{again}", evidence)


def _record(record: Mapping[str, Any] | None) -> Iterator[tuple[str, str]]:
    if record is None:
        yield "platform", _UNKNOWN
        return
    if not isinstance(record.get("fields"), Mapping):
        yield from _leaves("platform", record)
        return
    for path, fact in facts(record["fields"]):
        match state(fact):
            case "value":
                yield from _leaves(f"platform/{path}", fact["value"])
            case "unknown":
                yield f"platform/{path}", _UNKNOWN
            case _:
                yield f"platform/{path}", "not applicable"


def _moved(run: Run) -> Iterator[tuple[str, str]]:
    before, after = run.platform_before, run.platform_after
    if before is None or after is None or "fields" not in before or "fields" not in after:
        return
    for change in drift(before, after):
        yield f"platform-moved/{change.path}", f"{change.before} -> {change.after}"


def _leaves(path: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        if not value:
            yield path, "{}"
        for key in sorted(value, key=str):
            yield from _leaves(f"{path}/{key}", value[key])
    elif isinstance(value, list) and any(isinstance(entry, (Mapping, list)) for entry in value):
        for number, entry in enumerate(value):
            yield from _leaves(f"{path}/{number}", entry)
    else:
        text = value if isinstance(value, str) else json.dumps(value, sort_keys=True)
        text = _lasting(text) if path.startswith("deployment/") else text
        yield path, text if len(text) <= _SHOWN else _cut(text)


def _cut(text: str) -> str:
    """Return the beginning of a long text and a digest of it all: two that differ look different."""
    return f"{text[:_SHOWN]}… (SHA-256 {hashlib.sha256(text.encode('utf-8', 'replace')).hexdigest()[:12]})"


def _lasting(text: str) -> str:
    """Return a text of a deployment without addresses and names that are new each time."""
    text = redact(text, "")
    for pattern, instead in _PASSING:
        text = pattern.sub(instead, text)
    return text
