"""A server that routes and is moved by Nova from one compute host to another while it runs (live migration).

It is an archive in memory, as the guests are that QEMU alone moves, with an empty disk that Nova makes at
both hosts; no disk is shared. Another server of the same networks stands at the second host, so that Neutron
has joined them with its NICs. QEMU's events are written down at both hosts. Ids: MOVE-01 the other host did
not take it, MOVE-03 it did not end in time or tells no moments, MOVE-06 it ended once it had moved.
"""

from __future__ import annotations

import ipaddress
import json
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bmwg.drivers.api.machines import MovingIntent
from bmwg.drivers.api.protocols import JsonValue
from bmwg.drivers.machines import guest_kernel, router_initramfs
from bmwg.drivers.machines.guest_moves import Move
from bmwg.drivers.nodes.namespace import NamespaceNode
from bmwg.drivers.openstack import node as cloud_node
from bmwg.drivers.openstack import settings, side_switches
from bmwg.drivers.openstack.embedded import EmbeddedCloud
from bmwg.drivers.openstack.segments import cleared
from bmwg.drivers.openstack.servers import Server, ServerPort, Workshop
from bmwg.drivers.openstack.side_switches import SIDES
from bmwg.drivers.ports import interfaces
from bmwg.drivers.watch import wall_clock
from bmwg.methodology.errors import DriverError, TestbedError, ToolkitError

_DISK_OCTETS = 1 << 20
_LOOK_S = 0.1  # choice: a move takes seconds
_CANCEL_S = 30.0
_SAYS_S = 10.0  # choice: events are written down at once
_SAID = 300
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

    node: NamespaceNode
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

    def __init__(self, workshop: Workshop, server: Server, places: Sequence[HostPlace]) -> None:
        self._workshop, self._server = workshop, server
        self.here, self.there = places
        self.macs = (server.ports[0].mac, server.ports[1].mac)
        self._came = 0  # where its events at the host begin, to which it has come

    def moved(self, *, post_copy: bool, within_s: float) -> Move:
        """Have Nova move it to the other host, where it then is; with `post_copy` Nova is told to do it so.

        Where it cannot be moved the server runs where it was. Raises MOVE-01, MOVE-03.
        """
        marks = {place.name: place.events()[1] for place in (self.here, self.there)}
        move = Move(asked_ns=time.monotonic_ns())
        self._do(
            "live migration",
            lambda sdk: sdk.compute.live_migrate_server(
                self._server.server_id, host=self.there.name, block_migration="auto"
            ),
        )
        move.steps["server_accepted"] = time.monotonic_ns()
        self._watched(move, post_copy, within_s)
        move.steps["server_active"] = time.monotonic_ns()
        self._account(move, marks)
        self.here, self.there = self.there, self.here
        self._came = marks[self.here.name]
        return move

    def _watched(self, move: Move, post_copy: bool, within_s: float) -> None:
        end_s = time.monotonic() + within_s
        switched = late = False
        while True:
            found = self._asked()
            if found.status in ("ACTIVE", "ERROR") and not found.task_state:
                break
            running = self._running()
            if running is not None:
                move.steps.setdefault("move_running", time.monotonic_ns())
            if post_copy and running is not None and not switched:
                switched = self._switched(move, running)
            if time.monotonic() > end_s:
                if late:
                    break
                late, end_s = True, time.monotonic() + _CANCEL_S
                self._cancel(running)
            time.sleep(_LOOK_S)
        name = f"move of server {self._server.name}"
        if late:
            seen = f"{found.status}, task {found.task_state or 'none'}"
            raise TestbedError("MOVE-03", name, expected=f"its end within {within_s:g} s", found=seen)
        if found.status == "ERROR" or found.compute_host != self.there.name:
            said = str((found.fault or {}).get("message", "")) or self._reason()
            raise TestbedError(
                "MOVE-01",
                name,
                expected="that the other host takes it",
                found=f"{found.status}: {said[:_SAID]}",
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

    def _reason(self) -> str:
        def ask(sdk: Any) -> str:
            actions = [
                one
                for one in sdk.compute.server_actions(self._server.server_id)
                if one.action == "live-migration"
            ]
            last = max(actions, key=lambda one: str(one.start_time))
            whole = sdk.compute.get_server_action(last.request_id, self._server.server_id)
            events = [one if isinstance(one, Mapping) else one.to_dict() for one in whole.events or ()]
            said = [" ".join(str(one.get("details") or "").split()) for one in events]
            return next(filter(None, said), "no reason was given")

        with suppress(ToolkitError, ValueError):
            return str(self._do("why a move was undone", ask))
        return "no reason was given"

    def _account(self, move: Move, marks: Mapping[str, int]) -> None:
        """Put QEMU's moments and libvirt's figures into the move. Raises DriverError MOVE-03."""
        end_s = time.monotonic() + _SAYS_S
        while True:
            stopped, ended, figures = (
                self._said(self.here, marks[self.here.name], event) for event in ("STOP", "MIGRATION", "JOB")
            )
            resumed = self._said(self.there, marks[self.there.name], "RESUME")
            done = [one for one in ended if one["details"].get("status") == "completed"]
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
        for step, event in (
            ("guest_stopped", stopped[-1]),
            ("guest_resumed", resumed[-1]),
            ("move_completed", done[-1]),
        ):
            move.steps[step] = event["at_us"] * 1000 - ahead_ns
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
            seen = f"{found.status}: {(found.fault or {}).get('message', 'no reason was given')}"[:_SAID]
        elif self._said(self.here, self._came, "RESET"):
            said = self.here.node.call(cloud_node.console, server_id=self._server.server_id)
            panics = [line for line in said if "panic" in line.lower()]
            seen = f"it was reset: {(panics or ['no panic was told'])[-1]}"[:_SAID]
        if seen:
            raise TestbedError(
                "MOVE-06",
                f"server {self._server.name}, once it had moved",
                expected="that it runs on at its other host",
                found=seen,
            )

    def leave(self) -> None:
        """Make sure that it was the same guest all the time: Nova has cleared the host that it has left."""
        self.require_running()

    @property
    def moves(self) -> dict[str, JsonValue]:
        """Between which hosts it moves, and by what."""
        return {
            "moves_between": [self.here.node.name, self.there.node.name],
            "memory_goes_by": "the link on which the hosts reach each other, which carries no frame",
            "most_octets_per_s": settings.MOVE_MEBIOCTETS_PER_S << 20,
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
            "compute_host": self.here.name,
            "cpus": 1,
            "ports": [{"network": one.network, "port_security": one.guarded} for one in self._server.ports],
        }

    def _asked(self) -> Any:
        return self._do("server", lambda sdk: sdk.compute.get_server(self._server.server_id))

    def _do(self, what: str, act: Any) -> Any:
        return self._workshop.client.call(what, act)


def _tap(port: ServerPort) -> str:
    return f"tap{port.port_id[:11]}"


@contextmanager
def standing(
    workshop: Workshop,
    cloud: EmbeddedCloud,
    home: NamespaceNode,
    intent: MovingIntent,
    *,
    networks: Sequence[str],
    kernel_line: str,
) -> Iterator[MovingServer]:
    """Have the server boot at the host on node `home`, and another of its networks at the next one.

    The tester is cabled to `home`: its NICs there are in the switches meanwhile.

    `networks` are the addresses that Neutron gives the ports of each side, which frames do not use;
    `kernel_line` stands before the words of the intent.
    """
    places = [HostPlace(node=node, work=work, name=cloud.hosts[node.name]) for node, work in cloud.places]
    first = next(place for place in places if place.node is home)
    second = next(place for place in places if place is not first)
    kernel = guest_kernel.find()
    if not isinstance(kernel, guest_kernel.GuestKernel):
        raise TestbedError("VM-04", kernel.what, found=kernel.reason, hint=kernel.mend)
    with side_switches.joined(home, intent.links), ExitStack() as stack:
        parts = {
            "kernel_id": _uploaded(
                stack, workshop, f"{intent.name}-kernel", kernel.unpacked_image(), "aki"
            ).id,
            "ramdisk_id": _uploaded(
                stack, workshop, f"{intent.name}-archive", router_initramfs.build(kernel), "ari"
            ).id,
        }
        flavor = workshop.flavor(intent.name, cpus=1, memory_octets=intent.memory_octets, disk_octets=1)
        laid: list[Any] = []
        stack.callback(cleared, workshop, laid, [(place.node, SIDES) for place in places])
        for side, cidr in zip(SIDES, networks, strict=True):
            address = str(next(ipaddress.IPv4Network(cidr).hosts()))
            laid.append(workshop.network(side, cidr, gateway=None, first=address, physical=side))
        made = []
        for at, (place, words) in enumerate(((second, intent.other_words), (first, intent.words))):
            with tempfile.NamedTemporaryFile() as empty:
                empty.truncate(_DISK_OCTETS)
                name = f"{intent.name}-{at}"
                line = f"{kernel_line} {words}"
                disk = _uploaded(
                    stack,
                    workshop,
                    name,
                    Path(empty.name),
                    "raw",
                    hw_vif_model="virtio",
                    os_command_line=line,
                    **parts,
                )
            ports = [workshop.port(f"{name}-{side}", one) for side, one in enumerate(laid)]
            stack.callback(workshop.delete_ports, ports)
            server = workshop.server(
                name, image=disk, flavor=flavor, ports=ports, zone=f"nova:{place.name}", config_drive=False
            )
            stack.callback(workshop.delete_server, server.server_id)
            made.append(server)
        yield MovingServer(workshop, made[1], (first, second))


def _uploaded(
    stack: ExitStack, workshop: Workshop, what: str, path: Path, form: str, **properties: str
) -> Any:
    image = workshop.image(what, path, form, **properties)
    stack.callback(
        workshop.client.call,
        "delete of an image",
        lambda sdk: sdk.image.delete_image(image, ignore_missing=True),
    )
    return image
