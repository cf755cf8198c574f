"""What drivers of requests have in common: made of the row, they stand on the clients' node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from bmwg.drivers.api.protocols import JsonValue, Missing, WorkloadDriver
from bmwg.drivers.api.workload import ONE, Attaches, Takes
from bmwg.drivers.workload.tls_client import Trust
from bmwg.methodology.errors import DriverError
from bmwg.methodology.kinds.requests.records import KIND, RequestsResult, RequestsSpec

if TYPE_CHECKING:  # the drivers' modules are imported on the clients' node, for the functions that run there
    from bmwg.drivers.workload.failing_origin import FailingOrigin
    from bmwg.drivers.workload.row import Row


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """An endpoint of requests: where something answers them, and how it is asked.

    A `forward` one is asked for a whole URL, another for a path. With `trust` it is asked by TLS (a `forward`
    one for a tunnel first, and for a path in it), and where there is a `plain_port` it answers there without.
    `origin` is that behind it, where it can be told to fail.
    """

    address: str
    port: int
    forward: bool = True
    trust: Trust | None = None
    plain_port: int = 0
    origin: FailingOrigin | None = None

    def target(self, row: Row, octets: int) -> str:
        """Return what stands in the request line for the object of a size."""
        return row.url(octets) if self.forward and self.trust is None else row.path(octets)


class RequestsWorkload(WorkloadDriver[Sequence[Served], RequestsSpec, RequestsResult], Protocol):
    """What asks proxies for objects, found by a cell's workload among `bmwg.drivers.workload`.

    It is made of the row of clients, proxies' machine and server, and of the run's folder. `begins_soon` says
    that the program's own start takes no share of a repetition that matters, `warms_up_itself` that it has to
    warm up within each repetition, in place of one that warms up for all. `unfit` says what the clients' node
    or a hosting form lacks for one spec, where `probe` found nothing.
    """

    begins_soon: ClassVar[bool]
    warms_up_itself: ClassVar[bool]

    def __init__(self, row: Row, run_dir: Path) -> None: ...
    def unfit(self, spec: RequestsSpec, /) -> Missing | None:
        """Say what this spec lacks."""


class OfRequests(Attaches[Served]):
    """A driver that starts a program on the clients' node for each load, and nothing that stays."""

    kind: ClassVar[str] = KIND
    takes: ClassVar[Takes] = ONE
    begins_soon: ClassVar[bool] = False
    warms_up_itself: ClassVar[bool] = False

    def __init__(self, row: Row, run_dir: Path) -> None:
        self._row = row
        self._run_dir = run_dir

    def unfit(self, spec: RequestsSpec, /) -> Missing | None:
        """Nothing: what it takes does not depend on what is asked for."""
        return None

    def learn(self, spec: RequestsSpec, /) -> None:
        """Nothing: warming up is a repetition of its own, or part of each."""

    def describe(self) -> Mapping[str, JsonValue]:
        """The clients' place."""
        return {"at": "client node"}

    @staticmethod
    def told(ran: Mapping[str, JsonValue], asked_requests: int, **more: Any) -> RequestsResult:
        """Return what a client program on the node told, with what is its own alone."""
        return RequestsResult(
            asked_requests=asked_requests,
            elapsed_ns=ran["elapsed_ns"],
            process_ns=ran["process_ns"],
            request_ns=ran["latency_ns"],
            ttfb_ns=ran["ttfb_ns"],
            faults=(ran["fault"],) if ran["fault"] else (),
            **{name: ran[name] for name in ("requests", "failed", "non_2xx", "body_octets") if name in ran},
            **more,
        )

    @property
    def attached(self) -> tuple[Served, ...]:
        """Whom to ask. Raises DriverError LOAD-02."""
        if not self.ends:
            raise DriverError(
                "LOAD-02",
                f"workload {self.named}: no endpoint is attached; nothing was sent",
                hint="attach() comes first",
            )
        return self.ends
