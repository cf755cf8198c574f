"""The records of the HTTP proxy experiments. All are frozen; units stand in the names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

from bmwg.methodology.kinds.requests import mixes
from bmwg.methodology.kinds.requests.origin_failure import OriginFailed, OriginFails
from bmwg.methodology.kinds.requests.own_clients import OwnClients
from bmwg.methodology.kinds.requests.sustained import Sustained
from bmwg.methodology.kinds.requests.tls import PLAIN

KIND = "requests"  # the kind of load
FORMS = ("native", "docker_routed", "docker_nat", "vm_full", "vm_para")  # in the documents' order
# pods of a cluster, of which the documents say nothing: one, and so many behind a Service
CLUSTER_FORMS = ("kubernetes", "kubernetes_service")
SLOW_FORMS = frozenset({"vm_full", "vm_para"})
UNIT = "requests/s"
CONNECTIONS_UNIT = "connections"
SQUID = "squid"  # the function where none is named
_WHERE_THERE = ("shares", "sustain", "origin_requests", "failure", "own_clients")  # in results that have them
_KEPT = ("workload", "object_octets", "clients", "number", "asked_requests", "rate_rps", "duration_s")


class Workload(StrEnum):
    """What offers the requests."""

    AB = "ab"
    JMETER = "jmeter"
    JMETER_PODS = "jmeter_pods"  # a JMeter of its own for each client, in a pod of its own
    OPEN_LOOP = "open_loop"
    TREX_ASTF = "trex_astf"  # an open loop as well: connections at a constant rate from TRex's own TCP
    TRANSACTIONS = "transactions"  # an open loop in phases, each connection counted (RFC 9411)
    ORIGIN_FAILURE = "origin_failure"  # requests at a constant rate while the origin fails, and after it
    START = "start"  # nothing but the start of an instance until it serves

    @classmethod
    def _missing_(cls, value: object) -> Workload:
        raise ValueError(f"workload: expected {', '.join(cls)}, found {value!r}")

    @property
    def is_open_loop(self) -> bool:
        """Whether requests leave when they are due, and the answer is a rate."""
        return self in (Workload.OPEN_LOOP, Workload.TREX_ASTF, Workload.TRANSACTIONS)


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestsSpec:
    """One repetition as asked for, of objects of one size by `clients` that ask at the same time.

    A closed loop asks for `asked_requests`, after `warm_up_requests` where the client program warms up
    itself. An open loop has `rate_rps` requests per second for `duration_s`, of which one that is not
    answered `late_ms` after it was due counts as late; `requests_per_connection` of them follow each other on
    a connection. The client program has `within_s` for all of it. Transactions are offered in phases: over
    `ramp_s` more and more, for `duration_s` at the rate; or `held_connections` are opened in place of a rate.

    By `http` h2 connections with TLS speak HTTP/2, a request at a time (empty: HTTP/1.1). `ip` says which
    versions of IP both sides of the row speak (empty: IPv4). Where there is a `mix`, transactions ask for its
    objects by turns, and `object_octets` is their mean.

    `search` says how the highest rate is looked for, in a plan alone: the loads of such a cell follow from
    each other. What stands for it: so many `proxies` of `function` in hosting form `form`, which end TLS as
    the set `tls` says (empty: there is none), their machine loaded by `stress_cpus`. The journal holds what
    is in `as_builtins`, since the cell has the rest; `number` counts the repetitions of a cell, warm-ups
    among them, 0 in a plan. Where the origin is to fail, `origin` says how, and has the load.
    """

    workload: Workload
    object_octets: int
    clients: int
    asked_requests: int = 0
    rate_rps: int = 0
    duration_s: float = 0.0
    number: int = 0
    experiment: str = ""
    form: str = ""
    proxies: int = 1
    cache: bool = False
    stress_cpus: int = 0
    warm_up_requests: int = 0
    within_s: float = 0.0
    late_ms: float = 0.0
    requests_per_connection: int = 1
    function: str = SQUID
    tls: str = PLAIN
    ramp_s: float = 0.0
    held_connections: int = 0
    mix: str = ""
    http: str = ""
    ip: str = ""
    origin: OriginFails | None = None
    search: Mapping[str, Any] | None = None

    @property
    def sizes_octets(self) -> tuple[int, ...]:
        """The sizes of the objects that are asked for by turns."""
        return mixes.sizes_octets(self.mix) if self.mix else (self.object_octets,)

    @property
    def turns(self) -> tuple[mixes.Turn, ...]:
        """What its connections are for, by turns; none where all are alike."""
        return mixes.turns(self.mix) if self.mix else ()

    @property
    def load(self) -> int:
        """The rate, or the connections that are held, as a search reads it."""
        return self.held_connections or self.rate_rps

    @property
    def unit(self) -> str:
        """The unit of the load."""
        return CONNECTIONS_UNIT if self.held_connections else UNIT

    @property
    def intended(self) -> int:
        """Requests that are due at the rate, or connections that are to be held."""
        return self.held_connections or max(1, round(self.rate_rps * self.duration_s))

    @property
    def words(self) -> str:
        """Rate and time in words."""
        return f"{self.load} {self.unit} for {self.duration_s:g} s"

    def as_builtins(self) -> dict[str, Any]:
        """Return what the journal holds: of a closed loop no rate."""
        told = {name: getattr(self, name) for name in _KEPT}
        rate = {"rate_rps": self.rate_rps or None, "duration_s": self.duration_s or None}
        held = {"held_connections": self.held_connections} if self.held_connections else {}
        mix = {"mix": self.mix} if self.mix else {}
        origin = {"origin": self.origin.as_builtins()} if self.origin is not None else {}
        return {**told, "workload": self.workload.value, **rate, **held, **mix, **origin}

    @classmethod
    def from_builtins(cls, data: Mapping[str, Any]) -> RequestsSpec:
        """Read what `as_builtins` gave."""
        rate = {"rate_rps": data["rate_rps"] or 0, "duration_s": data["duration_s"] or 0.0}
        origin = {"origin": OriginFails(**data["origin"])} if "origin" in data else {}
        return cls(**{**data, "workload": Workload(data["workload"]), **rate, **origin})


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestsResult:
    """One repetition as it was. The client's driver tells all but what the proxies tell of themselves.

    `asked_requests` are those that were asked for, of an open loop those that were due; the journal holds
    them with what was asked. `elapsed_ns` is what the client program itself took for all requests,
    `process_ns` its whole life and `wall_ns` the repetition with its probes. `request_ns` holds percentiles
    of single requests and `ttfb_ns` those to the first octet. `probes` are the requests before and after
    whose bodies were hashed: `[status, right body]`. `cpu_share` is CPU time of the proxy instances per
    `elapsed_ns`, 1: one CPU (None: the client's own start would stand in it, and an idle guest uses CPU time
    too); `memory_octets` what they hold after it. `hits` of `proxied` requests came from the cache (None: not
    told). `faults` are sentences; a repetition with one proves nothing. `failed` of an open loop holds late
    requests too; of a closed loop no request is both in it and in `non_2xx`, answers with another status.
    `warm_up_requests` are those that the same client program sent before, for `warm_up_ns`: in none of the
    other numbers but `hits` and `proxied`. `unsent_requests` were due and not offered as asked by
    the generator's own fault. `generator` holds what it counted by itself, errors by their names, where it is
    TRex. `shares` are the requests that each proxy behind one address counted, in the order of the
    deployment's instances (None: clients ask each by its own). `sustain` is what the sustain phase of
    transactions was; the other numbers are of that phase then. Of the whole load, ramp up included, are
    `whole`, what its client counted (`connections` established, `requests` answered rightly), and
    `function_counts`, what the function counted by itself (the first of these is packets that open a
    connection); empty where nobody told. `origin_requests` are those that the origin answered (None: not
    asked, or it may be asked less, for there is a cache). `ip_packets` are those that the kernels of the
    clients' and of the origin's node counted by version of IP, where a cell names one: `clients_ipv4` and so
    on. `failure` is what a failure of the origin came to; of its load `requests` are all that were sent,
    `failed` those without a whole right body, `non_2xx` those answered with an error. `own_clients` is what
    each client did where each has a generator of its own; the other numbers are of all of them together then.
    """

    asked_requests: int = 0
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
    warm_up_requests: int = 0
    warm_up_ns: int = 0
    unsent_requests: int = 0
    generator: Mapping[str, int] = field(default_factory=dict)
    shares: tuple[int, ...] | None = None
    sustain: Sustained | None = None
    whole: Mapping[str, int] = field(default_factory=dict)
    function_counts: Mapping[str, int] = field(default_factory=dict)
    origin_requests: int | None = None
    ip_packets: Mapping[str, int] = field(default_factory=dict)
    failure: OriginFailed | None = None
    own_clients: OwnClients | None = None

    def as_builtins(self) -> dict[str, Any]:
        """Return what the journal holds of it beside faults and what was asked for."""
        told = asdict(self)
        absent = [name for name in _WHERE_THERE if told[name] is None]
        absent += [name for name in ("whole", "function_counts", "ip_packets") if not told[name]]
        for name in ("faults", "asked_requests", *absent):
            del told[name]
        lists = {name: list(told[name]) for name in ("shares",) if name in told}
        phase = {"sustain": self.sustain.as_builtins()} if self.sustain is not None else {}
        own = {"own_clients": self.own_clients.as_builtins()} if self.own_clients is not None else {}
        return {**told, **lists, **phase, **own, "probes": [list(probe) for probe in self.probes]}

    @classmethod
    def from_builtins(cls, data: Mapping[str, Any], faults: Sequence[str] = ()) -> RequestsResult:
        """Read what `as_builtins` gave."""
        told = {**data, "probes": tuple((status, right) for status, right in data["probes"])}
        if "shares" in told:
            told["shares"] = tuple(told["shares"])
        if "failure" in told:
            told["failure"] = OriginFailed.from_builtins(told["failure"])
        if "own_clients" in told:
            told["own_clients"] = OwnClients.from_builtins(told["own_clients"])
        if "sustain" in told:
            told["sustain"] = Sustained.from_builtins(told["sustain"])
        return cls(**told, faults=tuple(faults))
