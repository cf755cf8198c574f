"""The records of the HTTP proxy experiments. All are frozen; units stand in the names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import Any

from bmwg.methodology.answers.order_statistics import MedianInterval
from bmwg.methodology.answers.student import Interval
from bmwg.methodology.records import OutcomeType

KIND = "requests"  # the kind of load
FORMS = ("native", "docker_routed", "docker_nat", "vm_full", "vm_para")  # in the documents' order
# pods of a cluster, of which the documents say nothing: one, and so many behind a Service
CLUSTER_FORMS = ("kubernetes", "kubernetes_service")
SLOW_FORMS = frozenset({"vm_full", "vm_para"})


class Workload(StrEnum):
    """What offers the requests."""

    AB = "ab"
    JMETER = "jmeter"
    OPEN_LOOP = "open_loop"
    TREX_ASTF = "trex_astf"  # an open loop as well: connections at a constant rate from TRex's own TCP
    START = "start"  # nothing but the start of an instance until it serves

    @property
    def is_open_loop(self) -> bool:
        """Whether requests leave when they are due, and the answer is a rate."""
        return self in (Workload.OPEN_LOOP, Workload.TREX_ASTF)


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpCell:
    """One thing that is measured. `clients` ask at the same time; `stress_cpus` load the proxies' machine."""

    experiment: str
    workload: Workload
    form: str
    proxies: int
    object_octets: int
    clients: int
    cache: bool
    stress_cpus: int

    @property
    def cell_id(self) -> str:
        """`experiment/form/proxies/object_octets/clients`, stable: journal and outcomes refer to it."""
        parts = (self.experiment, self.form, f"{self.proxies}p", f"{self.object_octets}o", f"{self.clients}c")
        return "/".join(parts)

    @property
    def deployment(self) -> tuple[str, int, bool, int]:
        """What must stand: cells of one deployment are measured on the same instances."""
        return (self.form, self.proxies, self.cache, self.stress_cpus)


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestsLoad:
    """What clients are to ask for once, of objects of one size.

    A closed loop asks for `requests` by `clients` at the same time, after `warm_up_requests` where it warms
    up itself. An open loop has `rate_rps` requests per second for `duration_s`, of which one that is not
    answered `late_ms` after it was due counts as late; `requests_per_connection` of them follow each other on
    a connection. The client program has `within_s` for all of it.
    """

    object_octets: int
    clients: int
    within_s: float
    requests: int = 0
    warm_up_requests: int = 0
    rate_rps: int | None = None
    duration_s: float = 0.0
    late_ms: float = 0.0
    requests_per_connection: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestsSent:
    """What clients counted of one load: the fields of a `Repetition` that they can tell."""

    asked_requests: int
    requests: int = 0
    failed: int = 0
    non_2xx: int = 0
    body_octets: int = 0
    elapsed_ns: int = 0
    mean_request_ns: int = 0
    process_ns: int = 0
    request_ns: Mapping[str, int] = field(default_factory=dict)
    ttfb_ns: Mapping[str, int] = field(default_factory=dict)
    warm_up_requests: int = 0
    warm_up_ns: int = 0
    unsent_requests: int = 0
    generator: Mapping[str, int] = field(default_factory=dict)
    faults: tuple[str, ...] = ()

    def as_fields(self) -> dict[str, Any]:
        """Return the fields by name."""
        return {one.name: getattr(self, one.name) for one in fields(self)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Repetition:
    """One repetition as it was, and as asked for.

    `elapsed_ns` is what the client program itself took for all requests, `process_ns` its whole life and
    `wall_ns` the repetition with its probes. `request_ns` holds percentiles of single requests and `ttfb_ns`
    those to the first octet. `probes` are the requests before and after whose bodies were hashed:
    `[status, right body]`. `cpu_share` is CPU time of the proxy instances per `elapsed_ns`, 1: one CPU
    (None: the client's own start would stand in it, and an idle guest uses CPU time too);
    `memory_octets` what they hold after it. `hits` of `proxied` requests came from the cache (None: not
    told). `faults` are sentences; a repetition with one proves nothing. `rate_rps` is the load of an open
    loop in requests per second, offered for `duration_s`, whose `failed` holds late ones too.
    `warm_up_requests` are those that the same client program sent before, for `warm_up_ns`: in none of the
    other numbers but `hits` and `proxied`.
    `host` is what else the machine did meanwhile, as beside the trials of frames; `platform` what the line
    is bound to of platform.json: looks of the doctor and changes until then, and the hash.
    `unsent_requests` were due and not offered as asked by the generator's own fault. `generator` holds what
    it counted by itself, errors by their names, where it is TRex. `shares` are the requests that each proxy
    behind one address counted, in the order of the deployment's instances (None: clients ask each by
    its own).
    """

    cell_id: str
    number: int
    phase: str  # warm_up or measured
    asked_requests: int
    requests: int = 0
    failed: int = 0
    non_2xx: int = 0
    body_octets: int = 0
    elapsed_ns: int = 0
    mean_request_ns: int = 0
    process_ns: int = 0
    wall_ns: int = 0
    request_ns: Mapping[str, int] = field(default_factory=dict)
    ttfb_ns: Mapping[str, int] = field(default_factory=dict)
    probes: tuple[tuple[int, bool], ...] = ()
    cpu_share: float | None = 0.0
    memory_octets: int = 0
    hits: int | None = None
    proxied: int | None = None
    faults: tuple[str, ...] = ()
    deployment: str = ""
    rate_rps: int | None = None
    duration_s: float | None = None
    warm_up_requests: int = 0
    warm_up_ns: int = 0
    host: Mapping[str, int] = field(default_factory=dict)
    platform: Mapping[str, Any] | None = None
    unsent_requests: int = 0
    generator: Mapping[str, int] = field(default_factory=dict)
    shares: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpAnswer:
    """The answer for one cell, with all that its repetitions tell.

    `time` is of one request (ns), over the valid repetitions, `total` that of all requests of a repetition as
    the documents print it (document 000); `values` are the means behind `time`, kept for comparisons.
    `failed_ratio` (0..1) is of the requests of all repetitions, those set aside for failed ones as well.
    `request_ns` and `ttfb_ns` have, for each percentile of single requests, the median of the repetitions'
    and its interval; of an open loop that of its last trial at the rate alone.
    `rate_rps` is the highest load of an open loop at which nothing was lost, `upper_rps` the lowest at which
    something was. `reason` says why, for all types but MEASURED. `deployments` is on how many the valid
    repetitions ran (None: not told).
    """

    cell: HttpCell
    type: OutcomeType
    requests: int = 0
    time: Interval | None = None
    total: Interval | None = None
    cpu_share: Interval | None = None
    memory_octets: Interval | None = None
    hit_ratio: float | None = None
    failed_ratio: float | None = None
    request_ns: Mapping[str, MedianInterval] = field(default_factory=dict)
    ttfb_ns: Mapping[str, MedianInterval] = field(default_factory=dict)
    values: tuple[float, ...] = ()
    rate_rps: int | None = None
    upper_rps: int | None = None
    repetitions: tuple[int, ...] = ()
    deployments: int | None = None
    reason: str = ""
    mend: str = ""
    quality: tuple[str, ...] = ()
