"""The test cases of all suites as data: id, what is measured, on which paths and with which traffic.

Ids are stable: append, never renumber. One answer (a metric on a cell) may be asked for by several tests; it
is measured once, under the first that asks. A distribution offers the cases of its own suites as a tuple
under the entry-point group `bmwg.cases`; ours come by the same door. Ids: CASE-01 what is offered is no such
tuple, CASE-02 one id twice.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any

from bmwg.methodology import offers
from bmwg.methodology.benchmarks import flow_scale, match_action
from bmwg.methodology.errors import TestbedError
from bmwg.methodology.records import Direction, FrameFormat
from bmwg.methodology.trial.trial_limits import MAX_NETWORKS

CONTAINERIZED, RFC2544 = "containerized", "rfc2544"
USER_SPACE, EBPF, SR_IOV, COMBINATION = "user-space", "ebpf", "sr-iov", "combination"
MODELS = (
    USER_SPACE,
    EBPF,
    SR_IOV,
    COMBINATION,
)  # networking models with suites of their own
CHAINS, CLUSTER_NETWORK, MACHINES = "chains", "cluster-network", "machines"
OVER_NODES = "chains-over-nodes"
FACTORS, PARALLEL, FUNCTIONS = "factors", "parallel", "functions"
RFC2889, RFC8204 = "rfc2889", "rfc8204"
NAMED = (
    *MODELS,
    CLUSTER_NETWORK,
    CHAINS,
    OVER_NODES,
    PARALLEL,
    FACTORS,
    FUNCTIONS,
    MACHINES,
    RFC2889,
    RFC8204,
)  # suites whose cells a profile names, or that measure none
_OURS = (CONTAINERIZED, *NAMED, RFC2544)
GROUP = "bmwg.cases"


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One test case; a Robot test with its id measures it.

    `measurement` is a name of `measurements.registry`. `path` narrows it to one path of its suite's plan.
    Directions, formats, flows and destination networks replace the profile's.
    With `imix` frames of several sizes take turns, as the profile's genome says, in place of its sizes.
    `function` is what forwards in place of the plan's function on paths through a pod: a restarted container
    interrupts nothing when the kernel forwards for it.
    """

    test_id: str
    suite: str
    measurement: str
    path: str = ""
    directions: tuple[Direction, ...] = ()
    frame_formats: tuple[FrameFormat, ...] = ()
    flows: tuple[int, ...] = ()
    destination_networks: tuple[int, ...] = ()
    imix: bool = False
    function: str = ""

    def as_builtins(self) -> dict[str, Any]:
        """Return the case for a run's header; what is as usual is left out."""
        return {key: value for key, value in asdict(self).items() if value}

    @classmethod
    def from_builtins(cls, data: Mapping[str, Any]) -> Case:
        """Read what `as_builtins` gave, checked against the schema of run.json."""
        kinds = {
            "directions": Direction,
            "frame_formats": FrameFormat,
            "flows": int,
            "destination_networks": int,
        }
        read: dict[str, Any] = {
            key: tuple(map(kinds[key], said)) if key in kinds else said for key, said in data.items()
        }
        return cls(**read)


_PATHS = ("wire", "node", "pvp", "p2p", "p2p-underlay", "p2p-vxlan", "vswitch-only")
_LADDER = (("CN-TPUT-1", "throughput"), ("CN-LAT-1", "latency"))
_MANY_FLOWS = 256  # choice: as many as RFC 2544 section 12 has destination networks


def _containerized() -> tuple[Case, ...]:
    return tuple(
        Case(test_id=f"{stem}.{number}", suite=CONTAINERIZED, measurement=measurement, path=path)
        for stem, measurement in _LADDER
        for number, path in enumerate(_PATHS, start=1)
    )


def _rfc2544(test_id: str, measurement: str, **traffic: Any) -> Case:
    return Case(test_id=test_id, suite=RFC2544, measurement=measurement, **traffic)


def _model(suite: str, number: int) -> tuple[Case, ...]:
    return (
        Case(test_id=f"CN-TPUT-{number}.1", suite=suite, measurement="throughput", path="pvp"),
        Case(test_id=f"CN-LAT-{number}.1", suite=suite, measurement="latency", path="pvp"),
    )


CONTAINERIZED_CASES = _containerized()
USER_SPACE_CASES, EBPF_CASES, SR_IOV_CASES = _model(USER_SPACE, 2), _model(EBPF, 3), _model(SR_IOV, 8)
CHAINS_CASES = (
    Case(test_id="CN-TPUT-5.1", suite=CHAINS, measurement="throughput", path="chain"),
    Case(test_id="CN-LAT-5.1", suite=CHAINS, measurement="latency", path="chain"),
)
OVER_NODES_CASES = (  # two nodes with a port of the tester each, which a testbed must have
    Case(test_id="CN-TPUT-12.1", suite=OVER_NODES, measurement="throughput", path="chain-underlay"),
    Case(test_id="CN-LAT-12.1", suite=OVER_NODES, measurement="latency", path="chain-underlay"),
)
PARALLEL_CASES = (  # more cells than the default folder has time for: a profile names them
    Case(test_id="CN-TPUT-11.1", suite=PARALLEL, measurement="throughput", path="parallel"),
    Case(test_id="CN-LAT-11.1", suite=PARALLEL, measurement="latency", path="parallel"),
)
# a chain of one pod is north-south alone, one of two has east-west in it; each direction is a cell of its own
COMBINATION_CASES = tuple(
    Case(
        test_id=f"{stem}-9.1",
        suite=COMBINATION,
        measurement=measurement,
        path="chain",
        directions=(Direction.FORWARD, Direction.REVERSE),
    )
    for stem, measurement in (("CN-TPUT", "throughput"), ("CN-LAT", "latency"))
)
MACHINES_CASES = (
    Case(test_id="CN-TPUT-6.1", suite=MACHINES, measurement="throughput", path="pvp-vm"),
    Case(test_id="CN-LAT-6.1", suite=MACHINES, measurement="latency", path="pvp-vm"),
    Case(test_id="CN-TPUT-6.2", suite=MACHINES, measurement="throughput", path="pvp-vm-vhost-user"),
    Case(test_id="CN-LAT-6.2", suite=MACHINES, measurement="latency", path="pvp-vm-vhost-user"),
)
CLUSTER_CASES = tuple(
    Case(test_id=f"{stem}-4.{number}", suite=CLUSTER_NETWORK, measurement=measurement, path=path)
    for stem, measurement in (("CN-TPUT", "throughput"), ("CN-LAT", "latency"))
    for number, path in enumerate(
        ("p2p-cluster", "p2p-service", "p2p", "p2p-nodeport", "p2p-loadbalancer"), start=1
    )
)
# Effects of factors on the throughput, by designs that a profile names; not in the default folder.
FACTORS_CASES = (Case(test_id="CN-TPUT-7.1", suite=FACTORS, measurement="throughput"),)
# Functions that filter or translate, which a profile names; not in the default folder.
FUNCTIONS_CASES = (
    Case(test_id="FN-TPUT-1.1", suite=FUNCTIONS, measurement="throughput"),
    Case(test_id="FN-LAT-1.1", suite=FUNCTIONS, measurement="latency"),
)
# Switches with more than two ports, which a profile names with their patterns; not in the default folder.
RFC2889_CASES = tuple(
    Case(test_id=test_id, suite=RFC2889, measurement=measurement, path="switch")
    for test_id, measurement in (
        ("R2889-TPUT-1.1", "throughput"),
        ("R2889-FR-1.1", "forwarding_rate"),
        ("R2889-CONG-1.1", "congestion_control"),
        ("R2889-CACHE-1.1", "caching_capacity"),
        ("R2889-LEARN-1.1", "learning_rate"),
        ("R2889-ILL-1.1", "illegal_frames"),
        ("R2889-LOSS-1.1", "frame_loss"),
        ("R2889-BURST-1.1", "burst_interval_16"),
        ("R2889-BURST-1.2", "burst_interval_64"),
        ("R2889-BURST-1.3", "burst_interval_256"),
        ("R2889-BCAST-1.1", "broadcast_latency"),
    )
)
# Tests of VSPERF that RFC 8204 arranges, on paths that a profile names; not in the default folder.
RFC8204_CASES = (
    Case(test_id="LTD-PROF-1.1", suite=RFC8204, measurement="load_profile"),
    Case(test_id="LTD-PROF-2.1", suite=RFC8204, measurement="load_profile_chain", path="chain"),
    Case(test_id="LTD-RECOV-1.1", suite=RFC8204, measurement="recovery_ltd"),
    Case(test_id="LTD-WN-1.1", suite=RFC8204, measurement="worst_of_n"),
    Case(test_id="LTD-BN-1.1", suite=RFC8204, measurement="best_of_n"),
    Case(test_id="LTD-SOAK-1.1", suite=RFC8204, measurement="soak_ltd"),
    Case(test_id="LTD-SOAK-2.1", suite=RFC8204, measurement="soak_ltd_modified"),
    *(
        Case(
            test_id=f"LTD-FLOWS-1.{number}",
            suite=RFC8204,
            measurement=measurement,
            path="switch",
            flows=flow_scale.FLOWS,
        )
        for number, measurement in enumerate(("flow_scale", "flow_expiry"), start=1)
    ),
    Case(
        test_id="LTD-FIRST-1.1",
        suite=RFC8204,
        measurement="first_frames",
        path="switch",
        flows=(64_000,),  # ltd-3.2.2.2.1
    ),
    *(
        Case(
            test_id=f"LTD-MATCH-1.{number}",
            suite=RFC8204,
            measurement=f"match_action_{code}",
            path="switch",
            flows=(_MANY_FLOWS,),
        )
        for number, code in enumerate(match_action.KNOWN, start=1)
    ),
    Case(test_id="LTD-RESET-1.1", suite=RFC8204, measurement="reset_vswitch_graceful", path="switch"),
    Case(test_id="LTD-RESET-1.2", suite=RFC8204, measurement="reset_vswitch_kill", path="switch"),
    Case(test_id="LTD-STRESS-1.1", suite=RFC8204, measurement="stress"),
    Case(test_id="LTD-MEMBW-1.1", suite=RFC8204, measurement="memory_bandwidth"),
    *(
        Case(
            test_id=f"LTD-CPDP-{first}.{second}",
            suite=RFC8204,
            measurement=f"flow_changes_{entries}_{rate}",
            path="switch",
        )
        for first, entries in enumerate((8, 1000, 100_000), start=1)
        for second, rate in enumerate((0, 1, 100, 10_000), start=1)
    ),
)
RFC2544_CASES = (
    _rfc2544("R2544-TPUT-1.1", "throughput_rfc2544"),
    _rfc2544("R2544-TPUT-1.2", "throughput_rfc2544", directions=(Direction.BOTH,)),
    _rfc2544("R2544-TPUT-1.3", "throughput_rfc2544", flows=(_MANY_FLOWS,)),
    _rfc2544("R2544-TPUT-1.4", "throughput_rfc2544", frame_formats=(FrameFormat.IPV6_UDP,)),
    _rfc2544("R2544-TPUT-1.5", "throughput_rfc2544", destination_networks=(MAX_NETWORKS,)),
    _rfc2544("R2544-TPUT-2.1", "tst009"),
    _rfc2544("R2544-TPUT-3.1", "mlrsearch"),
    _rfc2544("R2544-IMIX-1.1", "imix", imix=True),
    _rfc2544("R2544-IMIX-2.1", "imix_tst009", imix=True),
    _rfc2544("R2544-IMIX-3.1", "imix_mlrsearch", imix=True),
    _rfc2544("R2544-LAT-1.1", "latency"),
    _rfc2544("R2544-LAT-2.1", "tagged_latency"),
    _rfc2544("R2544-LAT-3.1", "latency_rfc8219"),
    _rfc2544("R2544-PDV-1.1", "delay_variation"),
    _rfc2544("R2544-IPDV-1.1", "ipdv"),
    _rfc2544("R2544-LOSS-1.1", "frame_loss"),
    _rfc2544("R2544-SOAK-1.1", "soak"),
    _rfc2544("R2544-B2B-1.1", "back_to_back"),
    _rfc2544("R2544-RECOV-1.1", "recovery"),
    _rfc2544("R2544-RESET-1.1", "reset_link"),
    _rfc2544("R2544-RESET-1.2", "reset_vswitch"),
    _rfc2544("R2544-RESET-1.3", "reset_container", function="testpmd"),
    _rfc2544("R2544-MOD-1.1", "modifier_broadcast"),
    _rfc2544("R2544-MOD-1.2", "modifier_management"),
    _rfc2544("R2544-MOD-1.3", "modifier_route_updates"),
    _rfc2544("R2544-MOD-1.4", "modifier_filters_1"),
    _rfc2544("R2544-MOD-1.5", "modifier_filters_25"),
    _rfc2544("R2544-MOD-1.6", "modifier_broadcast_bridged", function="testpmd"),
    _rfc2544("R2544-BURST-1.1", "burst_interval_16"),
    _rfc2544("R2544-BURST-1.2", "burst_interval_64"),
    _rfc2544("R2544-BURST-1.3", "burst_interval_256"),
    _rfc2544("R2544-BURST-1.4", "burst_interval_1024"),
)


@cache
def cases() -> tuple[Case, ...]:
    """Return the cases of all installed suites: ours first, then others by the name that offers them."""
    found: dict[str, Case] = {}
    for name in (*_OURS, *(name for name in offers.names(GROUP) if name not in _OURS)):
        offered = offers.load(GROUP, name, f"test cases {name!r}")
        if not isinstance(offered, tuple) or not all(isinstance(one, Case) for one in offered):
            raise TestbedError(
                "CASE-01", f"test cases {name!r}", expected="a tuple of Case", found=type(offered).__name__
            )
        for one in offered:
            if one.test_id in found:
                raise TestbedError(
                    "CASE-02",
                    f"test {one.test_id} of the test cases {name!r}",
                    expected="an id that no other suite has",
                    found=f"it is of suite {found[one.test_id].suite}",
                    hint="uninstall one of the distributions",
                )
            found[one.test_id] = one
    return tuple(found.values())


def suites() -> tuple[str, ...]:
    """Return the names of all installed suites, ours first."""
    return tuple(dict.fromkeys(one.suite for one in cases()))


def with_those(recorded: Iterable[Case]) -> tuple[Case, ...]:
    """Return the installed cases, and of those that a run recorded the ones that are not installed here."""
    known = {one.test_id for one in cases()}
    return (*cases(), *(one for one in recorded if one.test_id not in known))


def outside(test_ids: Collection[str]) -> tuple[Case, ...]:
    """Return the cases of these tests that do not come with the toolkit."""
    return tuple(one for one in cases() if one.test_id in test_ids and one.suite not in _OURS)


def case(test_id: str, among: Sequence[Case] | None = None) -> Case | None:
    """Return the case of a test id, among the installed ones unless others are given."""
    return next((one for one in among or cases() if one.test_id == test_id), None)


def owner(measurement: str, path: str, test_ids: Collection[str] = ()) -> str | None:
    """Return the test under which a measurement on a path is recorded: asked for, else the first there is.

    Only cases with the profile's own traffic own what nobody asked for.
    """
    able = [one for one in cases() if one.measurement == measurement and one.path in ("", path)]
    chosen = [one for one in able if one.test_id in test_ids and not _special(one)]
    chosen += [one for one in able if not _special(one)]
    return chosen[0].test_id if chosen else None


def _special(one: Case) -> bool:
    return bool(one.directions or one.frame_formats or one.flows or one.destination_networks or one.imix)


# What `testcases/containerized` measures.
_OF_THE_FOLDER = (
    *CONTAINERIZED_CASES,
    *USER_SPACE_CASES,
    *EBPF_CASES,
    *CLUSTER_CASES,
    *CHAINS_CASES,
)
DEFAULT_TESTS = frozenset(one.test_id for one in _OF_THE_FOLDER)
