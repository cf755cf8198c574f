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
from bmwg.methodology.record.facts import below
from bmwg.methodology.record.seals import is_hidden
from bmwg.reports.checker.evidence import Evidence
from bmwg.reports.checker.findings import Rule, Shortfall, listed, rule, shown
from bmwg.reports.checker.places import borrowed_ports, devices

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
_TESTER, _TESTER_HOST = "tester", "tester/host"  # places of records: the tester's node, and its machine


@rule("VER-72", "", "the records of a run are of one machine, started once", exit_code=2)
def one_machine(evidence: Evidence) -> Iterator[Shortfall]:
    """Kernel, CPUs and memory are the same before and after; nodes on the machine have its kernel.

    A break excuses nothing: a run goes on only where the machine is what it was (RES-04).
    """
    run, platform = evidence.run, evidence.platform
    if run is None or platform is None:
        return
    for change in _unseen(platform):
        if change.path.startswith(_OF_A_BOOT):
            yield f"platform.json: base: after: {change.path}", change.before, change.after
    yield from _of_one_kernel(run["testbed"], platform)


def _of_one_kernel(testbed: Mapping[str, Any], platform: Mapping[str, Any]) -> Iterator[Shortfall]:
    """Hold a node's record against its machine's: the first record, or that of the tester's machine."""
    release = _value(platform["base"]["before"], _RELEASE)
    tested = devices(testbed)
    for name, places in platform.get("records", {}).items():
        if not isinstance(places, Mapping):
            continue
        where = f"platform.json: records: {name}"
        its_own = release
        if tested and _TESTER in places:  # the device is on hosts, and the tester's machine is another one
            if _TESTER_HOST not in places:
                yield f"{where}: {_TESTER_HOST}", "the record of the tester's machine", "none"
            its_own = _value(places.get(_TESTER_HOST), _RELEASE)
        others = [(one, _value(places.get(f"{one}/host"), _RELEASE) or release) for one in sorted(tested)]
        for node, expected in ((_TESTER, its_own), *others):
            found = _value(places.get(node), _RELEASE)
            if None not in (found, expected) and found != expected:
                yield f"{where}: {node}: kernel/release", str(expected), str(found)


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
        yield (
            f"platform: {listed([*map(shown, found)])} differ between the first and the last "
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
    value = below(record, "fields", *path, "value")
    return value if isinstance(value, str) and not is_hidden(value) else None


RULES: tuple[Rule[Evidence], ...] = (one_machine,)
