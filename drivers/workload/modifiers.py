"""The modifiers of RFC 2544 section 11 that stand on the DUT, by name; each with counts that show it at work.

Broadcast frames (11.1) are the tester's alone. The tester also sends the management queries (11.2) and the
route updates (11.3); here is what answers and learns them. Ids: MOD-04 a modifier whose program is missing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import asdict, dataclass

from bmwg.drivers.actuators.place import Place
from bmwg.drivers.api.protocols import JsonValue, Missing, Node
from bmwg.drivers.network import ovs_switch
from bmwg.drivers.network.ovs_tools import CALL_DEADLINE_S
from bmwg.drivers.paths.addresses import OUTER, endpoint, host
from bmwg.drivers.paths.sides import every_side
from bmwg.drivers.workload import daemons, filters, flow_table, match_flows
from bmwg.methodology.benchmarks import first_frames, flow_changes, flow_scale, match_action
from bmwg.methodology.benchmarks.flow_changes import Coupling
from bmwg.methodology.benchmarks.match_action import MatchAction
from bmwg.methodology.errors import TestbedError
from bmwg.methodology.measurements.recovery import SWITCH_PROGRAMS
from bmwg.methodology.records import Cell, Direction, FrameFormat

MANAGEMENT, ROUTES = "management", "route-updates"
FILTERS = {"filters-1": 1, "filters-25": 25}  # rfc2544-11.4.1, rfc2544-11.4.2
_SNMPD = """\
rocommunity public 198.18.0.0/15
dontLogTCPWrappersConnects yes
"""
RIP_TIMERS_S = (30, 180, 120)  # rfc2453-3.8: update, time-out, garbage collection


@dataclass(frozen=True, slots=True, kw_only=True)
class Active:
    """A modifier that stands. `counts` show it at work: totals that grow during a trial, or with `standing`
    what there is after it. `prepare` is done right before each trial.
    """

    counts: Callable[[], dict[str, int]]
    prepare: Callable[[], None] = lambda: None
    standing: bool = False
    evidence: JsonValue = None


def modifiers(place: Place, asked: str = "") -> dict[str, Callable[[], AbstractContextManager[Active]]]:
    """Return the modifiers that this path can take: of a router where the kernel routes, of a table of flows.

    Flows have so many combinations that the one `asked` for is the one that is known.
    """
    coupling, matched = flow_changes.coupling(asked), flow_scale.matched(asked)
    expiring = flow_scale.expiring(asked)
    if place.cell.function in SWITCH_PROGRAMS and (flows := first_frames.flows_of(asked)):
        return {asked: lambda: _first_frames(place, flows)}
    if place.cell.function in SWITCH_PROGRAMS and (one := match_action.of_modifier(asked)):
        return {asked: lambda: _matching(place, one)}
    if place.cell.function in SWITCH_PROGRAMS and (coupling is not None or matched is not None):
        return {asked: lambda: _flows(place, coupling, matched)}
    if place.cell.function in SWITCH_PROGRAMS and expiring is not None:
        return {asked: lambda: _flows(place, None, expiring, flow_scale.TIMEOUT_S)}
    if place.cell.function != "kernel-l3":
        return {}
    known: dict[str, Callable[[], AbstractContextManager[Active]]] = {
        MANAGEMENT: lambda: _management(place),
        ROUTES: lambda: _routes(place),
    }
    for name, rules in FILTERS.items():
        known[name] = lambda rules=rules: _filtered(place, rules)  # type: ignore[misc]
    return known


def missing(node: Node, name: str) -> Missing | None:
    """Return what a node's machine lacks for a modifier."""
    return Missing.told(node.call(programs_missing, name=name))


def programs_missing(*, name: str) -> dict[str, str] | None:
    """Node function: what this machine lacks for a modifier, or None."""
    found = None
    if name in FILTERS:
        found = filters.missing()
    elif name == MANAGEMENT:
        found = daemons.missing("snmpd", "snmpd")
    elif name == ROUTES:
        found = daemons.missing("zebra", "frr") or daemons.missing("ripd", "frr")
    return asdict(found) if found else None


def configured(cell: Cell, name: str) -> dict[str, JsonValue]:
    """Return what a modifier configures on a router, line by line; empty where no router forwards.

    A trial with the modifier runs on what this says: the same words are handed to the router.
    """
    if cell.function != "kernel-l3":
        return {}
    if name in FILTERS:
        rule_set = filters.rule_set(_pairs(cell), FILTERS[name]).splitlines()
        return {"filters": FILTERS[name], "command": "nft -f -", "rule_set": rule_set}
    if name == MANAGEMENT:
        return {"snmpd.conf": _SNMPD.splitlines()}
    if name == ROUTES:
        return {"ripd.conf": _rip().splitlines(), "timers_s": list(RIP_TIMERS_S)}
    return {}


def _rip() -> str:
    timers = " ".join(map(str, RIP_TIMERS_S))
    return f"router rip\n version 2\n network 198.18.0.0/24\n timers basic {timers}\n"


def _pairs(cell: Cell) -> list[list[str]]:
    """Return source and destination address of the test frames, a pair for each direction."""
    ipv6 = cell.frame_format is FrameFormat.IPV6_UDP
    near, far = (host(segment.far_ipv6 if ipv6 else segment.far_ipv4) for segment in OUTER)
    if cell.direction is Direction.BOTH:
        return [[near, far], [far, near]]
    return [[far, near]] if cell.direction is Direction.REVERSE else [[near, far]]


def _require(place: Place, name: str) -> None:
    if lack := missing(place.node, name):
        raise TestbedError("MOD-04", f"modifier {name}", found=lack.reason, hint=lack.mend)


@contextmanager
def _filtered(place: Place, rules: int) -> Iterator[Active]:
    _require(place, "filters-1")
    entry = None if place.pod else place.bed.undo.before("filters", place.node.place)
    try:
        evidence = place.router(filters.install, pairs=_pairs(place.cell), rules=rules)
        yield Active(counts=lambda: place.router(filters.counts), evidence=evidence)
    finally:
        place.router(filters.remove)
        if entry is not None:  # a pod's rules go with the pod, whose undo stands in the ledger
            place.bed.undo.done(entry)


@contextmanager
def _running(
    place: Place,
    argv: list[str],
    files: dict[str, str],
    folder: str,
    environment: dict[str, str] | None = None,
    user: str = "root",
) -> Iterator[JsonValue]:
    started = place.router(
        daemons.start, argv=argv, files=files, folder=folder, environment=environment or {}, user=user
    )
    try:
        yield started
    finally:
        place.node.call(daemons.stop, pid=started["pid"], start_ticks=started["start_ticks"])


@contextmanager
def _management(place: Place) -> Iterator[Active]:
    _require(place, MANAGEMENT)
    folder = f"/run/bmwg-modifiers/{place.bed.next_id()}"  # the node's own /run: it goes with the node
    argv = ["/usr/sbin/snmpd", "-f", "-Lo", "-C", "-c", f"{folder}/snmpd.conf", "-p", f"{folder}/snmpd.pid"]
    argv += ["-I", "system_mib", "udp:161"]
    environment = {"SNMP_PERSISTENT_DIR": folder}
    with _running(place, argv, {"snmpd.conf": _SNMPD}, folder, environment) as started:
        yield Active(counts=dict, evidence=started)


@contextmanager
def _routes(place: Place) -> Iterator[Active]:
    _require(place, ROUTES)
    folder = f"/run/bmwg-modifiers/{place.bed.next_id()}"
    with ExitStack() as stack:
        started = []
        for name, text in (("zebra", ""), ("ripd", _rip())):
            argv = [
                f"{daemons.FRR_FOLDER}/{name}",
                "-f",
                f"{folder}/{name}.conf",
                "-i",
                f"{folder}/{name}.pid",
            ]
            argv += [
                "-z",
                f"{folder}/zserv.sock",
                "--vty_socket",
                folder,
                "-P",
                "0",
            ]
            started.append(
                stack.enter_context(_running(place, argv, {f"{name}.conf": text}, folder, user="frr"))
            )
        yield Active(
            counts=lambda: {"learnt_routes": place.router(daemons.learnt_routes)},
            standing=True,
            evidence=started,
        )


@contextmanager
def _first_frames(place: Place, flows: int) -> Iterator[Active]:
    with _flows(place, None, flows) as active:
        yield Active(
            counts=lambda: place.node.call_within(CALL_DEADLINE_S, flow_table.upcalls),
            prepare=lambda: place.node.call_within(CALL_DEADLINE_S, flow_table.purge),
            evidence=active.evidence,
        )


@contextmanager
def _matching(place: Place, one: MatchAction) -> Iterator[Active]:
    sides = every_side(place.bed)[:2]
    ways = [
        {
            "from": sender.nic,
            "to": receiver.nic,
            "sender_mac": sender.tester_mac,
            "receiver_mac": receiver.tester_mac,
            "sender_ip": host(endpoint(sender.number)[0]),
        }
        for sender, receiver in (sides, sides[::-1])
    ]
    (bridge,) = place.node.call_within(CALL_DEADLINE_S, ovs_switch.configure, words=["list-br"]).split()
    words = {"bridge": bridge, "match": one.match, "actions": one.actions}
    try:
        yield Active(
            evidence=place.node.call_within(CALL_DEADLINE_S, match_flows.install, ways=ways, **words),
            counts=lambda: place.node.call_within(CALL_DEADLINE_S, match_flows.counts, bridge=bridge),
        )
    finally:
        place.node.call_within(CALL_DEADLINE_S, match_flows.remove, bridge=bridge)


@contextmanager
def _flows(
    place: Place, coupling: Coupling | None, matched: int | None, timeout_s: int = 0
) -> Iterator[Active]:
    folder = f"/run/bmwg-modifiers/{place.bed.next_id()}"
    started = place.node.call_within(
        CALL_DEADLINE_S,
        flow_table.start,
        folder=folder,
        entries=coupling.entries if coupling else 0,
        changes_per_s=coupling.changes_per_s if coupling else 0,
        matched=matched or 0,
        timeout_s=timeout_s,
    )
    own = {name: started["program"][name] for name in ("pid", "start_ticks")}

    def read(name: str) -> dict[str, int]:
        told = place.node.call(flow_table.read, folder=folder, **own)
        assert told is not None  # they stand
        return {name: told[name]}

    def flows() -> dict[str, int]:
        read("flow_changes")  # the program goes on
        told = place.node.call_within(CALL_DEADLINE_S, flow_table.standing, matched=True)
        return {"matched_flows": told["flows"]}

    try:
        if coupling or timeout_s:
            grows = "flow_changes" if coupling else "expired_flows"
            yield Active(counts=lambda: read(grows), evidence=started)
        else:
            yield Active(counts=flows, standing=True, evidence=started)
    finally:  # the flows go with the program, and both with the switch
        place.node.call(daemons.stop, **own)
