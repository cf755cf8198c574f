"""Requests as a share of a run: their profile, network options, machines and row, and the bench for them."""

from __future__ import annotations

import os
from collections.abc import Collection, Hashable, Mapping, Sequence
from typing import Any

from bmwg.drivers import registry
from bmwg.drivers.testbed.row import PROXY, row_hosts
from bmwg.drivers.undo.locks import claims_here
from bmwg.methodology.kinds.repeated.profile import Planned, Profile
from bmwg.methodology.kinds.requests import profile as profiles
from bmwg.methodology.kinds.requests.kind import REQUESTS as KIND
from bmwg.methodology.kinds.requests.phase_search import goal
from bmwg.methodology.kinds.requests.records import RequestsResult, RequestsSpec, Workload
from bmwg.methodology.plan import turns
from bmwg.methodology.plan.shards import Pieces, Work
from bmwg.methodology.profiles.narrowed import nothing_left
from bmwg.methodology.trial.keep_awake import KeepAwake
from bmwg.reports.store import PlannedCell, Run, RunHeader
from bmwg.reports.store.run import CABLES
from bmwg.resources.kinds.repeated.room import RepeatedRoom
from bmwg.resources.kinds.requests.bench import RequestsBench
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
from bmwg.resources.rooms import PlanAsked, Room
from bmwg.resources.run.header import header_of
from bmwg.resources.run.open_run import OpenRun
from bmwg.resources.run.settings import Settings


class RequestsShare:
    """What HTTP experiments ask of a run. With a run that goes on, the profile and machines of its header.

    Raises ConfigError HPROF-01, HPROF-02, and what `vms_of_testbed` and `vms_of_header` raise.
    """

    traffic_s = 0.0  # how long requests take follows from the servers' speed

    def __init__(self, settings: Settings, selected: Collection[str], continued: Run | None) -> None:
        self._continued = continued
        self._networks: dict[str, Any] = {}
        self._pods: dict[str, Any] = {}
        self._seed = settings.seed()
        if continued is not None:
            self.profile, self._row = KIND.profiles.of_header(continued.profile), continued.testbed
            planned_before = {cell.cell.cell_id for cell in continued.plan}
            plan = [planned for planned in self.profile.plan() if planned.key in planned_before]
            recorded = [planned_cell.cell.cell_id for planned_cell in continued.plan]
            self.plan = list(turns.in_recorded_order(plan, recorded))
            self.vms = vms_of_header(continued.testbed, settings)
        else:
            self._networks = networks_of_testbed(settings)
            self._pods = pods_of_testbed(settings)
            written = profiles.load(settings.profile, forms=registry.forms())
            profiles.require_functions(written, registry.names(registry.PROXY), settings.profile)
            self.profile = profiles.with_networks(written, list(self._networks))
            plan = [one for one in self.profile.plan() if one.test_id in selected]
            self.plan = list(turns.interleaved(plan, self._seed))
            self.vms = vms_of_testbed(settings, {one.spec.form for one in self.plan})
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
        for planned in self.plan:
            tests.setdefault(planned.test_id, {})[planned.key] = 0.0
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

    def begin(self, run: OpenRun) -> RequestsBench:
        """Make the bench; nodes and forms are made when the first cell needs them."""
        return RequestsBench(
            run,
            profile=self.profile,
            plan=self.plan,
            vms=self.vms,
            hosts=self.hosts,
        )


class _Requests(RepeatedRoom[RequestsSpec, RequestsResult]):
    """The kind as runs know it."""

    of = KIND
    opened = RequestsShare
    test_ids = (profiles.TEST_IDS, profiles.RFC9411_IDS)

    def planned(self, wanted: PlanAsked) -> Collection[Planned[RequestsSpec]]:
        """Return all that the profile plans with the testbed file's network options."""
        if wanted.narrowing:  # its networks are those of its forms
            raise nothing_left(
                wanted.profile, wanted.narrowing, "a profile of HTTP experiments names its forms"
            )
        networks = list(networks_of_testbed(Settings(testbed=wanted.testbed)))
        profile = profiles.load(wanted.profile, forms=registry.forms())
        profiles.require_functions(profile, registry.names(registry.PROXY), wanted.profile)
        return profiles.with_networks(profile, networks).plan()

    def load(self, planned: Planned[RequestsSpec]) -> str:
        """Say how many requests, and how often, or what is searched; their time is not known before."""
        if planned.spec.search is not None:
            wanted = goal(planned.spec)
            return f"a search from {wanted.min_load_fps} to {wanted.max_load_fps} {wanted.offer.unit}"
        if (origin := planned.spec.origin) is not None:
            failure = f"the origin fails ({origin.fails}) for {origin.fail_s:g} s"
            return f"{origin.asked_requests} requests, {failure}, {planned.asked.wanted} repetitions"
        what = "the start of one instance"
        if planned.spec.workload is not Workload.START:
            what = f"{planned.spec.asked_requests} requests"
        return f"{what}, {planned.asked.wanted} repetitions"

    def whole(self, planned: Collection[Planned[RequestsSpec]]) -> str:
        """Say why nobody knows how long all of them take."""
        how_long = "how long they take follows from the servers' speed"
        return f"{len(planned)} cells of HTTP experiments; {how_long}."


def header_by(
    profile: Profile[RequestsSpec],
    networks: Mapping[str, Any],
    vms: Mapping[str, Any],
    row: Mapping[str, Any],
    plan: Sequence[Planned[RequestsSpec]] = (),
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
            PlannedCell(test_id=planned.test_id, metric=planned.metric, cell=planned.cell) for planned in plan
        ),
        families=KIND.families,
        medium_kind=CABLES if row else "veth",
        order_seed=order_seed,
    )


REQUESTS: Room = _Requests()
