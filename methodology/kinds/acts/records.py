"""One execution of acts: pods or servers made and removed while frames are offered to them. Pure.

All times are nanoseconds from the execution's beginning, by one clock: that of the machine on which runner
and tester's ports are. Durations are computed from them and never stored.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

KIND = "acts"
SERVERS, POLICY, DRAINS = "servers", "policy", "drains"  # whose lives are servers, policies, or a pod's moves
MIGRATIONS, GUESTS = "migrations", "guests"  # whose lives are moves of a guest, or guests
SERVER_MOVES = "server_moves"  # whose lives are moves of a server
MOVES = (MIGRATIONS, SERVER_MOVES)
OUTAGES = (DRAINS, *MOVES)  # whose lives are times without frames
FILTERS, FLOWS = "filter_exchanges", "flow_exchanges"  # whose lives are exchanges of a configuration
EXCHANGES = (FILTERS, FLOWS)
GUEST_RESIZES, POD_RESIZES = "guest_resizes", "pod_resizes"  # whose lives are changes of a size
SERVER_RESIZES = "server_resizes"  # the same of a server, which is stopped and started for it
REPLICAS = "replicas"  # whose lives are changes of how many there are of a function
RESIZES = (GUEST_RESIZES, POD_RESIZES, SERVER_RESIZES, REPLICAS)
FITTING = "pods_fit"  # whose lives go on until the last was asked for
BEFORE_LOSS, STOPPED, AGAIN = "last_before_loss", "frames_stopped", "frames_again"  # steps of a drain
PRE_COPY, POST_COPY = "pre-copy", "post-copy"  # modes of a move
POST_COPY_BEGAN = "post_copy_began"  # a step of a move: QEMU goes on by post-copy, by its event
GUEST_BOOTS = "guest_boots"  # told of a server's move: how often its guest has booted until frames came again
ATOMIC, FLUSH_FIRST = "atomic", "flush-first"  # modes of an exchange
TABLE_FLUSHED, TABLE_LOADING, TABLE_LOADED = "table_flushed", "table_loading", "table_loaded"  # its steps
MEMORY, CPUS = "memory", "cpus"  # modes of a resize: of what
SIZE_ASKED, SIZE_REACHED = "size_asked", "size_reached"  # its steps
SIZE_KEPT = "size_kept"  # the same, of a server
SHARES_SETTLED = "shares_settled"  # when the last flow came by the replica that has it in the end
_SIZE_UNITS = {  # of a pod's CPUs it is their time in each period of 100 ms
    (GUEST_RESIZES, MEMORY): "octets",
    (GUEST_RESIZES, CPUS): "cpus",
    (POD_RESIZES, MEMORY): "octets",
    (POD_RESIZES, CPUS): "quota_us",
    (SERVER_RESIZES, MEMORY): "octets",
    (SERVER_RESIZES, CPUS): "cpus",
    (REPLICAS, ""): "replicas",
}
HALF_LOAD, MEMORY_WRITES = "half-load", "memory-writes"  # beside a move
GUEST_STOPPED, GUEST_RESUMED = "guest_stopped", "guest_resumed"  # steps of a move, as its maker tells them
ANNOUNCED = "guest_announced"  # when the tester heard the guest at its other place


class Failure(StrEnum):
    """What a start that failed did not come to: the first of these that it lacked."""

    NOT_SCHEDULED = "not_scheduled"  # no node had room for it, or a quota none
    NO_NETWORK = "no_network"  # a network was not attached
    NOT_BOOTED = "not_booted"  # its program, container or machine did not come to run
    NO_FRAME = "no_frame"  # it ran, and no frame came out in time


@dataclass(frozen=True, slots=True, kw_only=True)
class ActsSpec:
    """One execution as asked for.

    `cycles` pods or servers are made and removed, `at_once` at the same time, then as many again. From before
    each request until after the removal a frame of `frame_octets` (FCS included) is offered to it every
    `interval_us` at the first of the tester's ports. `first_frame_s` is within what a frame must come out at
    the other. `policies` others stand where one is made. `mode` says how a guest moves or a configuration
    is exchanged, or what is resized, and `beside` what goes on besides; both are empty of others. `entries`
    are the rules or flows of each configuration that is exchanged. With `counts_failures` a start that fails
    is an answer, and does not end the execution. `number` counts the executions of a cell.
    """

    workload: str
    cycles: int
    frame_octets: int
    interval_us: int
    first_frame_s: float
    at_once: int = 1
    policies: int = 0
    entries: int = 0
    counts_failures: bool = False
    mode: str = ""
    beside: str = ""
    number: int = 0

    @property
    def noun(self) -> str:
        """What is made, as sentences call one of them."""
        return {
            SERVERS: "server",
            POLICY: "policy",
            DRAINS: "drain",
            MIGRATIONS: "move",
            SERVER_MOVES: "move",
            GUESTS: "guest",
            FILTERS: "exchange",
            FLOWS: "exchange",
            GUEST_RESIZES: "resize",
            POD_RESIZES: "resize",
            SERVER_RESIZES: "resize",
            REPLICAS: "resize",
        }.get(self.workload, "pod")

    @property
    def nouns(self) -> str:
        """The same of several."""
        return "policies" if self.workload == POLICY else f"{self.noun}s"

    @property
    def size_unit(self) -> str:
        """The unit of what is resized, which ends the names of its sizes; empty of others."""
        return _SIZE_UNITS.get((self.workload, self.mode), "")

    def as_builtins(self) -> dict[str, Any]:
        """Return what the journal holds."""
        return asdict(self)

    @classmethod
    def from_builtins(cls, data: Mapping[str, Any]) -> ActsSpec:
        """Read what `as_builtins` gave."""
        return cls(**data)


@dataclass(frozen=True, slots=True, kw_only=True)
class Life:
    """One pod or server from the request until it is gone.

    `steps` are what its maker tells of its start, by name, `removal_steps` of its removal. `not_before_ns` is
    when the last was offered that did not come before `first_frame_ns`, when the first came out: it began to
    forward in between. `last_frame_ns` is when the last one came. None: it did not come to that.
    `offered_frames` were sent to the device's address; `received_frames` are those that came, each once,
    `reordered_frames` those that came after a later one. A frame that fewer routers forwarded than stand on
    the path went round the pod: it is one of `bypassed_frames`, and of no other count. `failed` is a
    `Failure` of a start that is counted as failed, `failed_by` the id of the error that said so; both are
    empty of others. `host` is what its host had left when it had been asked for and came to forward.

    A policy that forbids frames is the other way round: `first_frame_ns` is when the first was offered that
    it stopped, `not_before_ns` when the last that still came was offered, `last_frame_ns` when that came out,
    and `removed_ns` when frames came out again after `remove_asked_ns`. All others it tells alike.

    A node's drain is told of both pods: `asked_ns` is the request to evict the first, `last_frame_ns` when
    the last came that it forwarded, `first_frame_ns` when the first came that the other did. The node is
    asked to take pods again at `remove_asked_ns`, and does at `removed_ns`. Where frames were lost, the steps
    have `last_before_loss` and `frames_stopped` (when the last that came before, and the first that was lost,
    were offered) and `frames_again` (when the first came after the last that was lost).

    The move of a guest is told as a drain: `first_frame_ns` is when the first frame came that was forwarded
    at the other place, and what is left of it at the first place ends at `removed_ns`. `told` are figures of
    its maker and of the load beside it, whose units end their names.

    An exchange of a configuration is told of both: `first_frame_ns` is when the first frame came that the new
    one let through, `not_before_ns` when the frame before it was offered, `last_frame_ns` when the last came
    that the old one did. A frame tells by a mark by which one it came; without a mark it went round both.
    Nothing is removed: the next exchange is the way back.

    A resize is told alike: `first_frame_ns` is when the first frame came of those offered after
    the new size was read back, `last_frame_ns` when the last of those before did.
    """

    asked_ns: int
    steps: Mapping[str, int] = field(default_factory=dict)
    removal_steps: Mapping[str, int] = field(default_factory=dict)
    ready_ns: int | None = None
    not_before_ns: int | None = None
    first_frame_ns: int | None = None
    remove_asked_ns: int | None = None
    last_frame_ns: int | None = None
    removed_ns: int | None = None
    offered_frames: int = 0
    received_frames: int = 0
    reordered_frames: int = 0
    bypassed_frames: int = 0
    failed: str = ""
    failed_by: str = ""
    host: Mapping[str, int] = field(default_factory=dict)
    told: Mapping[str, int] = field(default_factory=dict)

    @property
    def start_ns(self) -> int | None:
        """From the request to the first forwarded frame."""
        return None if self.first_frame_ns is None else self.first_frame_ns - self.asked_ns

    @property
    def removal_ns(self) -> int | None:
        """From the request to remove it until it was gone."""
        if self.removed_ns is None or self.remove_asked_ns is None:
            return None
        return self.removed_ns - self.remove_asked_ns

    @property
    def lost_frames(self) -> int:
        """How many of the frames that were offered neither came nor went round."""
        return self.offered_frames - self.received_frames - self.bypassed_frames

    @property
    def outage_ns(self) -> int | None:
        """Of a drain, a move, an exchange: from the first lost frame until one came after the last; or 0."""
        if STOPPED in self.steps and AGAIN in self.steps:
            return self.steps[AGAIN] - self.steps[STOPPED]
        return 0 if self.lost_frames == 0 else None

    @property
    def ordered(self) -> tuple[tuple[str, int], ...]:
        """The moments that must follow one another, by name, as far as they are known."""
        told = {
            "the request": self.asked_ns,
            "the first frame": self.first_frame_ns,
            "the request to remove it": self.remove_asked_ns,
            "its end": self.removed_ns,
        }
        return tuple((name, at) for name, at in told.items() if at is not None)


@dataclass(frozen=True, slots=True, kw_only=True)
class ActsResult:
    """One execution as it was: each life in its order, `wall_ns` all of it. `faults` are sentences."""

    lives: tuple[Life, ...] = ()
    wall_ns: int = 0
    faults: tuple[str, ...] = ()

    @property
    def took_ns(self) -> int | None:
        """From the first request until the last is gone; None unless all are."""
        gone_ns = [life.removed_ns for life in self.lives if life.removed_ns is not None]
        if not gone_ns or len(gone_ns) < len(self.lives):
            return None
        return max(gone_ns) - min(life.asked_ns for life in self.lives)

    @property
    def cycles_per_s(self) -> float | None:
        """Pods made, forwarding and removed per second; None unless all are gone."""
        return len(self.lives) * 1e9 / self.took_ns if self.took_ns else None

    @property
    def stood(self) -> int:
        """How many were made before the first that failed."""
        failed = (number for number, life in enumerate(self.lives) if life.failed)
        return next(failed, len(self.lives))

    @property
    def batch_ns(self) -> int | None:
        """From the first request until each of them had forwarded a frame; None unless all did."""
        first_frames_ns = [life.first_frame_ns for life in self.lives]
        if not first_frames_ns or None in first_frames_ns:
            return None
        return max(at_ns or 0 for at_ns in first_frames_ns) - min(life.asked_ns for life in self.lives)

    def as_builtins(self) -> dict[str, Any]:
        """Return what the journal holds beside the faults, which stand in the line's head."""
        told = asdict(self)
        del told["faults"]
        return {**told, "lives": [dict(live) for live in told["lives"]]}

    @classmethod
    def from_builtins(cls, data: Mapping[str, Any], faults: Sequence[str] = ()) -> ActsResult:
        """Read what `as_builtins` gave."""
        lives = tuple(Life(**live) for live in data["lives"])
        return cls(lives=lives, wall_ns=data["wall_ns"], faults=tuple(faults))
