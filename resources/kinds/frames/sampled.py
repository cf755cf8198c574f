"""Testers of frames with samples of what disturbs a host beside the counts of each trial."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from bmwg.drivers.api.protocols import Deployment, TrafficDriver, Trials
from bmwg.drivers.paths.bed import Bed
from bmwg.drivers.platform_record import deployment as record_of
from bmwg.drivers.watch.data_plane import DataPlane
from bmwg.methodology.records import TRIAL_NUMBER, Cell, TrialResult, TrialSpec
from bmwg.resources.run.deployment_identity import Records
from bmwg.resources.run.machines import Machines
from bmwg.resources.run.platform import PlatformGuard


@contextmanager
def ready(
    guard: PlatformGuard,
    machines: Machines,
    bed: Bed,
    cell: Cell,
    deployment_id: str,
    deployment: Deployment,
    traffic: TrafficDriver,
    data_plane: DataPlane | None = None,
) -> Iterator[Trials]:
    """Watch a deployment on which traffic may begin; gives the tester with samples beside its counts.

    A deployment that is not what the first of its kind was makes its cells invalid. With `data_plane`
    each trial carries what its parts used.
    """
    if guard.simulated:
        yield traffic
        return

    def take() -> Records:
        return record_of.take(bed, cell, deployment, traffic.describe())

    with guard.watched(deployment_id, deployment.evidence, take):
        yield SampledTraffic(traffic, data_plane, machines)


class SampledTraffic:
    """A tester whose trials carry what the run's machines did meanwhile, beside the tester's own counts."""

    def __init__(
        self,
        traffic: Trials,
        data_plane: DataPlane | None = None,
        machines: Machines | None = None,
    ) -> None:
        """Wrap a tester that is attached; `data_plane` is read closest to its trials."""
        self._traffic = traffic
        self._data_plane = data_plane
        self._machines = machines or Machines()
        self._trials = 0

    def learn(self, spec: TrialSpec, /) -> None:
        """Learn as the tester does."""
        self._traffic.learn(spec)

    def run(self, spec: TrialSpec, /) -> TrialResult:
        """Run a trial and number it; sums over the machines' CPUs and interfaces are `host.*` counts.

        What the tester refused was no trial, and has no number. Nothing is asked of a host meanwhile.
        """
        first = self._machines.sample()
        before = self._data_plane.read() if self._data_plane else {}
        result = self._traffic.run(spec)
        self._trials += 1
        extra = self._data_plane.used(before) if self._data_plane else []
        extra += [(TRIAL_NUMBER, self._trials), *self._machines.counts(first).items()]
        return replace(result, auxiliary=tuple(sorted((*result.auxiliary, *extra))))
