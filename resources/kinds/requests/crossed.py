"""A function that requests cross on their way to the origin, standing between both while it is measured."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from bmwg.drivers.api.instance import Crossing, Hosting, InPath
from bmwg.drivers.function import request_rules, tables
from bmwg.drivers.places.instances import AgentsProgram
from bmwg.drivers.ports import routing
from bmwg.drivers.workload import encrypted_origin
from bmwg.drivers.workload.crossed import CrossedFunction
from bmwg.drivers.workload.of_requests import Served
from bmwg.drivers.workload.row import Row
from bmwg.drivers.workload.run_authority import Terminated
from bmwg.resources.kinds.requests.deployment import look, wait_serving

_CALL_S = 30.0


class Crossed:
    """A table in the place of a hosting form, and the origin as clients ask it through that.

    With TLS the origin ends it: a second server with the same objects, beside the one without.
    """

    grouped = False

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
        self._evidence: dict[str, Any] = {}
        self._start_ns = 0

    @property
    def served(self) -> list[Served]:
        """The origin, by TLS where there is some."""
        if self._tls is None:
            address, port = self.row.origin_endpoint
            return [Served(address=address, port=port, forward=False)]
        return [
            Served(
                address=self.row.origin_endpoint[0],
                port=encrypted_origin.PORT_NUMBER,
                forward=False,
                trust=self._tls.trust,
                plain_port=self.row.origin_endpoint[1],
            )
        ]

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
            self._start_tls(self._tls, stack)
        for node in (self.row.client, self.row.server):
            node.call(routing.forget_neighbours)
        began = time.monotonic_ns()
        place = self._place = stack.enter_context(self._hosting.crossing())
        address, port = self.row.origin_endpoint
        wanted = self._function.table(place, address, [port, encrypted_origin.PORT_NUMBER])
        loaded = place.run(tables.LOAD_S, wanted.install, **wanted.arguments)
        self._evidence = {"words": wanted.words, **loaded}
        stack.enter_context(self._routed(place))
        wait_serving(self.row, self.served[0], self._deadline_s)
        self._start_ns = time.monotonic_ns() - began

    def _start_tls(self, tls: Terminated, stack: ExitStack) -> None:
        server, folder = self.row.server, f"/run/bmwg-origin-tls-{self.row.place.token}"
        program = encrypted_origin.program(tls, f"{self.row.origin_folder}/objects")
        placed = program.at(folder, self.row.origin_endpoint[0], program.port)
        self._origin = AgentsProgram(server, placed, folder)
        stack.callback(self._origin.stop)

    @contextmanager
    def _routed(self, place: Crossing) -> Iterator[None]:
        """Have clients and origin route to each other through the place, and as before on leaving."""
        of = self.row.addresses
        ways = (
            (self.row.client, of.servers.network, place.addresses[0], of.clients.proxy),
            (self.row.server, of.clients.network, place.addresses[1], of.servers.proxy),
        )
        try:
            for node, network, through, _ in ways:
                node.call(routing.add_route, destination=network, via=through)
            yield
        finally:
            for node, network, _, before in ways:
                node.call(routing.add_route, destination=network, via=before)

    def fault(self) -> str | None:
        """Say what of it no longer stands: the place, the origin, its TLS."""
        if self._place is not None and (found := self._place.fault()):
            return f"{self._place.name}: {found}"
        if found := self.row.fault():
            return found
        ended = self._origin.fault() if self._origin else None
        return f"the origin's TLS: {ended}" if ended else None

    def usage(self) -> None:
        """Nothing: a kernel that forwards is no process."""

    def counters(self) -> list[dict[str, int]]:
        """Nothing: it is no Squid."""
        return []

    def counted(self) -> dict[str, int]:
        """What the table's own counters hold."""
        assert self._place is not None  # it stands
        counted: dict[str, int] = self._place.run(_CALL_S, request_rules.counts)
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
