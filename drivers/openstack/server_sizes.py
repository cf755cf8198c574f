"""The size of a server, as Nova has it: another one is asked for, and is then kept or given back.

This is Nova's cold resize: the server is stopped, its disk stays, and it boots anew with the other flavor, at
the same host where there is one alone. Ids: CLOUD-17 the server is in ERROR, CLOUD-18 the cloud did not do it
in time, CLOUD-23 the cloud took the request and undid it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from bmwg.drivers.api.machines import MachineSize
from bmwg.drivers.openstack import undone
from bmwg.drivers.openstack.servers import Workshop
from bmwg.methodology.errors import DriverError

_BEGUN = ("resize_migrating", "resize_migrated", "resize_finish")  # Nova's tasks once a host has it
_UNCONFIRMED = "VERIFY_RESIZE"
_LOOK_S = 0.2  # choice: the first task of a host lasts longer


class ServerSizes:
    """The size of one server. `name` is what errors call it."""

    def __init__(self, workshop: Workshop, server_id: str, name: str) -> None:
        self._workshop, self._server_id = workshop, server_id
        self._what = f"cloud {workshop.client.name}: server {name}"

    def size(self) -> MachineSize | None:
        """Return the size in force, by the flavor that Nova has; None amid a change. Raises CLOUD-17."""
        found = self._asked()
        self._require_no_error(found, "a server with a size")
        if found.task_state or found.status not in ("ACTIVE", _UNCONFIRMED):
            return None
        return _size_of(found)

    @property
    def unconfirmed(self) -> bool:
        """Whether it has another size that can still be given back."""
        return bool(self._asked().status == _UNCONFIRMED)

    def ask(self, flavor: Any, within_s: float) -> int:
        """Ask for another flavor; returns when the API took it (monotonic ns), once a host has begun.

        Raises what `Client.call` raises where the API refuses, CLOUD-23 where no host takes it (the server
        runs as it was), CLOUD-17, CLOUD-18.
        """
        self._do("resize", lambda sdk: sdk.compute.resize_server(self._server_id, flavor.id))
        accepted_ns = time.monotonic_ns()
        self._wait("its host to begin a resize", within_s, self._begun)
        return accepted_ns

    def keep(self, within_s: float) -> None:
        """Confirm the size that it has: the one before is gone then. Raises CLOUD-17, CLOUD-18."""
        self._do("confirmation of a resize", lambda sdk: sdk.compute.confirm_server_resize(self._server_id))
        self._wait("ACTIVE, its resize confirmed", within_s, _settled)

    def give_back(self, within_s: float) -> None:
        """Have it boot with the size that it had before. Raises CLOUD-17, CLOUD-18."""
        self._do("revert of a resize", lambda sdk: sdk.compute.revert_server_resize(self._server_id))
        self._wait("ACTIVE, its resize reverted", within_s, _settled)

    def _do(self, what: str, act: Callable[[Any], Any]) -> None:
        self._workshop.client.call(what, act)

    def _asked(self) -> Any:
        return self._workshop.client.call("server", lambda sdk: sdk.compute.get_server(self._server_id))

    def _begun(self, found: Any) -> bool:
        if _settled(found):
            raise DriverError(
                "CLOUD-23",
                f"{self._what} is as it was",
                expected="that a host resizes it",
                found=undone.why(self._workshop, self._server_id, "resize"),
            )
        return found.status == _UNCONFIRMED or str(found.task_state) in _BEGUN

    def _wait(self, wanted: str, within_s: float, done: Callable[[Any], bool]) -> None:
        end_s = time.monotonic() + within_s
        while not done(found := self._asked()):
            self._require_no_error(found, wanted)
            if time.monotonic() > end_s:
                seen = f"{found.status}, task {found.task_state or 'none'}"
                expected = f"{wanted} within {within_s:g} s"
                raise DriverError("CLOUD-18", self._what, expected=expected, found=seen)
            time.sleep(_LOOK_S)

    def _require_no_error(self, found: Any, wanted: str) -> None:
        if found.status == "ERROR":
            said = str((found.fault or {}).get("message", "no reason was given"))[: undone.MOST_SAID]
            raise DriverError("CLOUD-17", f"{self._what} is in ERROR", expected=wanted, found=said)


def _settled(found: Any) -> bool:
    return found.status == "ACTIVE" and not found.task_state


def _size_of(found: Any) -> MachineSize:
    return MachineSize(cpus=int(found.flavor.vcpus), memory_octets=int(found.flavor.ram) << 20)
