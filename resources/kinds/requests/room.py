"""Requests as a share of a run: their profile, network options, machines and row, and the bench for them."""

from __future__ import annotations

import os
import secrets
from collections.abc import Collection, Hashable, Mapping, Sequence
from typing import Any

from bmwg.drivers import registry
from bmwg.drivers.testbed.row import PROXY, row_hosts
from bmwg.drivers.undo.locks import claims_here
from bmwg.methodology.errors import ConfigError
from bmwg.methodology.kinds.requests import profile as profiles
from bmwg.methodology.kinds.requests.kind import METRICS, NAME, cell_of, metric_of
from bmwg.methodology.kinds.requests.kind import REQUESTS as KIND
from bmwg.methodology.kinds.requests.profile import HttpProfile, Planned
from bmwg.methodology.plan import turns
from bmwg.methodology.plan.shards import Pieces, Work
from bmwg.methodology.trial.keep_awake import KeepAwake
from bmwg.reports.store import PlannedCell, Run, RunHeader
from bmwg.reports.store.run import CABLES
from bmwg.resources.kinds.requests.bench import HttpBench
from bmwg.resources.kinds.requests.testbed_part import KEY as NETWORKS
from bmwg.resources.kinds.requests.testbed_part import (
    PODS,
    networks_of_testbed,
    pods_of_testbed,
    row_of_testbed,
)
from bmwg.resources.kinds.requests.vms import KEY as VMS
from bmwg.resources.kinds.requests.vms import header_of as vms_kept
from bmwg.resources.kinds.requests.vms import vms_of_header, vms_of_testbed
from bmwg.resources.rooms import PlanAsked, Room, Share
from bmwg.resources.run.header import header_of
from bmwg.resources.run.open_run import OpenRun
from bmwg.resources.run.schedule import Schedule, ScheduledCell
from bmwg.resources.run.settings import Settings


class RequestsShare:
    """What HTTP experiments ask of a run. With a run that goes on, the profile and machines of its header.

    Raises ConfigError HPROF-01, and what `profile_of_header`, `vms_of_testbed` and `vms_of_header` raise.
    """

    traffic_s = 0.0  # how long requests take follows from the servers' speed

    def __init__(self, settings: Settings, selected: Collection[str], continued: Run | None) -> None:
        self._continued = continued
        self._networks: dict[str, Any] = {}
        self._pods: dict[str, Any] = {}
        self._seed = settings.order_seed if settings.order_seed is not None else secrets.randbelow(2**32)
        if continued is not None:
            self.profile, self._row = profile_of_header(continued), continued.testbed
            planned_before = {one.cell.cell_id for one in continued.plan}
            plan = [one for one in self.profile.plan() if one.key in planned_before]
            recorded = [one.cell.cell_id for one in continued.plan]
            self.plan = list(turns.in_recorded_order(plan, recorded))
            self.vms = vms_of_header(continued.testbed, settings)
        else:
            self._networks = networks_of_testbed(settings)
            self._pods = pods_of_testbed(settings)
            self.profile = profiles.load(settings.profile, forms=registry.forms()).with_networks(
                list(self._networks)
            )
            plan = [one for one in self.profile.plan() if one.test_id in selected]
            self.plan = list(turns.interleaved(plan, self._seed))
            self.vms = vms_of_testbed(settings, {one.cell.form for one in self.plan})
            self._row = row_of_testbed(settings)
        self.hosts = row_hosts(self._row)

    @property
    def header(self) -> RunHeader:
        """The header of a run of requests alone."""
        row = dict(self._row)
        vms = vms_kept(self.vms)
        return header_by(self.profile, self._networks, vms, row, self.plan, self._seed, pods=self._pods)

    @property
    def work(self) -> Work:
        """Its tests; how long they take is not known before."""
        tests: dict[str, dict[Hashable, float]] = {}
        for one in self.plan:
            tests.setdefault(one.test_id, {})[one.key] = 0.0
        return Work(tests={name: Pieces(own=own) for name, own in tests.items()})

    @property
    def words(self) -> str:
        """Profile and cells."""
        return f"HTTP experiments, profile {self.profile.name}, {len(self.plan)} cells"

    @property
    def claims(self) -> tuple[str, ...]:
        """Borrowed ports; without a lab all places share this machine's CPUs."""
        borrowed = [f"{host.ssh}/{port}" for host in self.hosts for port in host.ports]
        return claims_here(() if self.hosts else os.sched_getaffinity(0), borrowed)

    @property
    def awake(self) -> tuple[KeepAwake, Collection[int]]:
        """All CPUs of this machine."""
        return self.profile.keep_awake, os.sched_getaffinity(0)

    @property
    def elsewhere(self) -> str:
        """The hosts of a lab's row."""
        return f"a row of {len(self.hosts)} hosts" if self.hosts else ""

    @property
    def under_test(self) -> str:
        """The proxies' host."""
        return PROXY if self.hosts else ""

    def begin(self, run: OpenRun) -> HttpBench:
        """Make the bench; nodes and forms are made when the first cell needs them."""
        return HttpBench(
            run,
            profile=self.profile,
            plan=self.plan,
            vms=self.vms,
            hosts=self.hosts,
            continued=self._continued,
        )


class _Requests:
    """The kind as runs know it."""

    kind = NAME

    def tests(self, selected: Collection[str]) -> frozenset[str]:
        """Return those with ids of the HTTP experiments."""
        return frozenset(test_id for test_id in selected if test_id.startswith(profiles.TEST_IDS))

    def schedule(self, wanted: PlanAsked, tests: Collection[str]) -> Schedule:
        """Return the cells with requests and repetitions: their time is not known before."""
        networks = list(networks_of_testbed(Settings(testbed=wanted.testbed)))
        plan = profiles.load(wanted.profile, forms=registry.forms()).with_networks(networks).plan()
        mine = [planned for planned in plan if planned.test_id in tests]
        cells = (
            ScheduledCell(
                test_id=planned.test_id,
                metric=metric_of(planned.cell),
                cell_id=planned.cell.cell_id,
                words=f"{planned.requests} requests, {planned.repetitions} repetitions",
            )
            for planned in mine
        )
        how_long = "how long they take follows from the servers' speed"
        return Schedule(
            kind=NAME,
            profile=wanted.profile,
            cells=tuple(cells),
            left_out=tuple(sorted(set(tests) - {planned.test_id for planned in mine})),
            notes=(f"{len(mine)} cells of HTTP experiments; {how_long}.",),
        )

    def share(self, settings: Settings, selected: Collection[str], continued: Run | None) -> Share:
        """Return the share of requests."""
        return RequestsShare(settings, selected, continued)


def profile_of_header(run: Run) -> HttpProfile:
    """Return the profile that a run keeps. Raises ConfigError HPROF-02."""
    if wrong := KIND.wrong_profile(run.profile):
        raise ConfigError("HPROF-02", "run.json: profile", expected="one of its schema", found=wrong)
    return HttpProfile(name=run.profile["name"], data=run.profile)


def header_by(
    profile: HttpProfile,
    networks: Mapping[str, Any],
    vms: Mapping[str, Any],
    row: Mapping[str, Any],
    plan: Sequence[Planned] = (),
    order_seed: int | None = None,
    *,
    pods: Mapping[str, Any] | None = None,
) -> RunHeader:
    """Return the header of a run that begins now, with what `networks_of_testbed`, `vms.header_of`,
    `row_of_testbed` and `pods_of_testbed` return. `order_seed` is what the order of its plan was drawn from.
    """
    return header_of(
        testbed={
            **(row or {"name": "client - proxy - server", "nodes": ["client", "proxy", "server"]}),
            NETWORKS: networks,
            **({PODS: pods} if pods else {}),
            **({VMS: vms} if vms else {}),
        },
        profile=profile.data,
        plan=tuple(
            PlannedCell(test_id=one.test_id, metric=metric_of(one.cell), cell=cell_of(one.cell))
            for one in plan
        ),
        families=METRICS,
        medium_kind=CABLES if row else "veth",
        order_seed=order_seed,
    )


REQUESTS: Room = _Requests()
