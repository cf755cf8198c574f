"""Proxy instances that stand while cells are measured on them.

Ids: INST-02 an instance did not serve.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Any

from bmwg.drivers.api.instance import Group, Grouping, Hosting, Instance, Limits, Program
from bmwg.drivers.places.instances import AgentsProgram
from bmwg.drivers.ports import routing
from bmwg.drivers.workload import encrypted_origin, failing_origin, own_counts, probe, squid, tls_client
from bmwg.drivers.workload.failing_origin import FailingOrigin
from bmwg.drivers.workload.of_requests import Served
from bmwg.drivers.workload.proxied import ProxyFunction
from bmwg.drivers.workload.row import Row
from bmwg.drivers.workload.run_authority import Terminated
from bmwg.drivers.workload.tls_client import Trust
from bmwg.methodology.errors import DriverError, ToolkitError

_TOGETHER = 4  # choice: instances that are made together have at least the time of so many
PROBE_OCTETS = 1000  # choice: the smallest object tells as well that a proxy serves


def start_serving(
    row: Row,
    hosting: Hosting,
    program: Program,
    number: int,
    deadline_s: float,
    *,
    forward: bool = True,
    trust: Trust | None = None,
) -> tuple[Instance, int]:
    """Start one instance and wait until it serves the right body; returns it and the time that took, ns.

    The time runs from the request to start it to the end of the first right answer at the client; with
    `trust` a handshake comes before that, and names what is wrong with certificate or cipher. Raises
    DriverError INST-02 past the deadline; the instance is then removed.
    """
    hosting.prepare(program)
    for node in (row.client, row.server):  # a pod has the address of the pod before it, and another MAC
        node.call(routing.forget_neighbours)
    began = time.monotonic_ns()
    instance = hosting.start(program, number, Limits())
    try:
        wait_serving(row, as_served(instance.endpoint, forward=forward, trust=trust), deadline_s)
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


def as_served(
    endpoint: tuple[str, int],
    *,
    forward: bool,
    trust: Trust | None,
    plain_port: int = 0,
    origin: FailingOrigin | None = None,
) -> Served:
    """Return an endpoint as clients ask it."""
    address, port = endpoint
    return Served(
        address=address, port=port, forward=forward, trust=trust, plain_port=plain_port, origin=origin
    )


def wait_serving(row: Row, served: Served, deadline_s: float) -> None:
    """Wait until an endpoint serves the right body. Raises DriverError PROBE-01, TLS-01 to TLS-05."""
    trust = served.trust.as_builtins() if served.trust else None
    if trust is not None:
        look(row, served, deadline_s)
    row.client.call_within(
        deadline_s + 30.0,
        probe.wait_serving,
        address=served.address,
        port=served.port,
        url=served.target(row, PROBE_OCTETS),
        sha256=row.sha256[PROBE_OCTETS],
        within_s=deadline_s,
        trust=trust,
    )


def look(row: Row, served: Served, deadline_s: float) -> dict[str, Any]:
    """Return what a client and this endpoint agree on. Raises DriverError TLS-01 to TLS-05."""
    assert served.trust is not None  # of one that is asked by TLS
    told: dict[str, Any] = row.client.call_within(
        deadline_s + 30.0,
        tls_client.look,
        address=served.address,
        port=served.port,
        trust=served.trust.as_builtins(),
        within_s=deadline_s,
    )
    return told


class Deployment:
    """So many instances of one form, and the load on their machine.

    Instances of a form that groups them stand behind one address, which clients ask; each is looked at by its
    own. Where the origin `fails`, it is one that can be told to.
    """

    def __init__(
        self,
        row: Row,
        hosting: Hosting,
        *,
        proxies: int,
        cache: bool,
        deadline_s: float,
        function: ProxyFunction | None = None,
        tls: Terminated | None = None,
        fails: bool = False,
    ) -> None:
        self.row = row
        self.hosting = hosting
        self._function = function or squid.Squid()
        self._tls = tls
        self._fails = fails
        port = failing_origin.PORT_NUMBER if fails else row.origin_endpoint[1]
        endpoint = row.origin_endpoint[0], port
        self.program = self._function.program(cache=cache, origin=endpoint, tls=tls)
        self.instances: list[Instance] = []
        self._group: Group | None = None
        self.start_ns: list[int] = []
        self._proxies = proxies
        self._deadline_s = deadline_s
        self._cache = cache
        self._stress_cpus = 0
        self._stress: AgentsProgram | None = None
        self._origin: AgentsProgram | None = None
        self._failing: FailingOrigin | None = None
        self._silent = ""  # why the function tells nothing of itself

    @property
    def endpoints(self) -> list[tuple[str, int]]:
        """Where each instance is reached."""
        return [instance.endpoint for instance in self.instances]

    @property
    def asked(self) -> list[tuple[str, int]]:
        """Where the clients ask: each instance, or the one address before them."""
        return self.endpoints if self._group is None else [self._group.endpoint]

    @property
    def served(self) -> list[Served]:
        """What clients ask, and how."""
        return [self._as_endpoint(endpoint) for endpoint in self.asked]

    @property
    def looked_at(self) -> list[Served]:
        """Each instance, and the address before them."""
        return [self._as_endpoint(endpoint) for endpoint in dict.fromkeys((*self.endpoints, *self.asked))]

    def _as_endpoint(self, endpoint: tuple[str, int]) -> Served:
        of = self._function
        plain = of.plain_port
        return as_served(
            endpoint, forward=of.forward, trust=self._trust, plain_port=plain, origin=self._failing
        )

    @property
    def _trust(self) -> Trust | None:
        """What clients ask of TLS: of a forward proxy through a tunnel, where one that inspects signs."""
        if self._tls is None or not self._function.forward:
            return self._tls.trust if self._tls else None
        signer = self._tls.inspector if self._function.inspects else self._tls.trust.authority
        return replace(self._tls.trust, authority=signer, tunnel=encrypted_origin.endpoint(self._tls))

    @property
    def grouped(self) -> bool:
        """Whether the instances stand behind one address."""
        return self._group is not None

    def start(self, stack: ExitStack) -> None:
        """Start all instances: one after the other, or together where they stand behind one address.

        The origin has TLS as well where a forward proxy is asked by TLS. `stack` ends and removes all of it.
        """
        if self._function.forward and self._tls is not None:
            self._origin = stack.enter_context(encrypted_origin.serving(self.row, self._tls))
        if self._fails:
            self._failing = stack.enter_context(failing_origin.serving(self.row))
        if isinstance(self.hosting, Grouping):
            self._start_group(self.hosting, stack)
            return
        for number in range(self._proxies):
            instance, took_ns = start_serving(
                self.row,
                self.hosting,
                self.program,
                number,
                self._deadline_s,
                forward=self._function.forward,
                trust=self._trust,
            )
            stack.callback(instance.stop)
            self.instances.append(instance)
            self.start_ns.append(took_ns)

    def _start_group(self, hosting: Grouping, stack: ExitStack) -> None:
        """Start them together and wait until each serves, and the address before them."""
        self.hosting.prepare(self.program)
        for node in (self.row.client, self.row.server):
            node.call(routing.forget_neighbours)
        began = time.monotonic_ns()
        within_s = self._deadline_s * max(_TOGETHER, self._proxies)
        made = hosting.group(self.program, self._proxies, Limits(), within_s=within_s)
        self._group = stack.enter_context(made)
        self.instances = list(self._group.instances)
        for served in (*map(self._as_endpoint, self.endpoints), *self.served):
            wait_serving(self.row, served, self._deadline_s)
        self.start_ns.append(time.monotonic_ns() - began)

    def load(self, cpus: int, stack: ExitStack) -> None:
        """Load the proxies' machine with so many workers (document 001: `stress --cpu 12`)."""
        if cpus:
            command = ("stress-ng", "--cpu", str(cpus), "--timeout", "48h")
            program = Program(name="stress-ng", command=command, port=0, packages=("stress-ng",))
            folder = f"/run/bmwg-stress-{self.row.place.token}"
            self._stress = AgentsProgram(self.row.proxy, program, folder)
            stack.callback(self._stress.stop)
            self._stress_cpus = cpus

    def fault(self) -> str | None:
        """Say what of it no longer stands: instances, server, load."""
        if self._group is not None:
            if found := self._group.fault():
                return found
        else:
            for instance in self.instances:
                if found := instance.fault():
                    return f"{instance.name}: {found}"
        if found := self.row.fault():
            return found
        for name, running in (
            ("stress", self._stress),
            ("the origin's TLS", self._origin),
            ("the origin that fails", self._failing),
        ):
            if running is not None and (ended := running.fault()):
                return f"{name}: {ended}"
        return None

    def usage(self) -> tuple[int, int]:
        """CPU time (ns) and memory (octets) of all instances together."""
        whole = self._group
        samples = [whole.sample()] if whole else [instance.sample() for instance in self.instances]
        cpu_ns = sum(sample.cpu_ns for sample in samples)
        return cpu_ns, sum(sample.memory_octets for sample in samples)

    def counters(self) -> list[dict[str, int]]:
        """Squid's own counters, those of each instance; none when one does not tell."""
        told: list[dict[str, int]] = []
        if not self._function.counts:
            return told
        for address, port in self.endpoints:
            found = self.row.client.call(squid.counters, address=address, port=port)
            if not found:
                return []
            told.append(found)
        return told

    def counted(self) -> dict[str, int]:
        """What the function counts by itself, this question among it; nothing of one that does not tell."""
        function = self._function
        if self._silent or not isinstance(function, own_counts.CountsRequests):
            return {}
        return own_counts.read(
            self.row.client, function, self.endpoints[0][0], tunnels=bool(self._trust and self._trust.tunnel)
        )

    @property
    def counts_looks(self) -> bool:
        """Whether asking for these counts is one of them."""
        function = self._function
        return isinstance(function, own_counts.CountsRequests) and function.counts_looks

    def look_for_counts(self) -> None:
        """Find out, before anything is measured, whether the function tells what it counts."""
        self._silent = self._why_silent()

    def _why_silent(self) -> str:
        """Say why the function's own counters cannot be read; empty where they can."""
        if not isinstance(self._function, own_counts.CountsRequests):
            return "the function has none that are read here"
        if self._tls is not None and self._tls.http2 and not self._function.counts_http2:
            return "its own count leaves requests of HTTP/2 out"
        if len(self.instances) > 1:
            return "they are read of one instance alone"
        try:
            own_counts.read(self.row.client, self._function, self.endpoints[0][0])
        except DriverError as error:
            return error.found
        return ""

    def answered_by_origin(self) -> dict[str, int]:
        """Requests that the origin has answered, by its own count; that of its TLS is not asked."""
        if self._origin is not None:
            return {}
        return {own_counts.REQUESTS: self.row.answered()}

    def describe(self) -> dict[str, Any]:
        """Evidence for the platform's record."""
        return {
            "hosting": dict(self.hosting.describe()),
            "instances": [dict(instance.describe()) for instance in self.instances],
            **({"group": dict(self._group.describe())} if self._group else {}),
            "function": {"name": self._function.name},
            "cache": self._cache,
            "stress_cpus": self._stress_cpus,
            "start_ns": list(self.start_ns),
            "program": {
                "name": self.program.name,
                "command": list(self.program.command),
                "files": self.program.told_files,
            },
            **({"tls": self._tls_told()} if self._tls else {}),
            "own_counts": self._silent or "read before and after each trial",
            "links": [dict(link) for link in self.row.links],
            "addresses": self.row.addresses.told(),
            "server": "apache2 on the server node",
            **({"failing_origin": dict(self._failing.told)} if self._failing else {}),
        }

    def _tls_told(self) -> dict[str, Any]:
        """What both ends agree on now, by the first of what clients ask, and what was asked for. No key."""
        assert self._tls is not None  # of one that ends TLS
        of = self._tls.of
        asked = {"set": of.name, "words": of.words, "session_resumption": "none", "http2": self._tls.http2}
        ends_at = "the function"
        if self._function.forward:
            ends_at = "the function, and the origin" if self._function.inspects else "the origin"
        agreed = look(self.row, self.served[0], self._deadline_s)
        return {"ends_at": ends_at, "asked": asked, "agreed": agreed}


@contextmanager
def deployed(
    row: Row,
    hosting: Hosting,
    *,
    proxies: int,
    cache: bool,
    stress_cpus: int,
    deadline_s: float,
    function: ProxyFunction | None = None,
    tls: Terminated | None = None,
    fails: bool = False,
) -> Iterator[Deployment]:
    """Start instances, of Squid where no function is named, load their machine; remove both on leaving."""
    made = Deployment(
        row,
        hosting,
        proxies=proxies,
        cache=cache,
        deadline_s=deadline_s,
        function=function,
        tls=tls,
        fails=fails,
    )
    with ExitStack() as stack:
        made.start(stack)
        made.look_for_counts()
        made.load(stress_cpus, stack)
        yield made
