"""From a profile and the network options of a testbed to an ordered list of cells, and how long they take.

A test case is metric x path; a cell adds function, network, frame size, direction, format and flows.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from bmwg.methodology import latency, throughput
from bmwg.methodology.mlr import engine
from bmwg.methodology.models.bench import ModelBench
from bmwg.methodology.models.device import HardLimit
from bmwg.methodology.profiles import PathPlan, Profile
from bmwg.methodology.profiles.profile import BISECTION, TST009
from bmwg.methodology.records import Cell

QUALIFICATION_MAX_FPS = 2_500_000  # choice: above what one lcore on a virtual port was ever seen to carry
_ASSUMED_SHARE = 0.7  # choice: of the highest load, what the device of an estimate carries
ASSUMED_MAX_FPS = 1_500_000  # choice: only for estimates before the tester was qualified

TEST_IDS = {  # stable: append, never renumber
    (throughput.METRIC, "wire"): "CN-TPUT-1.1",
    (throughput.METRIC, "node"): "CN-TPUT-1.2",
    (throughput.METRIC, "pvp"): "CN-TPUT-1.3",
    (throughput.METRIC, "p2p"): "CN-TPUT-1.4",
    (throughput.METRIC, "p2p-underlay"): "CN-TPUT-1.5",
    (throughput.METRIC, "p2p-vxlan"): "CN-TPUT-1.6",
    (latency.METRIC, "wire"): "CN-LAT-1.1",
    (latency.METRIC, "node"): "CN-LAT-1.2",
    (latency.METRIC, "pvp"): "CN-LAT-1.3",
    (latency.METRIC, "p2p"): "CN-LAT-1.4",
    (latency.METRIC, "p2p-underlay"): "CN-LAT-1.5",
    (latency.METRIC, "p2p-vxlan"): "CN-LAT-1.6",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedCell:
    """One cell to measure for one metric. `missing` says why it cannot be tried at all (`not_assessed`).

    `traffic_s` and `waits_s` are estimates in seconds, 0 when missing.
    """

    test_id: str
    metric: str
    cell: Cell
    traffic_s: float = 0.0
    waits_s: float = 0.0
    missing: str = ""

    @property
    def outcome_id(self) -> str:
        """Test id and cell id: unique within a run."""
        return f"{self.test_id}:{self.cell.cell_id}"

    @property
    def deployment(self) -> tuple[str, str, str, str]:
        """Path, hosting, function and network: cells that are equal in these can share one deployment."""
        return (self.cell.path, self.cell.hosting, self.cell.function, self.cell.network)


def cells(
    profile: Profile,
    networks: Mapping[str, int | None],
    frame_octets: Sequence[int] | None = None,
    *,
    max_load_fps: int = ASSUMED_MAX_FPS,
) -> tuple[PlannedCell, ...]:
    """Return what to measure, in order: ladder bottom up, each deployment's cells together, no cell twice.

    `networks` maps each option of the testbed file to its 802.1Q tag (None: untagged); one that the profile
    names and the file lacks is planned as missing. `frame_octets` keeps only these sizes. A latency cell
    follows the throughput cell at whose load it runs.
    """
    by_deployment: dict[tuple[str, ...], list[PlannedCell]] = {}
    seen: set[str] = set()
    for plan in profile.paths:
        for cell, missing in _path_cells(profile, plan, networks):
            if cell.cell_id in seen or (frame_octets is not None and cell.frame_octets not in frame_octets):
                continue
            seen.add(cell.cell_id)
            for planned in _metrics(profile, cell, missing, max_load_fps):
                by_deployment.setdefault(planned.deployment, []).append(planned)
    return tuple(planned for group in by_deployment.values() for planned in group)


def traffic_s(planned: Sequence[PlannedCell]) -> float:
    """Return the estimated seconds of traffic, repeats of trials that are not valid included."""
    return sum(cell.traffic_s for cell in planned)


def duration_s(planned: Sequence[PlannedCell]) -> float:
    """Return the estimated seconds of traffic and of the waits around each trial; deployments come on top."""
    return sum(cell.traffic_s + cell.waits_s for cell in planned)


def throughput_cost(profile: Profile, cell: Cell, max_load_fps: int) -> tuple[float, float]:
    """Return valid trials and seconds of traffic of one search, on a device that carries part of the load.

    The wire rung is always a bisection: it qualifies the tester.
    """
    if cell.path == "wire" or profile.search.algorithm == BISECTION:
        trials = float(throughput_trials(profile, max_load_fps))
        return trials, trials * profile.trial_duration_s
    if profile.search.algorithm == TST009:
        halvings = math.ceil(math.log2(1 + max_load_fps / profile.search.step_fps))
        trials = halvings * (1 + profile.search.max_trials) / 2  # half of the loads pass at once
        return trials, trials * profile.trial_duration_s
    limit = int(max_load_fps * _ASSUMED_SHARE)
    bench = ModelBench(device=HardLimit(limit_fps=limit), seed=0)
    found = engine.search(bench.measure, profile.controller_input(cell, max_load_fps=max_load_fps))
    return float(len(found.trials)), found.traffic_s


def throughput_trials(profile: Profile, max_load_fps: int) -> int:
    """Return how many valid trials a bisection takes that is not re-opened."""
    settings = profile.search
    low = min(settings.min_load_fps, max_load_fps)
    span = math.log(max_load_fps / low) if max_load_fps > low else 0.0
    halvings = max(0, math.ceil(math.log2(span / -math.log1p(-settings.relative_width)))) if span else 0
    return 1 + halvings + 2 * settings.verification_trials


def _path_cells(
    profile: Profile, plan: PathPlan, networks: Mapping[str, int | None]
) -> Iterator[tuple[Cell, str]]:
    names: Sequence[str] = plan.networks
    if plan.all_networks:
        names = tuple(networks)
    elif not plan.needs_network:
        names = ("none",)
    for name in names:
        absent = plan.needs_network and name not in networks
        missing = f"the testbed file has no network option {name!r}" if absent else ""
        for flows in profile.flows:
            for frame_format in profile.frame_formats:
                for direction in profile.directions:
                    for size in plan.frame_octets:
                        yield (
                            Cell(
                                path=plan.path,
                                hosting=plan.hosting,
                                function=plan.function,
                                network=name,
                                frame_octets=size,
                                direction=direction,
                                frame_format=frame_format,
                                flows=flows,
                                vlan_id=networks.get(name) if plan.needs_network else None,
                            ),
                            missing,
                        )


def _metrics(profile: Profile, cell: Cell, missing: str, max_load_fps: int) -> Iterator[PlannedCell]:
    trials, seconds = (0.0, 0.0) if missing else throughput_cost(profile, cell, max_load_fps)
    yield _planned(profile, throughput.METRIC, cell, missing, trials, seconds)
    if cell.frame_octets in profile.latency.frame_octets:
        yield _planned(profile, latency.METRIC, cell, missing, 1.0, profile.latency.duration_s)


def _planned(
    profile: Profile, metric: str, cell: Cell, missing: str, trials: float, seconds: float
) -> PlannedCell:
    policy = profile.policy
    repeated = 0.0 if missing else 1 / (1 - profile.expected_invalid_ratio)
    wait_s = policy.settle_s + policy.learning_wait_s + policy.drain_s + policy.restabilize_s
    if policy.learning is not policy.learning.TRIAL:
        wait_s -= policy.learning_wait_s
    return PlannedCell(
        test_id=TEST_IDS[metric, cell.path],
        metric=metric,
        cell=cell,
        traffic_s=repeated * seconds,
        waits_s=repeated * trials * wait_s,
        missing=missing,
    )
