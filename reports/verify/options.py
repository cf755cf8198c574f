"""Whether network options were what the testbed calls them, and whether what was not tried could not be.

The testbed says what an option is; the attachments of deployments say which interfaces came of it. A reason
why a cell has no answer may name a kind of interface that the kernel lacks; then the option needs that kind,
and no deployment of the run has it (docs/adr/0512).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bmwg.methodology.kinds import registry as kinds
from bmwg.methodology.plan.planning import deployment_of
from bmwg.methodology.record.seals import is_hidden
from bmwg.methodology.records import OutcomeType
from bmwg.reports.checker.evidence import Evidence, cells_of
from bmwg.reports.checker.findings import Rule, Shortfall, listed, rule, shown

_KINDS = {  # of the interface that a reference plugin gives a pod
    "bridge": "veth",
    "ptp": "veth",
    "macvlan": "macvlan",
    "ipvlan": "ipvlan",
    "vlan": "vlan",
}
_LACKS = re.compile(r"interfaces of kind ([a-z0-9_-]+) in the kernel\b")
_MADE_OF = {"bridge": ("bridge", "veth"), "ptp": ("veth",)}  # what its probe makes, where not of its name


@rule("VER-73", "", "attachments are what the testbed's network options are", exit_code=2)
def options_as_defined(evidence: Evidence) -> Iterator[Shortfall]:
    """Plugins of an attachment are the option's, and its interface is of the kind that the plugin makes."""
    if evidence.run is None or evidence.platform is None:
        return
    options = _options(evidence)
    for name, described in evidence.platform["deployments"].items():
        for found in _attachments(described):
            plugins = _plugins(found.get("conflist"))
            option = found.get("network")
            wanted = options.get(option) if isinstance(option, str) else None
            if wanted and plugins and plugins != wanted:
                yield f"{name}: plugins of {option}", ", ".join(wanted), ", ".join(plugins)
            interface = found.get("interface")
            kind = interface.get("kind") if isinstance(interface, Mapping) else None
            due = _KINDS.get((plugins or wanted or ("",))[0])
            if due is not None and isinstance(kind, str) and not is_hidden(kind) and kind != due:
                yield (
                    f"{name}: interface of {shown(str(option))}",
                    f"of kind {due}, as the plugin makes",
                    kind,
                )


@rule("VER-74", "", "a cell without answer lacked what its network option needs")
def reasons_fit(evidence: Evidence) -> Iterator[Shortfall]:
    """A reason that names a kind of interface names one of the cell's own option, and nothing had it."""
    if evidence.run is None or evidence.platform is None:
        return
    options = _options(evidence)
    made = {
        interface.get("kind")
        for described in evidence.platform["deployments"].values()
        for found in _attachments(described)
        if isinstance(interface := found.get("interface"), Mapping)
    }
    for outcome in evidence.outcomes:
        lacks = _LACKS.match(outcome.reason)
        if outcome.type is not OutcomeType.NOT_ASSESSED or lacks is None:
            continue
        kind, needed = lacks[1], options.get(outcome.cell.network)
        if needed and kind not in {one for plugin in needed for one in _MADE_OF.get(plugin, (plugin,))}:
            yield (
                f"{outcome.outcome_id}: reason",
                f"what option {outcome.cell.network} needs",
                f"interfaces of kind {kind}",
            )
        elif kind in made:
            yield f"{outcome.outcome_id}: reason", f"no interface of kind {kind} in the run", "a pod with one"


def questions(evidence: Evidence) -> Iterator[str]:
    """Name cells without a trial whose deployment stood for other cells of the run."""
    tried = {line.cell_id for line in evidence.lines}
    cells = cells_of(evidence)
    stood = {deployment_of(cells[cell_id]) for cell_id in tried if cell_id in cells}
    unstable = {one.cell.cell_id for one in evidence.outcomes if one.type is OutcomeType.UNSTABLE}
    found = [
        outcome.outcome_id
        for outcome in evidence.outcomes
        if outcome.type in (OutcomeType.NOT_ASSESSED, OutcomeType.INVALID)
        and not kinds.plans_itself(outcome.cell.kind)
        and outcome.cell.cell_id not in tried | unstable
        and deployment_of(outcome.cell) in stood
    ]
    if found:
        yield (
            f"untried: {listed([*map(shown, found)])} have no trial, and what they ask for "
            "stood for other cells of this run: why not for these?"
        )


def _options(evidence: Evidence) -> dict[str, tuple[str, ...]]:
    """Return the plugins of each network option of the run's testbeds that names them in words."""
    found: dict[str, tuple[str, ...]] = {}
    for load in evidence.loads:
        run = evidence.of_load(load).run
        networks = run["testbed"].get("networks") if run else None
        for name, option in networks.items() if isinstance(networks, Mapping) else ():
            plugins = _plugins(option.get("conflist")) if isinstance(option, Mapping) else ()
            if plugins:
                found[name] = plugins
    return found


def _plugins(conflist: Any) -> tuple[str, ...]:
    """Return the types of a list's plugins; none where one is hidden or missing."""
    plugins = conflist.get("plugins") if isinstance(conflist, Mapping) else None
    types = [entry.get("type") if isinstance(entry, Mapping) else None for entry in _entries(plugins)]
    plain = [one for one in types if isinstance(one, str) and not is_hidden(one)]
    return tuple(plain) if len(plain) == len(types) else ()


def _entries(found: Any) -> Sequence[Any]:
    return found if isinstance(found, list) else ()


def _attachments(node: Any) -> Iterator[Mapping[str, Any]]:
    """Give what a description tells of attachments, wherever they stand in it."""
    if isinstance(node, Mapping):
        if isinstance(node.get("conflist"), Mapping) and "interface" in node:
            yield node
        else:
            for value in node.values():
                yield from _attachments(value)
    elif isinstance(node, list):
        for value in node:
            yield from _attachments(value)


RULES: tuple[Rule[Evidence], ...] = (options_as_defined, reasons_fit)
