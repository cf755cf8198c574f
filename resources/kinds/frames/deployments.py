"""Puts cells up and binds the tester to them: one deployment at a time, and one tester over all of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from bmwg.drivers.actuators.acting import acting
from bmwg.drivers.actuators.place import Place
from bmwg.drivers.api.protocols import Deployment, JsonValue, TrafficDriver, TrafficLimits, Trials
from bmwg.drivers.paths import path_driver
from bmwg.drivers.paths.addresses import host
from bmwg.drivers.paths.bed_links import taken
from bmwg.drivers.watch import frame_neighbours
from bmwg.drivers.watch.data_plane import DataPlane
from bmwg.drivers.watch.isolation import require_closed, require_own_ports
from bmwg.drivers.workload import modifiers
from bmwg.methodology.cells import axes
from bmwg.methodology.measurements.registry import measurement
from bmwg.methodology.plan.planning import deployment_of
from bmwg.methodology.records import Cell
from bmwg.resources.kinds.frames import sampled
from bmwg.resources.kinds.frames.session import Session
from bmwg.resources.kinds.frames.standing_switch import StandingSwitch
from bmwg.resources.run.guest_record import record_machine
from bmwg.resources.run.remote_tester import RemoteTraffic
from bmwg.resources.run.tester import tester_of


class Deployments:
    """The deployments of one run, numbered in their order, and the tester that they share."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._traffic: TrafficDriver | None = None
        self._traffic_stack = ExitStack()
        self.deployed_ns = 0  # of the one that stands: when it and the tester's ports did
        self.switch: StandingSwitch | None = None  # between the ports of the one that stands
        self._count = session.continued.run.last_deployment if session.continued else 0

    @contextmanager
    def deployed(self, cell: Cell) -> Iterator[tuple[str, Trials, TrafficLimits]]:
        """Deploy a cell, bind the tester, remove both again; gives deployment id, tester and its limits."""
        session = self._session
        self._count += 1
        kind = (cell.path, cell.function, cell.network, *(str(value) for _, value in cell.axes))
        deployment_id = f"{'-'.join(kind)}-{self._count}"
        with path_driver(cell, session.bed).deploy() as deployment:
            if session.watch is not None:
                require_own_ports(deployment.ports, session.testbed.lab_ports, session.bed.tester.machine)
                require_closed(session.bed)
            data_plane = DataPlane(session.bed, cell, deployment)
            told = self._told(cell, deployment)
            if data_plane.parts:
                told["data_plane"] = data_plane.evidence()
            session.store.add_deployment(deployment_id, {**deployment.evidence, **told})
            record_machine(session.store, deployment.evidence, session.bed.machines_driver)
            self.switch = StandingSwitch.of(session.bed, cell, deployment.evidence)
            with self._attached(deployment) as (traffic, limits):
                self.deployed_ns = session.clock.monotonic_ns()
                session.clock.sleep(session.profile.policy.settle_s)  # rfc2544-23, phase a
                with (
                    sampled.ready(
                        session.platform,
                        session.run.machines,
                        session.bed,
                        cell,
                        deployment_id,
                        deployment,
                        traffic,
                        data_plane,
                    ) as watched,
                    acting(watched, Place(cell=cell, bed=session.bed)) as able,
                ):
                    yield deployment_id, able, limits

    def _told(self, cell: Cell, deployment: Deployment) -> dict[str, JsonValue]:
        """Return what stands beside a path's own evidence: kind and addresses of the ports, and modifiers.

        Of each modifier what trials of a direction and format configure, word for word (rfc2544-11.4).
        """
        session = self._session
        addresses = [[one for one in (port.ipv4, port.ipv6) if one] for port in deployment.ports]
        # a wire of vhost-user ports has its other end in the tester too
        each = [port.io for port in deployment.ports]
        kinds: dict[str, JsonValue] = {"each": each} if session.testbed.socket_ports else {}
        told: dict[str, JsonValue] = {
            "port_kind": {**session.bed.port_kind.evidence(), **kinds},
            "test_addresses": [[host(one) for one in mine] for mine in addresses],
        }
        devices = {port.device for port in deployment.ports}
        if nics := [dict(nic) for nic in taken(session.bed) if nic["address"] in devices]:
            told["nics"] = nics  # as their kernel drivers told, before they let go
        mine = deployment_of(cell)
        if settings := axes.settings(cell.axes):
            told["settings"] = {".".join(place): value for place, value in settings.items()}
        if beside := frame_neighbours.described(session.bed, cell):
            told["neighbour"] = beside
        texts: dict[str, dict[str, JsonValue]] = {}
        for answer in session.plan:
            name = measurement(answer.measurement).modifier
            if answer.deployment == mine and (text := modifiers.configured(answer.cell, name)):
                texts.setdefault(name, {})[f"{answer.cell.direction}/{answer.cell.frame_format}"] = text
        return {**told, "modifiers": dict(sorted(texts.items()))} if texts else told

    @contextmanager
    def _attached(self, deployment: Deployment) -> Iterator[tuple[TrafficDriver, TrafficLimits]]:
        """Bind the tester's ports; a tester that fails is ended, and the next cell gets a new one."""
        traffic = self._running_traffic()
        try:
            yield traffic, traffic.attach(deployment.ports)
            traffic.detach()
        except BaseException:
            self.end_traffic()
            raise

    def _running_traffic(self) -> TrafficDriver:
        if self._traffic is None:
            session = self._session
            drain_s = session.profile.policy.drain_s
            driver: TrafficDriver
            if session.testbed.tester.host is None:
                driver = tester_of(session.testbed, session.bed.run_dir, drain_s)
            else:
                driver = RemoteTraffic(session.testbed, session.bed, drain_s)
            self._traffic = self._traffic_stack.enter_context(driver)
            session.store.add_driver(driver.describe())
        return self._traffic

    def end_traffic(self) -> None:
        """End the tester; the next deployment gets a new one."""
        self._traffic = None
        self._traffic_stack.close()
