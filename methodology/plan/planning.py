"""From a profile and the network options of a testbed to an ordered list of cells, and how long they take.

A test case (`suites.cases()`) is a measurement on one path or on all of its suite's; a cell adds function,
network, frame size, direction, format, flows and destination networks.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, product
from typing import Any

from bmwg.methodology import suites
from bmwg.methodology.benchmarks import imix
from bmwg.methodology.cells import axes, parallel
from bmwg.methodology.measurements.measurement import Cost, Measurement
from bmwg.methodology.measurements.registry import measurement
from bmwg.methodology.measurements.throughput import imix_genome
from bmwg.methodology.plan.plan_size import bounded
from bmwg.methodology.profiles import PathPlan, Profile
from bmwg.methodology.records import MIN_IPV6_OCTETS, NOTHING, POD, WIRE, Cell, FrameFormat
from bmwg.methodology.suites import DEFAULT_TESTS, Case
from bmwg.methodology.trial.medium import cell_fps, ethernet_fps

QUALIFICATION_MAX_FPS = 2_500_000  # choice: above what a device behind virtual ports was ever seen to carry
_LEAST_OCTETS = 64  # the least frame of Ethernet, FCS included
NO_OPTION = "this testbed has no network of that name"
ASSUMED_MAX_FPS = 1_500_000  # choice: only for estimates before the tester was qualified
# of the embedded testbed, measured (docs/adr/0548): before the first and after the last trial; each set-up
ENDS_S, DEPLOYMENT_S = 15.0, 6.0


def highest_fps(line_rate_bps: int | None) -> int:
    """Return the highest load of any qualification: what a medium with a rate carries of the least frames."""
    if line_rate_bps is None:
        return QUALIFICATION_MAX_FPS
    return max(QUALIFICATION_MAX_FPS, ethernet_fps(line_rate_bps, _LEAST_OCTETS))


def qualification_max_fps(cell: Cell, line_rate_bps: int | None, stated_fps: int | None = None) -> int:
    """Return the highest load of the tester's qualification: never above what the medium can carry.

    `stated_fps` is that of all frames, as the header of a finished run says.
    """
    highest = highest_fps(line_rate_bps) if stated_fps is None else stated_fps
    medium = cell_fps(line_rate_bps, cell)
    return highest if medium is None else min(highest, medium)


def order_seed_text(seed: int) -> str:
    """Say how the order of a plan of frames came about; other kinds say it of theirs (`Kind`)."""
    return (
        "within each test, hosting forms, functions and network options take turns in randomized blocks,"
        f" seed {seed}"
    )


class Networks(dict[str, int | None]):
    """The network options of a testbed with their 802.1Q tags (None: untagged).

    `networks: all` of a profile leaves out `named_only`: models that have suites of their own.
    """

    named_only: frozenset[str] = frozenset()

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> Networks:
        """Read `networks` of a testbed file, as data."""
        known = {name: option if isinstance(option, Mapping) else {} for name, option in options.items()}
        found = cls({name: option.get("vlan_id") for name, option in known.items()})
        found.named_only = frozenset(
            name for name, option in known.items() if option.get("model") in suites.MODELS
        )
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedAnswer:
    """One answer to find: a metric on a cell. `missing` says why it cannot be tried at all (`not_assessed`).

    `measurement` is the name of what finds it; `part` tells its answers apart where one measurement gives
    several. `traffic_s` and `waits_s` are estimates in seconds, 0 when missing and for every part but one.
    """

    test_id: str
    metric: str
    cell: Cell
    measurement: str
    part: str = ""
    traffic_s: float = 0.0
    waits_s: float = 0.0
    missing: str = ""

    @property
    def outcome_id(self) -> str:
        """Test id and cell id, and the part: unique within a run."""
        return f"{self.test_id}:{self.cell.cell_id}{':' if self.part else ''}{self.part}"

    @property
    def key(self) -> tuple[str, str]:
        """Metric and cell id: one answer, whoever asks for it."""
        return (self.metric, self.cell.cell_id)

    @property
    def deployment(self) -> tuple[object, ...]:
        """What must stand for it, by `deployment_of`."""
        return deployment_of(self.cell)

    @property
    def block(self) -> Cell:
        """What it is compared by: cells of one path that differ in form, function, network and axes alone.

        The 802.1Q tag is one of the network option. A repetition of a design is a block of its own, in which
        all combinations of its factors take turns, whatever they vary (docs/adr/0300).
        """
        if (repetition := axes.replicate(self.cell.axes)) is not None:
            return Cell(
                path=NOTHING,
                hosting=NOTHING,
                function=NOTHING,
                network=NOTHING,
                axes=((axes.REPLICATE, repetition),),
            )
        return replace(self.cell, hosting=NOTHING, function=NOTHING, network=NOTHING, vlan_id=None, axes=())


def deployment_of(cell: Cell) -> tuple[object, ...]:
    """Return path, hosting, function, network, axes: cells that are equal in these can share a deployment.

    Each cell of a design has one of its own, so that its answers are independent of each other.
    """
    if axes.replicate(cell.axes) is not None:
        return (cell.cell_id,)
    return (cell.path, cell.hosting, cell.function, cell.network, *cell.axes)


def cells(
    profile: Profile,
    networks: Mapping[str, int | None],
    frame_octets: Sequence[int] | None = None,
    *,
    test_ids: Collection[str] = DEFAULT_TESTS,
    max_load_fps: int = ASSUMED_MAX_FPS,
) -> tuple[PlannedAnswer, ...]:
    """Return what these tests measure: bottom up, each deployment's cells together, no answer twice.

    `networks` maps each option of the testbed file to its 802.1Q tag (None: untagged); one that the profile
    names and the file lacks is planned as missing. `frame_octets` keeps only these sizes. What runs at the
    throughput of a cell follows it. IPv6 frames have at least `MIN_IPV6_OCTETS`.
    """
    chosen = [case for case in suites.cases() if case.test_id in test_ids]
    by_deployment: dict[tuple[object, ...], list[PlannedAnswer]] = {}
    seen: set[tuple[str, str]] = set()
    for case, cell, missing in _asked(profile, networks, chosen):
        if frame_octets is not None and cell.frame_octets not in frame_octets:
            continue
        for planned in answers(profile, case.measurement, case.test_id, cell, missing, max_load_fps):
            if planned.key not in seen:
                seen.add(planned.key)
                by_deployment.setdefault(planned.deployment, []).append(planned)
    return tuple(planned for group in by_deployment.values() for planned in group)


def answers_of(
    profile: Profile,
    case: Case,
    networks: Mapping[str, int | None],
) -> tuple[PlannedAnswer, ...]:
    """Return every answer that one test asks for, also those that another test asks for too."""
    return tuple(
        planned
        for one, cell, missing in _asked(profile, networks, (case,))
        for planned in answers(profile, one.measurement, one.test_id, cell, missing)
    )


def answers(
    profile: Profile,
    name: str,
    test_id: str,
    cell: Cell,
    missing: str = "",
    max_load_fps: int | None = None,
) -> tuple[PlannedAnswer, ...]:
    """Plan one measurement of one cell: an entry for each metric; without a load nothing is estimated."""
    kind = measurement(name)
    base = kind.recorded_as(profile, cell)
    cost = Cost(trials=0.0, traffic_s=0.0)
    if not missing and max_load_fps is not None:
        cost = kind.cost(profile, cell, max_load_fps)
        if kind.needs_throughput:  # which is measured first, and whose goal may clash
            measurement("throughput").cost(profile, cell, max_load_fps)
    repeated = 1 / (1 - profile.expected_invalid_ratio)
    return tuple(
        PlannedAnswer(
            test_id=test_id,
            metric=metric,
            cell=cell,
            measurement=name,
            part=metric.removeprefix(base).lstrip(".") if number else "",
            traffic_s=0.0 if number else repeated * cost.traffic_s,
            waits_s=0.0 if number else cost.waits_s + repeated * cost.trials * _waits_s(profile),
            missing=missing,
        )
        for number, metric in enumerate(kind.metrics(profile, cell))
    )


def throughput_of(
    profile: Profile, cell: Cell, test_ids: Collection[str] = (), max_load_fps: int | None = None
) -> PlannedAnswer:
    """Return the answer that anything measured at the throughput of a cell stands on.

    Without a load (frames/s per port and direction) nothing is estimated.
    """
    test_id = suites.owner("throughput", cell.path, test_ids)
    assert test_id is not None
    return answers(profile, "throughput", test_id, cell, max_load_fps=max_load_fps)[0]


def askers(profile: Profile, metric: str, cell: Cell, among: Iterable[Case]) -> frozenset[str]:
    """Return every test of some cases that may ask for a metric on a cell, or record its trials under it.

    Of each test it asks what planning asks: its path, and what its measurement gives there by this profile.
    """
    return frozenset(
        case.test_id
        for case in among
        if case.path in ("", cell.path) and metric in _given(profile, cell, case.measurement)
    )


def _given(profile: Profile, cell: Cell, name: str) -> tuple[str, ...]:
    kind = measurement(name)
    return (*kind.metrics(profile, cell), kind.recorded_as(profile, cell))


def recorded_as(profile: Profile, planned: PlannedAnswer) -> str:
    """Return the metric under which the journal has the trials of an answer."""
    return _kind(planned).recorded_as(profile, planned.cell)


def _kind(planned: PlannedAnswer) -> Measurement:
    return measurement(planned.measurement)


def traffic_s(planned: Sequence[PlannedAnswer]) -> float:
    """Return the estimated seconds of traffic, repeats of trials that are not valid included."""
    return sum(cell.traffic_s for cell in planned)


def duration_s(planned: Sequence[PlannedAnswer]) -> float:
    """Return the estimated seconds of traffic and of the waits around each trial; deployments come on top."""
    return sum(cell.traffic_s + cell.waits_s for cell in planned)


def deployments(planned: Sequence[PlannedAnswer]) -> int:
    """Return how often another deployment is set up in this order: options that take turns change it."""
    tried = [answer.deployment for answer in planned if not answer.missing]
    return sum(before != after for before, after in pairwise([(), *tried]))


def _asked(
    profile: Profile, networks: Mapping[str, int | None], chosen: Iterable[Case]
) -> tuple[tuple[Case, Cell, str], ...]:
    """Return each test with each of its cells, cell by cell; it need not be installed.

    Raises ConfigError PRF-10 for too many.
    """
    return tuple(bounded(_each_asked(profile, networks, chosen)))


def _each_asked(
    profile: Profile, networks: Mapping[str, int | None], chosen: Iterable[Case]
) -> Iterator[tuple[Case, Cell, str]]:
    by_suite: dict[str, list[Case]] = {}
    for one in chosen:
        by_suite.setdefault(one.suite, []).append(one)
    for suite, cases in by_suite.items():
        for plan in _paths(profile, suite):
            for name, missing in _networks(plan, networks):
                for varied in bounded(axes.combinations(plan.axes)):
                    for size in plan.frame_octets:
                        for case in cases:
                            if case.path not in ("", plan.path) or (
                                case.imix and size != plan.frame_octets[0]
                            ):
                                continue
                            for cell in _cells(profile, plan, case, name, networks.get(name), size):
                                made = _varied(cell, varied)
                                if made and measurement(case.measurement).applies(profile, made):
                                    yield case, made, missing or _too_small(made)


def _too_small(cell: Cell) -> str:
    """Say which frames of a mix cannot be; empty where all can."""
    smallest, least = min(imix.parse(cell.imix).sequence) if cell.imix else 0, _least_octets(cell)
    if not cell.imix or smallest >= least:
        return ""
    return f"the mix {cell.imix} has frames of {smallest} octets, and IPv6 frames have {least} at least"


def _least_octets(cell: Cell) -> int:
    if cell.frame_format is not FrameFormat.IPV6_UDP:
        return _LEAST_OCTETS
    return MIN_IPV6_OCTETS + (4 if cell.vlan_id else 0)


def _varied(cell: Cell, varied: tuple[tuple[str, axes.Value], ...]) -> Cell | None:
    """Return a cell with its axes; chains beside each other have a destination network each, and no more."""
    chains_at_once = parallel.networks(varied)
    if chains_at_once == 1:
        return replace(cell, axes=varied)
    if cell.destination_networks != 1:
        return None
    return replace(cell, axes=varied, destination_networks=chains_at_once)


def _paths(profile: Profile, suite: str) -> tuple[PathPlan, ...]:
    """Return where a suite measures; the wire qualifies the tester, and is a benchmark of the ladder only."""
    if suite in profile.suite_paths:
        return profile.suite_paths[suite]
    if suite == suites.CONTAINERIZED:
        return profile.paths
    if suite in suites.NAMED:
        return ()  # their networks, and chains, are named by a profile or not measured
    return tuple(plan for plan in profile.paths if plan.path != WIRE)


def _networks(plan: PathPlan, networks: Mapping[str, int | None]) -> Iterator[tuple[str, str]]:
    names: Sequence[str] = plan.networks
    if plan.all_networks:
        left_out = networks.named_only if isinstance(networks, Networks) else frozenset()
        names = tuple(name for name in networks if name not in left_out)
    elif not plan.needs_network:
        names = (NOTHING,)
    for name in names:
        absent = plan.needs_network and name not in networks
        yield name, NO_OPTION if absent else ""


def _cells(
    profile: Profile, plan: PathPlan, case: Case, network: str, vlan_id: int | None, size: int
) -> Iterator[Cell]:
    genome = imix_genome(profile) if case.imix else ""
    if genome:
        size = max(imix.parse(genome).sequence)
    frames = product(
        case.destination_networks or profile.destination_networks,
        case.flows or profile.flows,
        case.frame_formats or profile.frame_formats,
    )
    for networks, flows, frame_format in frames:
        if networks == 1 or frame_format is not FrameFormat.ETHERNET:  # a bare frame has no network
            tag = vlan_id if plan.needs_network else None
            for direction in case.directions or profile.directions:
                cell = Cell(
                    path=plan.path,
                    hosting=plan.hosting,
                    function=case.function if case.function and plan.hosting == POD else plan.function,
                    network=network,
                    frame_octets=size,
                    direction=direction,
                    frame_format=frame_format,
                    flows=flows,
                    destination_networks=networks,
                    vlan_id=tag,
                    imix=genome,
                )
                yield cell if genome else replace(cell, frame_octets=max(size, _least_octets(cell)))


def _waits_s(profile: Profile) -> float:
    """Return the waits around one trial, seconds."""
    policy = profile.policy
    wait_s = policy.settle_s + policy.learning_wait_s + policy.drain_s + policy.restabilize_s
    if policy.learning is not policy.learning.TRIAL:
        wait_s -= policy.learning_wait_s
    return wait_s
