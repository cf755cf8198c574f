"""One execution of acts: pods or servers made and removed while frames are offered to them. Pure.

All times are nanoseconds from the execution's beginning, by one clock: that of the machine on which runner
and tester's ports are. Durations are computed from them and never stored.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

KIND = "acts"
SERVERS, POLICY, DRAINS = "servers", "policy", "drains"  # whose lives are servers, policies, or a pod's moves
MIGRATIONS, GUESTS = "migrations", "guests"  # whose lives are moves of a guest, or guests
OUTAGES = (DRAINS, MIGRATIONS)  # whose lives are times without frames
FITTING = "pods_fit"  # whose lives go on until the last was asked for
BEFORE_LOSS, STOPPED, AGAIN = "last_before_loss", "frames_stopped", "frames_again"  # steps of a drain
PRE_COPY, POST_COPY = "pre-copy", "post-copy"  # modes of a move
HALF_LOAD, MEMORY_WRITES = "half-load", "memory-writes"  # beside a move
GUEST_STOPPED, GUEST_RESUMED = "guest_stopped", "guest_resumed"  # steps of a move, as its maker tells them
ANNOUNCED = "guest_announced"  # when the tester heard the guest at its other place
BETWEEN_CLOCKS_NS = 5_000_000  # choice: of a wall clock that is slewed by 0.5 ms a second, for ten seconds
RESOLUTION_RATIO = 0.1  # choice: what may lie between the frame before and the first that came, of the answer


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
    the other. `policies` others stand where one is made. `mode` says how a guest moves, and `beside`
    what it does besides; both are empty of others. With `counts_failures` a start that fails is an
    answer, and does not end the execution. `number` counts the executions of a cell.
    """

    workload: str
    cycles: int
    frame_octets: int
    interval_us: int
    first_frame_s: float
    at_once: int = 1
    policies: int = 0
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
            GUESTS: "guest",
        }.get(self.workload, "pod")

    @property
    def nouns(self) -> str:
        """The same of several."""
        return "policies" if self.workload == POLICY else f"{self.noun}s"

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
        """Of a drain or a move: from the first lost frame until one came after the last; 0 without loss."""
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
    def cycles_per_s(self) -> float | None:
        """Pods made, forwarding and removed per second; None unless the last one is gone."""
        if not self.lives or self.lives[-1].removed_ns is None:
            return None
        took_ns = self.lives[-1].removed_ns - self.lives[0].asked_ns
        return len(self.lives) * 1e9 / took_ns if took_ns > 0 else None

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


def contradictions(spec: ActsSpec, result: ActsResult) -> tuple[str, ...]:
    """Say what in the times and counts of an execution cannot be."""
    found = []
    last_ns = others_ns = 0
    for number, life in enumerate(result.lives, start=1):
        if (number - 1) % spec.at_once == 0:  # it and those beside it come after all that were before
            others_ns = last_ns
        before_ns = others_ns
        for name, at_ns in life.ordered:
            if at_ns < before_ns:
                found.append(
                    f"{spec.noun} {number}: {name} at {at_ns} ns, what came before it at {before_ns} ns"
                )
            before_ns = max(before_ns, at_ns)
        last_ns = max(last_ns, before_ns)
        first_ns = life.first_frame_ns
        if first_ns is not None and not life.asked_ns <= (life.not_before_ns or life.asked_ns) <= first_ns:
            found.append(
                f"{spec.noun} {number}: the frame before the first was offered at {life.not_before_ns} ns"
            )
        if life.received_frames + life.bypassed_frames > life.offered_frames:
            came, offered = life.received_frames + life.bypassed_frames, life.offered_frames
            found.append(f"{spec.noun} {number}: {came} frames came, {offered} were offered")
        stopped = spec.workload in (POLICY, *OUTAGES)
        if spec.workload in OUTAGES:
            found += _impossible_outage(f"{spec.noun} {number}", life)
        if spec.workload == MIGRATIONS:
            found += _impossible_move(spec, f"{spec.noun} {number}", life)
        found += _impossible_figures(spec, f"{spec.noun} {number}", life)
        if not stopped and (first_ns is None) != (life.received_frames == 0):
            found.append(
                f"{spec.noun} {number}: {life.received_frames} frames came, the first at {first_ns} ns"
            )
        late = [
            (name, at)
            for steps, from_ns in ((life.steps, life.asked_ns), (life.removal_steps, life.remove_asked_ns))
            for name, at in steps.items()
            if from_ns is None or not from_ns <= at <= result.wall_ns
        ]
        if late:
            found.append(f"{spec.noun} {number}: {late[0][0]} at {late[0][1]} ns is outside of its life")
        if stopped:  # both are of frames that came in the end, or that did not, or that another pod forwarded
            continue
        if first_ns is not None and life.last_frame_ns is not None and life.last_frame_ns < first_ns:
            found.append(
                f"{spec.noun} {number}: the last frame came at {life.last_frame_ns} ns, before the first"
            )
    if last_ns > result.wall_ns:
        found.append(f"what it tells lies at {last_ns} ns, it lasted {result.wall_ns} ns")
    return (*found, *_impossible_failures(spec, result))


def _impossible_failures(spec: ActsSpec, result: ActsResult) -> Iterator[str]:
    """Say what in the failed starts of an execution cannot be."""
    known = {failure.value for failure in Failure}
    for number, life in enumerate(result.lives, start=1):
        if life.failed and not spec.counts_failures:
            yield f"{spec.noun} {number}: counted as failed, where a failure ends the execution"
        if life.failed and life.failed not in known:
            yield f"{spec.noun} {number}: failed as {life.failed}, not as {' or '.join(sorted(known))}"
        if life.failed_by and not life.failed:
            yield f"{spec.noun} {number}: {life.failed_by} of a start that did not fail"


def _impossible_outage(which: str, life: Life) -> list[str]:
    """Say what in an outage cannot be: loss without its moments, moments in another order."""
    moments = [life.steps[name] for name in (BEFORE_LOSS, STOPPED, AGAIN) if name in life.steps]
    found = []
    if moments != sorted(moments) or len(moments) not in (0, 3):
        found.append(f"{which}: loss began and ended at {', '.join(map(str, moments))} ns")
    if moments and life.lost_frames <= 0:
        found.append(f"{which}: an outage in which {life.lost_frames} frames were lost")
    return found


def _impossible_move(spec: ActsSpec, which: str, life: Life) -> list[str]:
    """Say what of a move cannot be: frames of a guest that stood, figures that exclude another."""
    told, found = life.told, []
    if spec.mode == PRE_COPY and told.get("asked_pages", 0):
        found.append(f"{which}: by {spec.mode}, and its other place asked for {told['asked_pages']} pages")
    return found + _stood_and_forwarded(which, life)


def _impossible_figures(spec: ActsSpec, which: str, life: Life) -> list[str]:
    """Say which figures cannot stand together, or are of a load that was not asked for."""
    told = life.told
    found = [
        f"{which}: {less} is {told[less]}, {more} {told.get(more, 'not told')}"
        for less, more in (
            ("beside_received_frames", "beside_offered_frames"),
            ("qemu_downtime_ns", "qemu_total_ns"),
        )
        if told.get(less, 0) > told.get(more, 0)
    ]
    if 2 * told.get("beside_fps", 0) > told.get("carried_fps", 0):
        found.append(
            f"{which}: beside_fps is {told['beside_fps']}, more than half of {told.get('carried_fps', 0)}"
        )
    if (spec.beside == HALF_LOAD) != ("carried_fps" in told):
        found.append(
            f"{which}: {'a' if 'carried_fps' in told else 'no'} load beside, asked for {spec.beside!r}"
        )
    return found


def _stood_and_forwarded(which: str, life: Life) -> list[str]:
    """Say which frames were forwarded between the guest's stop and its new begin."""
    stopped, resumed = (life.steps.get(name) for name in (GUEST_STOPPED, GUEST_RESUMED))
    if stopped is None or resumed is None:
        return []
    if stopped > resumed:
        return [f"{which}: the guest ran at {resumed} ns at its other place, and stopped at {stopped} ns"]
    found = []
    before_ns, again_ns = life.steps.get(BEFORE_LOSS), life.first_frame_ns
    if before_ns is not None and before_ns > stopped + BETWEEN_CLOCKS_NS:
        found.append(
            f"{which}: a frame came that was offered at {before_ns} ns, its guest stood from {stopped} ns"
        )
    if again_ns is not None and again_ns + BETWEEN_CLOCKS_NS < resumed:
        found.append(f"{which}: a frame came again at {again_ns} ns, its guest ran from {resumed} ns")
    return found


def shortcomings(spec: ActsSpec, result: ActsResult) -> tuple[str, ...]:
    """Say what of an execution did not come about as asked; empty when all did."""
    found = []
    ended = spec.workload == FITTING and bool(result.lives) and bool(result.lives[-1].failed)
    if len(result.lives) != spec.cycles and not ended:
        found.append(f"{len(result.lives)} of {spec.cycles} {spec.nouns} were made")
    for number, life in enumerate(result.lives, start=1):
        if life.failed:
            continue
        if life.start_ns is None:
            what = "no frame was stopped" if spec.workload == POLICY else "no frame came out"
            found.append(f"{spec.noun} {number}: {what} within {spec.first_frame_s:g} s")
            continue
        if spec.workload in OUTAGES:
            found += _unclear_outage(f"{spec.noun} {number}", life)
        if spec.workload == MIGRATIONS and not {GUEST_STOPPED, GUEST_RESUMED} <= set(life.steps):
            found.append(f"{spec.noun} {number}: it is not told when the guest stopped and ran again")
        if life.removal_ns is None:
            found.append(f"{spec.noun} {number} was not removed")
        if spec.counts_failures:
            continue  # whether it came to forward is the answer, and no time
        if life.not_before_ns is None:
            # the very first one came: something forwarded already, and the moment is not known
            found.append(f"{spec.noun} {number}: no frame was offered in vain before the first that came")
            continue
        apart_ns = (life.first_frame_ns or 0) - life.not_before_ns
        if apart_ns > life.start_ns * RESOLUTION_RATIO:
            found.append(
                f"{spec.noun} {number}: for {apart_ns / 1e6:.1f} ms before the first frame came "
                "none was offered"
            )
    return tuple(found)


def _unclear_outage(which: str, life: Life) -> list[str]:
    """Say what an outage was not seen to the end by, or why its begin is not known well enough."""
    outage_ns = life.outage_ns
    if outage_ns is None:
        return [f"{which}: {life.lost_frames} frames were lost, and it was not seen until when"]
    if outage_ns == 0:
        return []
    apart_ns = life.steps[STOPPED] - life.steps[BEFORE_LOSS]
    if apart_ns <= outage_ns * RESOLUTION_RATIO:
        return []
    return [f"{which}: for {apart_ns / 1e6:.1f} ms before the first lost frame none was offered"]
