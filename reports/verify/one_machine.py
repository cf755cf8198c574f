"""Whether the records of a run are of one machine, and what changed that no look between cells saw.

The run names what changed while it measured (`drift`), and readers take its word. Here the first and the last
record are compared again: what no running machine can change refuses the run, anything else is asked about
(docs/adr/0511).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bmwg.methodology.errors import ToolkitError
from bmwg.methodology.record.drift import WATCHED_GROUPS, Change, drift
from bmwg.methodology.record.seals import is_hidden
from bmwg.reports.checker.evidence import Evidence
from bmwg.reports.checker.findings import Rule, Shortfall, rule, shown
from bmwg.reports.checker.places import borrowed_ports, device_is_here

_OF_A_BOOT = (  # what stays until a machine is started again
    "kernel/release",
    "kernel/version",
    "kernel/boot_parameters",
    "cpu/model",
    "cpu/vendor",
    "cpu/stepping",
    "cpu/present",
    "memory/total_octets",
    "isolation/isolcpus",
)
_RELEASE = ("kernel", "release")
_NAMED = 5


@rule("VER-72", "", "the records of a run are of one machine, started once", exit_code=2)
def one_machine(evidence: Evidence) -> Iterator[Shortfall]:
    """Kernel, CPUs and memory are the same before and after, and in the record of the tester's own node."""
    run, platform = evidence.run, evidence.platform
    if run is None or platform is None or run.get("interruptions"):
        return  # a machine may have been started again in a break, which is asked about
    for change in _unseen(platform):
        if change.path.startswith(_OF_A_BOOT):
            yield f"platform.json: base: after: {change.path}", change.before, change.after
    before = platform["base"]["before"]
    release = _value(before, _RELEASE)
    if release is None or not device_is_here(run["testbed"]):
        return
    for name, places in platform.get("records", {}).items():
        found = _value(places.get("tester"), _RELEASE) if isinstance(places, Mapping) else None
        if found is not None and found != release:
            yield f"platform.json: records: {name}: tester: kernel/release", release, found


def questions(evidence: Evidence) -> Iterator[str]:
    """Ask of what differs between the first and the last record, and no look between cells saw."""
    if evidence.platform is None or evidence.run is None or evidence.run["simulated"]:
        return
    lent = {f"nic/{port}" for port in borrowed_ports(evidence.run["testbed"])}
    found = [
        change.path
        for change in _unseen(evidence.platform)
        if not change.path.startswith(_OF_A_BOOT) and "/".join(change.path.split("/")[:2]) not in lent
    ]
    if found:
        more = f" and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
        yield (
            f"platform: {', '.join(map(shown, found[:_NAMED]))}{more} differ between the first and the last "
            "record, and no look between cells saw it: when did that change?"
        )


def _unseen(platform: Mapping[str, Any]) -> tuple[Change, ...]:
    """Return what changed of the groups that a run looks at between its cells, and that it does not name."""
    before, after = platform["base"]["before"], platform["base"]["after"]
    if before is None or after is None or "drift" not in platform:
        return ()  # without looks any change touches the whole run (`run_drift`)
    try:
        changes = drift(before, after)
    except ToolkitError:
        return ()
    seen = {change["path"].rpartition(": ")[2] for one in platform["drift"] for change in one["changes"]}
    return tuple(
        change
        for change in changes
        if change.path.split("/")[0] in WATCHED_GROUPS and change.path not in seen
    )


def _value(record: Any, path: tuple[str, str]) -> str | None:
    """Return a text of a record; None where it is not there, or hidden."""
    fields = record.get("fields") if isinstance(record, Mapping) else None
    group = fields.get(path[0]) if isinstance(fields, Mapping) else None
    fact = group.get(path[1]) if isinstance(group, Mapping) else None
    value = fact.get("value") if isinstance(fact, Mapping) else None
    return value if isinstance(value, str) and not is_hidden(value) else None


RULES: tuple[Rule[Evidence], ...] = (one_machine,)
