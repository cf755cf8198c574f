"""A server that routes and is moved by Nova from one compute host to another while it runs (live migration).

QEMU's events are written down at both hosts. The server says on its console by which id its kernel's boot is
known: it is the same at both hosts, for a guest that has moved. Ids: MOVE-01 the other host did not take it,
MOVE-03 it did not end in time or tells no moments, MOVE-06 it ended or was reset once it had moved, MOVE-07
its CPU is of another model than the one that all hosts name, VM-05 it does not boot.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bmwg.drivers.api.protocols import JsonValue, Node
from bmwg.drivers.machines.guest_moves import Move
from bmwg.drivers.machines.router_initramfs import BOOT, SAY
from bmwg.drivers.openstack import node as cloud_node
from bmwg.drivers.openstack import settings, undone
from bmwg.drivers.openstack.servers import Server, ServerPort, Workshop
from bmwg.drivers.ports import interfaces
from bmwg.drivers.watch import wall_clock
from bmwg.methodology.errors import DriverError, TestbedError, ToolkitError

_LOOK_S = 0.1  # choice: a move takes seconds
_CANCEL_S = 30.0
_SAYS_S = 10.0  # choice: events are written down at once
_ROUTES = f"{SAY} routes"
_BOOT_S = 240.0  # choice: a translated guest took 40 s on a busy host
_BOOT_SAYS_S = 30.0  # choice: the guest says it each second, and may be translated on a busy host
_BOOTED = re.compile(rf"{SAY} {BOOT} ([0-9a-f]{{8}}(?:-[0-9a-f]{{4}}){{3}}-[0-9a-f]{{12}})")
_FIGURES = {  # of libvirt's account of the move: its name, ours, and what one of it is of ours
    "downtime": ("libvirt_downtime_ns", 1_000_000),
    "time_elapsed": ("libvirt_total_ns", 1_000_000),
    "memory_processed": ("ram_octets", 1),
    "memory_total": ("guest_octets", 1),
    "memory_iteration": ("passes", 1),
    "memory_postcopy_requests": ("asked_pages", 1),
    "disk_processed": ("disk_octets", 1),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class HostPlace:
    """A compute host: its node, the folder of what it writes down, and its name as Nova has it."""

    node: Node
    work: str
    name: str

    def events(self, offset: int = 0) -> tuple[list[dict[str, Any]], int]:
        """Return the events since a place of the file, and the place of its end."""
        path = Path(self.work, "logs", f"{settings.QEMU_EVENTS}.log")
        with suppress(OSError), path.open("rb") as file:
            file.seek(offset)
            data = file.read()
            whole = data[: data.rfind(b"\n") + 1]
            lines = [line for line in whole.decode(errors="replace").splitlines() if line.startswith("{")]
            return [json.loads(line) for line in lines], offset + len(whole)
        return [], offset


class MovingServer:
    """The server, and where it is. Whoever has made it deletes it."""

    def __init__(
        self, workshop: Workshop, server: Server, places: Sequence[HostPlace], *, memory_octets: int
    ) -> None:
        self._workshop, self._server, self._memory_octets = workshop, server, memory_octets
        self.here, self.there = places
        self.macs = (server.ports[0].mac, server.ports[1].mac)
        self._came = 0  # where its events at the host begin, to which it has come
        self._boots: set[str] | None = set()  # that it has told; None: it was silent, and they are not known

    def begin(self) -> None:
        """Wait until it routes, as it says itself. Raises TestbedError VM-05."""
        end_s = time.monotonic() + _BOOT_S
        while True:
            said = self._console()
            if any(_ROUTES in line for line in said):
                return
            if time.monotonic() > end_s:
                raise TestbedError(
                    "VM-05",
                    f"server {self._server.name} did not boot",
                    expected=f"that it routes within {_BOOT_S:g} s",
                    found=" | ".join(said[-5:]) or "silence",
                )
            time.sleep(_LOOK_S)

    def moved(self, *, post_copy: bool, within_s: float) -> Move:
        """Have Nova move it to the other host, where it then is; with `post_copy` Nova is told to do it so.

        Where it cannot be moved the server runs where it was, and one that came too late runs at the other
        host: `here` is where it runs in either case. Raises MOVE-01, MOVE-03.
        """
        marks = {place.name: place.events()[1] for place in (self.here, self.there)}
        move = Move(asked_ns=time.monotonic_ns())
        try:
            self._do(
                "live migration",
                lambda sdk: sdk.compute.live_migrate_server(
                    self._server.server_id, host=self.there.name, block_migration="auto"
                ),
            )
            move.steps["server_accepted"] = time.monotonic_ns()
            self._watched(move, marks[self.here.name], post_copy, within_s)
            move.steps["server_active"] = time.monotonic_ns()
            self._account(move, marks)
        except ToolkitError:
            self._find(marks)
            raise
        self._find(marks)
        return move

    def _find(self, marks: Mapping[str, int]) -> None:
        """Have `here` be where it runs: at the other host if QEMU has had it run there, or Nova says so."""
        came = bool(self._said(self.there, marks[self.there.name], "RESUME"))
        with suppress(ToolkitError):
            came = came or self._asked().compute_host == self.there.name
        if came:
            self.here, self.there = self.there, self.here
            self._came = marks[self.here.name]

    def _watched(self, move: Move, since: int, post_copy: bool, within_s: float) -> None:
        """Wait until Nova says that the move has ended. Raises TestbedError MOVE-01, MOVE-03.

        Post-copy is asked for once QEMU sends memory: Nova calls a move running before that, and then tries
        in vain. `since` is where its events at its first host begin.
        """
        end_s = time.monotonic() + within_s
        switched = late = False
        while True:
            found = self._asked()
            if found.status in ("ACTIVE", "ERROR") and not found.task_state:
                break
            running = self._running()
            if running is not None:
                move.steps.setdefault("move_running", time.monotonic_ns())
            sends = _with_status(self._said(self.here, since, "MIGRATION"), "active")
            if post_copy and running is not None and sends and not switched:
                switched = self._switched(move, running)
            if time.monotonic() > end_s:
                if late:
                    break
                late, end_s = True, time.monotonic() + _CANCEL_S
                self._cancel(running)
            time.sleep(_LOOK_S)
        name = f"move of server {self._server.name}"
        if late:
            seen = f"{found.status}, task {found.task_state or 'none'}, at host {found.compute_host}"
            raise TestbedError("MOVE-03", name, expected=f"its end within {within_s:g} s", found=seen)
        if found.status == "ERROR" or found.compute_host != self.there.name:
            said = str((found.fault or {}).get("message", ""))
            said = said or undone.why(self._workshop, self._server.server_id, "live-migration")
            raise TestbedError(
                "MOVE-01",
                name,
                expected="that the other host takes it",
                found=f"{found.status}: {said[: undone.MOST_SAID]}",
            )

    def _running(self) -> Any:
        """The id of the move that Nova has its host do now; None while it does none."""
        found = self._do(
            "moves of a server", lambda sdk: list(sdk.compute.server_migrations(self._server.server_id))
        )
        return next((one.id for one in found if one.status == "running"), None)

    def _switched(self, move: Move, running: Any) -> bool:
        """Have Nova go on by post-copy; tells whether it does. The move may have ended meanwhile."""
        server_id = self._server.server_id
        try:
            self._do(
                "switch to post-copy",
                lambda sdk: sdk.compute.force_complete_server_migration(running, server_id),
            )
        except ToolkitError:
            return False
        move.steps["post_copy_asked"] = time.monotonic_ns()
        return True

    def _cancel(self, running: Any) -> None:
        if running is not None:
            with suppress(ToolkitError):
                self._do(
                    "abort of a move",
                    lambda sdk: sdk.compute.abort_server_migration(running, self._server.server_id),
                )

    def _account(self, move: Move, marks: Mapping[str, int]) -> None:
        """Put QEMU's moments and libvirt's figures into the move. Raises DriverError MOVE-03."""
        end_s = time.monotonic() + _SAYS_S
        while True:
            stopped, ended, figures = (
                self._said(self.here, marks[self.here.name], event) for event in ("STOP", "MIGRATION", "JOB")
            )
            resumed = self._said(self.there, marks[self.there.name], "RESUME")
            done = _with_status(ended, "completed")
            if stopped and resumed and done and figures:
                break
            if time.monotonic() > end_s:
                raise DriverError(
                    "MOVE-03",
                    f"move of server {self._server.name}",
                    expected="STOP, the end of its migration and its figures at its first host, RESUME there",
                    found=f"{len(stopped)}, {len(done)}, {len(figures)}; {len(resumed)}",
                )
            time.sleep(_LOOK_S)
        ahead_ns = wall_clock.ahead_ns()
        events = {"guest_stopped": stopped[-1], "guest_resumed": resumed[0], "move_completed": done[-1]}
        if switched := _with_status(ended, "postcopy-active"):
            events["post_copy_began"] = switched[0]
        move.steps |= {step: event["at_us"] * 1000 - ahead_ns for step, event in events.items()}
        told = figures[-1]["details"]
        move.told = {ours: int(told[name]) * each for name, (ours, each) in _FIGURES.items() if name in told}

    def _said(self, place: HostPlace, since: int, event: str) -> list[dict[str, Any]]:
        """Return the events of this kind that QEMU has told of it at a host."""
        mine = [one for one in place.events(since)[0] if one["server"] == self._server.server_id]
        return [one for one in mine if one["event"] == event]

    def forwarded(self) -> int:
        """How many frames have left it by its second interface, at the host where it is."""
        tap = _tap(self._server.ports[1])
        return int(self.here.node.call(interfaces.counters, interface=tap)["rx_packets"])

    def require_running(self) -> None:
        """Raise TestbedError MOVE-06 where it has moved and no longer runs, or began anew."""
        found, seen = self._asked(), ""
        if found.status != "ACTIVE":
            seen = f"{found.status}: {(found.fault or {}).get('message', 'no reason was given')}"
        elif self._said(self.here, self._came, "RESET"):
            panics = [line for line in self._console() if "panic" in line.lower()]
            seen = f"it was reset: {(panics or ['no panic was told'])[-1]}"
        if seen:
            raise TestbedError(
                "MOVE-06",
                f"server {self._server.name}, once it had moved",
                expected="that it runs on at its other host",
                found=seen[: undone.MOST_SAID],
            )

    def shown(self) -> dict[str, int]:
        """Wait until it says once more how its boot is known; tell how many boots it has said in all.

        It is one, if it is the guest that has moved. Nothing is told where it was ever silent.
        """
        before = len(self._boots_said())
        end_s = time.monotonic() + _BOOT_SAYS_S
        while self._boots is not None and len(said := self._boots_said()) <= before:
            if time.monotonic() > end_s:
                self._boots = None
                break
            time.sleep(_LOOK_S)
        if self._boots is None:
            return {}
        self._boots |= set(said)
        return {"guest_boots": len(self._boots)}

    def _boots_said(self) -> list[str]:
        return [found[1] for line in self._console() if (found := _BOOTED.search(line))]

    def _console(self) -> list[str]:
        """What it has written where it is, since it came there; nothing where its QEMU has ended."""
        with suppress(ToolkitError):
            server_id = self._server.server_id
            return list(self.here.node.call(cloud_node.console, server_id=server_id, here=True))
        return []

    def require_model(self) -> None:
        """Raise TestbedError MOVE-07 unless its CPU has the model that the configuration of all hosts names.

        A guest of QEMU's plain model has ended by a panic once it had moved.
        """
        server_id = self._server.server_id
        model = str(self.here.node.call(cloud_node.cpu_model, server_id=server_id))
        translated = self.here.node.call(cloud_node.accelerator, server_id=server_id) != "kvm"
        wanted = settings.MOVING_MODEL if translated else settings.HOSTS_OWN_MODEL
        if not re.fullmatch(rf"{re.escape(wanted)}(-v[0-9]+)?", model):
            raise TestbedError(
                "MOVE-07",
                f"server {self._server.name}: the model of its CPU",
                expected=f"{wanted}, as nova-compute is told at each host",
                found=model or "none: QEMU's plain one",
            )

    def leave(self) -> None:
        """Make sure that it runs on: Nova has cleared the host that it has left."""
        self.require_running()

    @property
    def moves(self) -> dict[str, JsonValue]:
        """Between which hosts it moves, and by what."""
        return {
            "moves_between": [self.here.node.name, self.there.node.name],
            "memory_goes_by": "the link on which the hosts reach each other, which carries no frame",
            "most_octets_per_s": settings.MOVE_MEBIOCTETS_PER_S << 20,
            "limited": "what is sent by pre-copy; Nova limits no post-copy",
            "disk": "empty; Nova makes one at both hosts, and QEMU copies what was written (block migration)",
        }

    def describe(self) -> dict[str, JsonValue]:
        """What runs, and where."""
        server_id = self._server.server_id
        return {
            "kind": "openstack",
            "name": self._server.name,
            "agent": "none: it routes and is not spoken to",
            "accelerator": self.here.node.call(cloud_node.accelerator, server_id=server_id),
            "cpu_model": self.here.node.call(cloud_node.cpu_model, server_id=server_id),
            "compute_host": self.here.name,
            "cpus": 1,
            "memory_octets": self._memory_octets,
            "ports": [{"network": one.network, "port_security": one.guarded} for one in self._server.ports],
        }

    def _asked(self) -> Any:
        return self._do("server", lambda sdk: sdk.compute.get_server(self._server.server_id))

    def _do(self, what: str, act: Any) -> Any:
        return self._workshop.client.call(what, act)


def _tap(port: ServerPort) -> str:
    return f"tap{port.port_id[:11]}"


def _with_status(events: Sequence[Mapping[str, Any]], status: str) -> list[Mapping[str, Any]]:
    return [one for one in events if one["details"].get("status") == status]
