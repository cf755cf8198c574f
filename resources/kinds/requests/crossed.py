"""A function that requests cross on their way to the origin, standing between both while it is measured."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from bmwg.drivers.api.instance import Crossing, Hosting, InPath
from bmwg.drivers.function import request_rules, tables
from bmwg.drivers.nodes import program_files
from bmwg.drivers.places.instances import AgentsProgram
from bmwg.drivers.ports import interfaces, routing
from bmwg.drivers.workload import encrypted_origin
from bmwg.drivers.workload.crossed import CarriedByProgram, CrossedFunction, Step
from bmwg.drivers.workload.of_requests import Served
from bmwg.drivers.workload.row import Row
from bmwg.drivers.workload.run_authority import Terminated
from bmwg.resources.kinds.requests.deployment import look, wait_serving

_CALL_S = 30.0
_BEGINS_S = 90.0  # choice: a program that reads its rules, on a busy machine
_LINK_LOCAL = "fe80::1/64"  # by which a kernel that forwards IPv6 asks for neighbours; else it asks none


class Crossed:
    """A table in the place of a hosting form, and the origin as clients ask it through that.

    With TLS the origin ends it: a second server with the same objects, beside the one without.
    """

    grouped = False
    counts_looks = False

    def __init__(
        self,
        row: Row,
        hosting: Hosting,
        function: CrossedFunction,
        *,
        tls: Terminated | None,
        deadline_s: float,
    ) -> None:
        self.row = row
        self._hosting = hosting
        self._function = function
        self._tls = tls
        self._deadline_s = deadline_s
        self._place: Crossing | None = None
        self._origin: AgentsProgram | None = None
        self._program: AgentsProgram | None = None
        self._counts: Step | None = None
        self._evidence: dict[str, Any] = {}
        self._start_ns = 0

    @property
    def served(self) -> list[Served]:
        """The origin, by TLS where there is some."""
        if self._tls is None:
            return [Served(address=self._asked_for, port=self.row.origin_endpoint[1], forward=False)]
        return [
            Served(
                address=self._asked_for,
                port=encrypted_origin.PORT_NUMBER,
                forward=False,
                trust=self._tls.trust,
                plain_port=self.row.origin_endpoint[1],
            )
        ]

    @property
    def _asked_for(self) -> str:
        return self._function.asked_for(self.row.origin_endpoint[0])

    @property
    def looked_at(self) -> list[Served]:
        """The origin alone."""
        return self.served

    def start(self, stack: ExitStack) -> None:
        """Start the origin's TLS, load the table, have both ends route through it; `stack` undoes it.

        Raises DriverError FUNC-02 where the table does not load, and what a place raises.
        """
        assert isinstance(self._hosting, InPath)  # of a form that has no place the cell is not assessed
        if self._tls is not None:
            self._origin = stack.enter_context(encrypted_origin.serving(self.row, self._tls))
        for node in (self.row.client, self.row.server):
            node.call(routing.forget_neighbours)
        began = time.monotonic_ns()
        place = self._place = stack.enter_context(self._hosting.crossing())
        for side, own in zip(place.sides, place.addresses, strict=True):
            if ":" in own:
                place.run(_CALL_S, interfaces.add_address, interface=side, address=_LINK_LOCAL)
        address, port = self.row.origin_endpoint
        if isinstance(self._function, CarriedByProgram):
            self._start_program(self._function, place, stack)
        wanted = self._function.table(place, address, [port, encrypted_origin.PORT_NUMBER])
        loaded = place.run(tables.LOAD_S, wanted.run, **wanted.arguments)
        self._evidence |= {"words": wanted.words, **loaded}
        stack.enter_context(self._routed(place))
        wait_serving(self.row, self.served[0], self._deadline_s)
        self._start_ns = time.monotonic_ns() - began

    def _start_program(self, function: CarriedByProgram, place: Crossing, stack: ExitStack) -> None:
        """Start the program of a function in its place, and have packets reach it."""
        assert place.node is not None  # of a place without one the cell is not assessed
        program = function.program(place)
        folder = f"/run/bmwg-crossed-{self.row.place.token}"
        placed = program.at(folder, place.addresses[0], program.port)
        self._program = AgentsProgram(place.node, placed, folder)
        stack.callback(self._program.stop)
        step = function.carries(place)
        begun = place.run(_BEGINS_S, step.run, **step.arguments)
        if step.undo is not None:
            stack.callback(place.run, _CALL_S, step.undo, **step.undo_arguments)
        self._counts = function.counts(folder)
        self._evidence = {
            "program": {
                "command": list(program.command),
                "files": program.told_files,
                "packages": place.node.call(program_files.versions, packages=list(program.packages)),
            },
            "begun": {"words": step.words, **begun},
        }

    @contextmanager
    def _routed(self, place: Crossing) -> Iterator[None]:
        """Have clients and origin route to each other through the place, and as before on leaving."""
        of = self.row.addresses
        to_origin, to_clients = self._function.networks(of)
        ways = (
            (self.row.client, to_origin, place.addresses[0], of.clients.proxy),
            (self.row.server, to_clients, place.addresses[1], of.servers.proxy),
        )
        try:
            for node, network, through, _ in ways:
                node.call(routing.add_route, destination=network, via=through)
            yield
        finally:
            for node, network, _, before in ways:
                if network in (of.servers.network, of.clients.network):
                    node.call(routing.add_route, destination=network, via=before)
                else:
                    node.call(routing.remove_route, destination=network)

    def fault(self) -> str | None:
        """Say what of it no longer stands: the place, the origin, its TLS."""
        if self._place is not None and (found := self._place.fault()):
            return f"{self._place.name}: {found}"
        if self._program is not None and (found := self._program.fault()):
            return f"{self._function.name}: {found}"
        if found := self.row.fault():
            return found
        ended = self._origin.fault() if self._origin else None
        return f"the origin's TLS: {ended}" if ended else None

    def usage(self) -> tuple[int, int] | None:
        """CPU time (ns) and memory (octets) of its program; nothing of a kernel that forwards."""
        if self._program is None:
            return None
        sample = self._program.sample()
        return sample.cpu_ns, sample.memory_octets

    def counters(self) -> list[dict[str, int]]:
        """Nothing: it is no Squid."""
        return []

    def counted(self) -> dict[str, int]:
        """What the table's own counters hold, and those of its program."""
        assert self._place is not None  # it stands
        counted: dict[str, int] = self._place.run(_CALL_S, request_rules.counts)
        if (own := self._counts) is not None:
            counted |= self._place.run(_CALL_S, own.run, **own.arguments)
        return counted

    def answered_by_origin(self) -> dict[str, int]:
        """Nothing: it is not asked, for nothing that requests cross keeps an answer."""
        return {}

    def describe(self) -> dict[str, Any]:
        """Evidence for the platform's record."""
        assert self._place is not None  # it stands
        return {
            "hosting": dict(self._hosting.describe()),
            "place": {
                "name": self._place.name,
                "sides": list(self._place.sides),
                "addresses": list(self._place.addresses),
                **self._place.told(),
            },
            "function": {"name": self._function.name, **self._evidence},
            "start_ns": [self._start_ns],
            **({"tls": self._tls_told(self._tls)} if self._tls else {}),
            "own_counts": "read before and after each trial",
            "links": [dict(link) for link in self.row.links],
            "addresses": self.row.addresses.told(),
            "server": "apache2 on the server node",
        }

    def _tls_told(self, tls: Terminated) -> dict[str, Any]:
        """What both ends agree on now, and what was asked for. No key."""
        asked = {"set": tls.of.name, "words": tls.of.words, "http2": tls.http2, "session_resumption": "none"}
        return {
            "ends_at": "the origin",
            "asked": asked,
            "agreed": look(self.row, self.served[0], self._deadline_s),
        }


@contextmanager
def crossed(
    row: Row, hosting: Hosting, function: CrossedFunction, *, tls: Terminated | None, deadline_s: float
) -> Iterator[Crossed]:
    """Have a function stand between clients and origin; remove it on leaving."""
    made = Crossed(row, hosting, function, tls=tls, deadline_s=deadline_s)
    with ExitStack() as stack:
        made.start(stack)
        yield made
