"""One execution of streams: what it was asked for, what it came to, and why it is no measurement. Pure.

Octets are those of the application: no header of any protocol counts. `received_octets` arrived at the other
program. Rates are computed from these and never stored.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

KIND = "streams"
_UNSENT_RATIO = 0.05  # choice: programs pace by timers of their own; below it the answer is of another load
_OMITTED_RATIO = 0.1  # choice: far above what is on its way at once, far below what a wrong count would be


class Transport(StrEnum):
    """The protocol that carries a stream."""

    TCP = "tcp"
    UDP = "udp"


class Exchange(StrEnum):
    """What is exchanged: as much as goes one way, one message after the other there and back, or all to all.

    All to all: every process sends a block to every process, one operation after the other (MPI_Alltoall).
    """

    BULK = "bulk"
    PING_PONG = "ping_pong"
    ALL_TO_ALL = "all_to_all"


# choice: of the time asked for. Bulk transfers end within a few timer ticks of it; a program that measures
# round trips leaves out its own beginning and end.
_LEAST_DURATION = {Exchange.BULK: 0.9, Exchange.PING_PONG: 0.25, Exchange.ALL_TO_ALL: 0.25}
PAIR = 2  # the pods at the ends of a path; of an all-to-all test there may be more


class Way(StrEnum):
    """Which end sends a bulk test's data; the first end of a path asks in either."""

    FORWARD = "forward"
    REVERSE = "reverse"


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamsSpec:
    """One execution as asked for.

    `parallel` streams run at the same time; `message_octets` is what the application writes at once, of UDP
    the payload of a datagram. `window_octets` is the socket buffer that both ends ask for, 0: the system's
    own. `load_bps` is the payload's rate of all streams together, 0: as fast as it goes. What is sent in the
    first `omit_s` is in no count of the program's. `number` counts the executions of a cell.

    Of an all-to-all test `parallel` is the processes in each pod, `message_octets` the block from one process
    to another, `pods` the pods in all, on two nodes half of them on each.
    """

    workload: str
    transport: Transport
    exchange: Exchange
    way: Way
    parallel: int
    message_octets: int
    window_octets: int
    load_bps: int
    duration_s: float
    omit_s: int
    number: int = 0
    pods: int = PAIR

    def __post_init__(self) -> None:
        """Refuse what no execution can be."""
        if self.parallel < 1:
            raise ValueError(f"parallel: expected 1 or more, found {self.parallel}")
        if not 1 <= self.message_octets <= 1 << 20:
            raise ValueError(f"message_octets: expected 1..{1 << 20}, found {self.message_octets}")
        if self.window_octets < 0 or self.load_bps < 0 or self.omit_s < 0:
            raise ValueError("window_octets, load_bps, omit_s: expected 0 or more")
        if not 0 < self.duration_s < 1e6:
            raise ValueError(f"duration_s: expected above 0, found {self.duration_s}")
        if self.pods < PAIR or self.pods % PAIR:
            raise ValueError(f"pods: expected an even number of {PAIR} or more, found {self.pods}")
        if self.pods != PAIR and self.exchange is not Exchange.ALL_TO_ALL:
            raise ValueError(f"pods: expected {PAIR} with exchange {self.exchange}, found {self.pods}")

    @property
    def payload_ways(self) -> tuple[Way, ...]:
        """Directions in which payload goes; the interfaces of the path have to carry it in each of them."""
        return (self.way,) if self.exchange is Exchange.BULK else (Way.FORWARD, Way.REVERSE)

    @property
    def processes(self) -> int:
        """Processes of an all-to-all test in all pods together."""
        return self.parallel * self.pods

    @property
    def leaving_octets(self) -> int:
        """Payload that leaves each pod for the others in one all-to-all operation."""
        return self.parallel * (self.processes - self.parallel) * self.message_octets

    def as_builtins(self) -> dict[str, Any]:
        """Return what the journal holds."""
        told = asdict(self)
        if self.exchange is not Exchange.ALL_TO_ALL:
            del told["pods"]  # always a pair
        return {
            **told,
            "transport": self.transport.value,
            "exchange": self.exchange.value,
            "way": self.way.value,
        }

    @classmethod
    def from_builtins(cls, data: Mapping[str, Any]) -> StreamsSpec:
        """Read what `as_builtins` gave."""
        told = {
            **data,
            "transport": Transport(data["transport"]),
            "exchange": Exchange(data["exchange"]),
            "way": Way(data["way"]),
        }
        return cls(**told)


@dataclass(frozen=True, slots=True, kw_only=True)
class Crossing:
    """What one interface counted, in the data's direction, while an execution went over it.

    `at` says which interface of the path, without a name that is drawn anew at each deployment. The kernel
    counts an interface's frames with all headers, and a frame that is cut up only further on as one.
    """

    at: str
    octets: int
    frames: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamsResult:
    """One execution as it was.

    `elapsed_ns` is the time in which the counts were made, at the receiver; `process_ns` the whole life of
    the program that asked, `wall_ns` all of the execution with its look at the interfaces. Messages are
    datagrams of UDP, and requests of a ping-pong test; of a TCP bulk test there are none (0).
    `missing_messages` are datagrams that the receiver knows were not among those before its last (None: it
    tells none); what was on its way, or unread, when it ended is sent and not received as well. `retransmits`
    counts TCP's segments that were sent again (None: not told). `round_trip_ns` holds percentiles of single
    round trips, of which there were `round_trips`. `effective` are settings as they were in force, by name.
    `crossings` are the interfaces on the path, from the first end to the second. `faults` are sentences.

    Of an all-to-all test `operations` were made in `elapsed_ns`, `operation_ns` are percentiles of single
    ones as the first process saw them, and the octets are what left each pod for the others.
    """

    sent_octets: int = 0
    received_octets: int = 0
    sent_messages: int = 0
    received_messages: int = 0
    reordered_messages: int = 0
    missing_messages: int | None = None
    retransmits: int | None = None
    elapsed_ns: int = 0
    process_ns: int = 0
    wall_ns: int = 0
    round_trips: int = 0
    mean_round_trip_ns: int = 0
    round_trip_ns: Mapping[str, int] = field(default_factory=dict)
    effective: Mapping[str, int | str] = field(default_factory=dict)
    crossings: tuple[Crossing, ...] = ()
    faults: tuple[str, ...] = ()
    operations: int = 0
    operation_ns: Mapping[str, int] = field(default_factory=dict)

    @property
    def mean_operation_ns(self) -> float:
        """Time of one all-to-all operation; 0 when none was made."""
        return self.elapsed_ns / self.operations if self.operations else 0.0

    @property
    def goodput_bps(self) -> float:
        """Payload that arrived per second, bit/s; 0 when no time passed."""
        return self.received_octets * 8e9 / self.elapsed_ns if self.elapsed_ns else 0.0

    @property
    def lost_messages(self) -> int:
        """Datagrams, or requests, that were sent and not read: lost, or on their way when the test ended."""
        return max(0, self.sent_messages - self.received_messages)

    @property
    def lost_ratio(self) -> float | None:
        """Share of the datagrams sent that were not read, 0..1; None where none were counted."""
        if not self.sent_messages:
            return None
        return self.lost_messages / self.sent_messages

    def as_builtins(self) -> dict[str, Any]:
        """Return what the journal holds beside the faults, which stand in the line's head."""
        told = asdict(self)
        for name in ("faults", *(() if self.operations else ("operations", "operation_ns"))):
            del told[name]
        if self.missing_messages is None:
            del told["missing_messages"]
        return {**told, "crossings": [dict(crossing) for crossing in told["crossings"]]}

    @classmethod
    def from_builtins(cls, data: Mapping[str, Any], faults: Sequence[str] = ()) -> StreamsResult:
        """Read what `as_builtins` gave."""
        crossings = tuple(Crossing(**crossing) for crossing in data["crossings"])
        return cls(**{**data, "crossings": crossings, "faults": tuple(faults)})


def most_received(spec: StreamsSpec, result: StreamsResult) -> int:
    """Return the most octets that can have arrived of those that were sent.

    Where both ends leave out what was sent first they do so at times of their own: what was on its way then
    is counted by the receiver alone.
    """
    return int(result.sent_octets * (1 + _OMITTED_RATIO)) if spec.omit_s else result.sent_octets


def contradictions(spec: StreamsSpec, result: StreamsResult) -> tuple[str, ...]:
    """Say what in the counts of an execution cannot be: its payload missed the path, or came from nowhere."""
    found = []
    if result.received_octets > most_received(spec, result):
        found.append(f"{result.received_octets} octets arrived, {result.sent_octets} were sent")
    if result.received_messages > result.sent_messages:
        found.append(f"{result.received_messages} messages arrived, {result.sent_messages} were sent")
    found += [
        f"{crossing.at} carried {crossing.octets} octets, "
        f"the payload that arrived has {result.received_octets}"
        for crossing in result.crossings
        if crossing.octets < result.received_octets
    ]
    if not result.crossings:
        found.append("no interface of the path was looked at")
    return tuple(found)


def unsent(spec: StreamsSpec, result: StreamsResult) -> str:
    """Say that the sender did not offer the rate that was asked for; empty when it did, or none was."""
    asked_octets = spec.load_bps * spec.duration_s / 8
    if result.sent_octets >= asked_octets * (1 - _UNSENT_RATIO):
        return ""
    return f"{result.sent_octets} of {asked_octets:.0f} octets were sent: the rate asked for was not offered"


def shortcomings(spec: StreamsSpec, result: StreamsResult) -> tuple[str, ...]:
    """Say what of an execution did not come about as asked; empty when all did."""
    found = []
    least_s = spec.duration_s * _LEAST_DURATION[spec.exchange]
    if result.elapsed_ns < least_s * 1e9:
        found.append(f"it went on for {result.elapsed_ns / 1e9:.3f} s of {spec.duration_s:g} s")
    if spec.exchange is Exchange.PING_PONG and not result.round_trips:
        found.append("no message came back")
    elif spec.exchange is Exchange.ALL_TO_ALL and not result.operations:
        found.append("no operation was made")
    elif not result.received_octets:
        found.append("nothing arrived")
    return tuple(found)
