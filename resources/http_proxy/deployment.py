"""Proxy instances that stand while cells are measured on them.

Ids: INST-02 an instance did not serve.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from bmwg.drivers.hosting.instance import Hosting, Instance, Limits, Program
from bmwg.drivers.workload import squid
from bmwg.drivers.workload.row import Row
from bmwg.methodology.errors import DriverError, ToolkitError

_STRESS_PACKAGES = ["stress-ng"]
PROBE_OCTETS = 1000  # choice: the smallest object tells as well that a proxy serves


def start_serving(
    row: Row, hosting: Hosting, program: Program, number: int, deadline_s: float
) -> tuple[Instance, int]:
    """Start one instance and wait until it serves the right body; returns it and the time that took, ns.

    The time runs from the request to start it to the end of the first right answer at the client. Raises
    DriverError INST-02 past the deadline; the instance is then removed.
    """
    hosting.prepare(program)
    for node in (row.client, row.server):  # a pod has the address of the pod before it, and another MAC
        node.call("bmwg.drivers.hosting.routing:forget_neighbours")
    began = time.monotonic_ns()
    instance = hosting.start(program, number, Limits())
    try:
        address, port = instance.endpoint
        row.client.call(
            "bmwg.drivers.workload.probe:wait_serving",
            deadline_s=deadline_s + 30.0,
            address=address,
            port=port,
            url=row.url(PROBE_OCTETS),
            sha256=row.sha256[PROBE_OCTETS],
            within_s=deadline_s,
        )
        return instance, time.monotonic_ns() - began
    except BaseException as error:
        fault = None
        if isinstance(error, ToolkitError):
            with contextlib.suppress(ToolkitError):
                fault = instance.fault()
        instance.stop()
        if fault:
            raise DriverError(
                "INST-02", f"instance {instance.name} did not serve", expected="an answer", found=fault
            ) from error
        raise


class Deployment:
    """So many instances of one form, and the load on their machine."""

    def __init__(self, row: Row, hosting: Hosting, *, proxies: int, cache: bool, deadline_s: float) -> None:
        self.row = row
        self.hosting = hosting
        self.program = squid.program(cache=cache)
        self.instances: list[Instance] = []
        self.start_ns: list[int] = []
        self._proxies = proxies
        self._deadline_s = deadline_s
        self._stress: Mapping[str, Any] = {}

    @property
    def endpoints(self) -> list[tuple[str, int]]:
        """Where the clients reach the instances."""
        return [instance.endpoint for instance in self.instances]

    def start(self) -> None:
        """Start all instances, one after the other."""
        for number in range(self._proxies):
            instance, took_ns = start_serving(self.row, self.hosting, self.program, number, self._deadline_s)
            self.instances.append(instance)
            self.start_ns.append(took_ns)

    def stop(self) -> None:
        """End and remove all instances; raises the first failure after trying all."""
        failures = []
        while self.instances:
            try:
                self.instances.pop().stop()
            except ToolkitError as error:
                failures.append(error)
        if failures:
            raise failures[0]

    def load(self, cpus: int) -> None:
        """Load the proxies' machine with so many workers (document 001: `stress --cpu 12`)."""
        if cpus:
            folder = f"/run/bmwg-stress-{self.row.place.token}"
            self.row.proxy.call("bmwg.drivers.hosting.programs:write_files", folder=folder, files={})
            started = self.row.proxy.call(
                "bmwg.drivers.hosting.programs:start",
                command=["stress-ng", "--cpu", str(cpus), "--timeout", "48h"],
                folder=folder,
                packages=_STRESS_PACKAGES,
            )
            self._stress = {**started, "folder": folder}

    def unload(self) -> None:
        """End the load."""
        if self._stress:
            stress, self._stress = self._stress, {}
            self.row.proxy.call("bmwg.drivers.hosting.programs:stop", **stress)

    def fault(self) -> str | None:
        """Say what of it no longer stands: instances, server, load."""
        for instance in self.instances:
            if found := instance.fault():
                return f"{instance.name}: {found}"
        if found := self.row.fault():
            return found
        if self._stress:
            ended = self.row.proxy.call("bmwg.drivers.hosting.programs:fault", **self._stress)
            return f"stress: {ended}" if ended else None
        return None

    def usage(self) -> tuple[int, int]:
        """CPU time (ns) and memory (octets) of all instances together."""
        samples = [instance.sample() for instance in self.instances]
        cpu_ns = sum(sample.cpu_ns for sample in samples)
        return cpu_ns, sum(sample.memory_octets for sample in samples)

    def counters(self) -> dict[str, int]:
        """Squid's own counters, all instances together; empty when one does not tell."""
        total: dict[str, int] = {}
        for address, port in self.endpoints:
            found = self.row.client.call("bmwg.drivers.workload.squid:counters", address=address, port=port)
            if not found:
                return {}
            for name, count in found.items():
                total[name] = total.get(name, 0) + count
        return total

    def describe(self) -> dict[str, Any]:
        """Evidence for the platform's record."""
        return {
            "hosting": dict(self.hosting.describe()),
            "instances": [dict(instance.describe()) for instance in self.instances],
            "start_ns": list(self.start_ns),
            "program": {
                "name": self.program.name,
                "command": list(self.program.command),
                "files": dict(self.program.files),
            },
            "links": [dict(link) for link in self.row.links],
            "server": "apache2 on the server node",
        }


@contextmanager
def deployed(
    row: Row, hosting: Hosting, *, proxies: int, cache: bool, stress_cpus: int, deadline_s: float
) -> Iterator[Deployment]:
    """Start instances, load their machine, and remove both on leaving."""
    made = Deployment(row, hosting, proxies=proxies, cache=cache, deadline_s=deadline_s)
    try:
        made.start()
        made.load(stress_cpus)
        yield made
    finally:
        try:
            made.unload()
        finally:
            made.stop()
