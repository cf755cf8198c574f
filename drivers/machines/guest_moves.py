"""A routing guest that stands at one of two nodes, and is moved to the other while it runs (live migration).

By pre-copy the guest runs at its first place until what is left of its memory can be sent within the time
limit; by post-copy it goes on at the second place at once, and its memory follows. Ids: MOVE-01 the second
place did not take it, MOVE-02 the move was cancelled, MOVE-03 it did not end in time or tells no moments,
MOVE-06 the guest ended once it had moved.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field

from bmwg.drivers.api.protocols import JsonValue, Node
from bmwg.drivers.machines import hosted, moving_machine
from bmwg.drivers.ports import interfaces
from bmwg.methodology.errors import DriverError, TestbedError, ToolkitError

PORT = 4444  # choice: nothing else listens at these nodes
BANDWIDTH_OCTETS_PER_S = 64 << 20  # choice: QEMU's limit; about half of a link of 1 Gbit/s
DOWNTIME_LIMIT_MS = 300  # QEMU's own default: pre-copy ends when the rest can be sent within it
_LOOK_S = 0.02
_BOOT_S = 120.0
_CANCEL_S = 30.0
_START_S = 60.0  # choice: its archive, monitor and NICs, and QEMU's end where one of them fails
_LAST_WORD = 240  # choice: what ended it stands first; a kernel that panics writes a page
_ENDED = ("completed", "failed", "cancelled")
_ROUTES = "routes"  # what the guest says on its console when it does


@dataclass(frozen=True, slots=True, kw_only=True)
class MovePlace:
    """One of the two nodes: its address on the link that memory is sent by, its bridges, one a side."""

    node: Node
    address: str
    bridges: tuple[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class GuestIntent:
    """The guest that is to stand: the same at both places."""

    name: str
    taps: tuple[str, str]
    macs: tuple[str, str]
    memory_octets: int
    words: str

    def as_arguments(self) -> dict[str, JsonValue]:
        """Return what `moving_machine.start` takes."""
        return {
            "name": self.name,
            "taps": list(self.taps),
            "macs": list(self.macs),
            "memory_octets": self.memory_octets,
            "words": self.words,
        }


@dataclass(slots=True, kw_only=True)
class Move:
    """One move as QEMU tells it: its moments in ns of the monotonic clock, and its own figures."""

    asked_ns: int
    steps: dict[str, int] = field(default_factory=dict)
    told: dict[str, int] = field(default_factory=dict)


class MovingGuest:
    """The guest, and where it is. Leaving it to itself ends it nowhere: whoever made it calls `end`."""

    def __init__(self, intent: GuestIntent, places: Sequence[MovePlace]) -> None:
        self.intent = intent
        self.here, self.there = places
        self.evidence: Mapping[str, JsonValue] = {}
        self._follows = False  # of a move by post-copy: its memory follows it, and is whole at neither place

    def start(self) -> None:
        """Have QEMU boot it at its first place, and wait for nothing else. Raises TestbedError VM-04."""
        self.evidence = self._start(self.here, incoming=False)

    def begin(self) -> None:
        """Boot it at its first place. Raises TestbedError VM-04, VM-05."""
        self.start()
        end_s = time.monotonic() + _BOOT_S
        while not any(_ROUTES in line for line in self.console()):
            fault = self.here.node.call(hosted.fault, name=self.intent.name)
            if fault is not None or time.monotonic() > end_s:
                raise TestbedError(
                    "VM-05",
                    f"guest {self.intent.name} did not boot",
                    expected=f"that it routes within {_BOOT_S:g} s",
                    found=fault or " | ".join(self.console()[-5:]) or "silence",
                )
            time.sleep(_LOOK_S)

    def console(self) -> list[str]:
        """Return the last lines that it wrote where it is."""
        return self.here.node.call(hosted.console, name=self.intent.name)

    def _start(self, place: MovePlace, *, incoming: bool) -> Mapping[str, JsonValue]:
        return place.node.call_within(
            _START_S,
            moving_machine.start,
            bridges=list(place.bridges),
            incoming=incoming,
            **self.intent.as_arguments(),
        )

    def ask(self, command: str, **arguments: JsonValue) -> JsonValue:
        """Run a command of QEMU's monitor where it is. Raises DriverError VM-07, VM-08."""
        return self._ask(self.here, command, **arguments)

    def _ask(self, place: MovePlace, command: str, **arguments: JsonValue) -> JsonValue:
        return place.node.call(
            moving_machine.ask, name=self.intent.name, command=command, arguments=arguments
        )

    def moved(self, *, post_copy: bool, within_s: float) -> Move:
        """Have the guest moved to the other place, where it then is.

        What is left of it at the first place does not run, and ends by `leave`. When it cannot be moved, the
        other place is cleared, the guest still runs where it was, and what was wrong is raised: TestbedError
        VM-04, MOVE-01 to MOVE-03.
        """
        move = Move(asked_ns=time.monotonic_ns())
        try:
            self._start(self.there, incoming=True)
            move.steps["destination_ready"] = time.monotonic_ns()
            self._prepare(post_copy)
            uri = f"tcp:{self.there.address}:{PORT}"
            self._ask(self.there, "migrate-incoming", uri=uri)
            move.steps["copy_began"] = time.monotonic_ns()
            self._ask(self.here, "migrate", uri=uri)
            move.told = self._watched(post_copy, within_s)
            move.steps |= self._moments(move)
        except BaseException as error:
            self.there.node.call(hosted.stop, name=self.intent.name)
            if isinstance(error, ToolkitError):
                self._goes_on(error)
            raise
        self.here, self.there = self.there, self.here
        return move

    def _prepare(self, post_copy: bool) -> None:
        wanted = {"events": True, "return-path": True, "postcopy-ram": post_copy}
        capabilities = [{"capability": name, "state": state} for name, state in wanted.items()]
        for place in (self.here, self.there):
            self._ask(place, "migrate-set-capabilities", capabilities=capabilities)
        limits: dict[str, JsonValue] = {
            "max-bandwidth": BANDWIDTH_OCTETS_PER_S,
            "max-postcopy-bandwidth": BANDWIDTH_OCTETS_PER_S,
            "downtime-limit": DOWNTIME_LIMIT_MS,
        }
        self._ask(self.here, "migrate-set-parameters", **limits)
        for place in (self.here, self.there):  # what was said before is of no move
            place.node.call(moving_machine.moments, name=self.intent.name)

    def _watched(self, post_copy: bool, within_s: float) -> dict[str, int]:
        """Wait for the end of the move; return QEMU's figures. Raises TestbedError MOVE-01 to MOVE-03."""
        end_s = time.monotonic() + within_s
        self._follows = late = False
        while True:
            found = self._ask(self.here, "query-migrate")
            status = str(found.get("status", ""))
            if status in _ENDED:
                break
            if post_copy and not self._follows and status == "active":
                self._ask(self.here, "migrate-start-postcopy")
                self._follows = True
            if time.monotonic() > end_s and not late:
                late = True
                end_s += _CANCEL_S
                self._ask(self.here, "migrate_cancel")
            elif time.monotonic() > end_s:
                break
            time.sleep(_LOOK_S)
        if status == "completed":
            return _figures(found)
        name, ram = f"move of guest {self.intent.name}", found.get("ram", {})
        sent = f"{ram.get('transferred', 0)} octets sent, {ram.get('remaining', 0)} left"
        if late:
            raise TestbedError(
                "MOVE-03", name, expected=f"its end within {within_s:g} s", found=f"{status}, {sent}"
            )
        if status == "cancelled":
            raise TestbedError("MOVE-02", name, expected="its end", found=f"cancelled, {sent}")
        why = str(found.get("error-desc", ""))
        raise TestbedError(
            "MOVE-01", name, expected="that the other place takes it", found=f"{status}: {why}, {sent}"
        )

    def _moments(self, move: Move) -> dict[str, int]:
        """Return when the guest stopped here and ran there. Raises DriverError MOVE-03."""
        here, there = (
            place.node.call(moving_machine.moments, name=self.intent.name)
            for place in (self.here, self.there)
        )
        if "STOP" not in here or "RESUME" not in there or "MIGRATION" not in here:
            raise DriverError(
                "MOVE-03",
                f"move of guest {self.intent.name}",
                expected="STOP at its first place, RESUME at the second",
                found=f"{', '.join(here) or 'nothing'}; {', '.join(there) or 'nothing'}",
            )
        switched = here.get("MIGRATION postcopy-active")
        return {
            "guest_stopped": here["STOP"],
            "guest_resumed": there["RESUME"],
            "move_completed": here["MIGRATION"],
            **({} if switched is None else {"post_copy_began": switched}),
        }

    def _goes_on(self, error: ToolkitError) -> None:
        """Have the guest run at its first place again, where QEMU has stopped it; say it when it does not.

        Whose memory was following it is not whole there, and is left as it is.
        """
        status = self._ask(self.here, "query-status")["status"]
        if status in ("paused", "postmigrate") and not self._follows:
            self._ask(self.here, "cont")
        fault = self.here.node.call(hosted.fault, name=self.intent.name)
        if fault is not None:
            raise DriverError(
                error.error_id,
                f"{error.what}, and it no longer runs",
                expected="that it runs where it was",
                found=f"{error.found}; {fault}",
            ) from error

    def require_running(self) -> None:
        """Raise TestbedError MOVE-06 where it has moved and no longer runs, with what was its last word."""
        fault = self.here.node.call(hosted.fault, name=self.intent.name)
        if fault is not None:
            raise TestbedError(
                "MOVE-06",
                f"guest {self.intent.name}, once it had moved",
                expected="that it runs at its other place",
                found=fault[:_LAST_WORD],
            )

    @property
    def macs(self) -> tuple[str, str]:
        """The MAC addresses of its interfaces."""
        return self.intent.macs

    def forwarded(self) -> int:
        """How many frames have left it by its second interface, at the place where it is."""
        counters = self.here.node.call(interfaces.counters, interface=self.intent.taps[1])
        return int(counters["rx_packets"])  # of a tap: what its guest has sent

    def shown(self) -> dict[str, int]:
        """Nothing further shows that it is the same guest: one that boots anew ends (-no-reboot)."""
        return {}

    def leave(self) -> None:
        """End what is left of it at the place that it has left."""
        self.there.node.call(hosted.stop, name=self.intent.name)

    def end(self) -> None:
        """End it wherever it is, at one place also where the other one fails. Idempotent."""
        with ExitStack() as stack:
            for place in (self.there, self.here):
                stack.callback(place.node.call, hosted.stop, name=self.intent.name)


def _figures(found: Mapping[str, JsonValue]) -> dict[str, int]:
    """Return QEMU's own figures of a move that is completed."""
    ram = found["ram"]
    return {
        "qemu_downtime_ns": int(found["downtime"]) * 1_000_000,
        "qemu_total_ns": int(found["total-time"]) * 1_000_000,
        "qemu_setup_ns": int(found["setup-time"]) * 1_000_000,
        "ram_octets": int(ram["transferred"]),
        "guest_octets": int(ram["total"]),
        "passes": int(ram["dirty-sync-count"]),
        "asked_pages": int(ram["postcopy-requests"]),
    }
