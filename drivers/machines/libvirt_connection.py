"""Connections to a libvirt, every call under a deadline; where its daemon's network namespace is.

Only a libvirt of this machine is spoken to: over `qemu:///system`, at its usual socket or a named one. Ids:
VM-10 the Python binding is absent, VM-11 no libvirt answers there, VM-12 it answers late or refuses,
VM-15 the URI is of no libvirt of this machine.
"""

from __future__ import annotations

import os
import re
import socket
import struct
import threading
from collections.abc import Callable
from typing import Any, TypeVar

from bmwg.drivers.api.protocols import JsonValue, Missing
from bmwg.methodology.errors import ConfigError, DriverError, TestbedError

BINDING_LINE = "pip install 'bmwg-toolkit[libvirt]' (sh setup/install.sh libvirt)"
_URI = re.compile(r"qemu:///system(?:\?socket=(?P<socket>/[^?&#\s]+))?")
_USUAL = ("/run/libvirt/libvirt-sock", "/run/libvirt/virtqemud-sock")
_PATH_MAX = 107  # what a Unix socket's address holds
_OPEN_DEADLINE_S = 10.0
_T = TypeVar("_T")


def probe_binding() -> Missing | None:
    """Return what is missing when this Python cannot speak to libvirt."""
    try:
        import libvirt  # noqa: F401 - an optional extra
    except ImportError as error:
        return Missing(what="libvirt's Python binding", reason=str(error), mend=BINDING_LINE)
    return None


def socket_of(uri: str) -> str:
    """Return the path, as this process sees it, of the socket behind a URI.

    Raises ConfigError VM-15 for a URI that is not of this machine, TestbedError VM-11 without a socket there.
    """
    match = _URI.fullmatch(uri)
    if match is None:
        raise ConfigError(
            "VM-15",
            "libvirt's URI",
            expected="qemu:///system or qemu:///system?socket=/path",
            found=repr(uri),
        )
    named = [match["socket"]] if match["socket"] else list(_USUAL)
    # a node's /run is its own: the host's is seen through who started the node's agent
    outside = f"/proc/{os.getppid()}/root"
    for path in (f"{root}{name}" for name in named for root in ("", outside)):
        if os.path.exists(path) and len(path) <= _PATH_MAX:
            return path
    raise TestbedError(
        "VM-11",
        f"libvirt at {uri}",
        expected=f"a socket at {' or '.join(named)}",
        found="none",
        hint="start libvirtd, or leave the URI out of the testbed file: the run then starts one of its own",
    )


def netns_outside() -> str:
    """Return the path of the network namespace of who started this process: the host's for a node's agent."""
    return f"/proc/{os.getppid()}/ns/net"


def netns_of(path: str) -> str:
    """Return the path of the network namespace in which a socket's daemon lives."""
    with socket.socket(socket.AF_UNIX) as asked:
        asked.settimeout(_OPEN_DEADLINE_S)
        try:
            asked.connect(path)
            told = asked.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
        except OSError as error:
            raise _unreachable(path, error.strerror or str(error)) from error
    pid, _, _ = struct.unpack("3i", told)
    return f"/proc/{pid}/ns/net"


def _unreachable(where: str, found: str) -> TestbedError:
    return TestbedError("VM-11", f"libvirt at {where}", expected="a daemon that answers", found=found)


class Connection:
    """One connection. A call that does not end in time is left behind in its thread, and so is libvirt."""

    def __init__(self, uri: str, *, open_deadline_s: float = _OPEN_DEADLINE_S) -> None:
        self.uri = uri
        self._open_deadline_s = open_deadline_s
        self._connection: Any = None

    def __enter__(self) -> Connection:
        """Connect. Raises TestbedError VM-10, VM-11."""
        self.open()
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def open(self) -> None:
        """Connect. Raises TestbedError VM-10 without the binding, VM-11 when nobody answers."""
        lack = probe_binding()
        if lack is not None:
            raise TestbedError("VM-10", f"no {lack.what}", found=lack.reason, hint=lack.mend)
        import libvirt

        libvirt.registerErrorHandler(_silent, None)  # what it would print is raised as an error as well
        path = socket_of(self.uri)
        try:
            self._connection = _bounded(
                "connect", lambda: libvirt.open(f"qemu:///system?socket={path}"), self._open_deadline_s
            )
        except (libvirt.libvirtError, DriverError) as error:
            raise _unreachable(self.uri, getattr(error, "found", "") or str(error)) from error

    def call(self, what: str, act: Callable[[Any], _T], *, deadline_s: float = 5.0) -> _T:
        """Return `act(connection)`; DriverError VM-12 when libvirt refuses it or is late."""
        import libvirt

        if self._connection is None:
            raise DriverError("VM-12", f"libvirt: {what}", expected="a connection", found="none is open")
        try:
            return _bounded(what, lambda: act(self._connection), deadline_s)
        except libvirt.libvirtError as error:
            raise DriverError("VM-12", f"libvirt: {what}", expected="done", found=str(error)) from error

    def version(self) -> str:
        """Return libvirt's version as the daemon tells it."""
        number = self.call("version", lambda connection: connection.getLibVersion())
        return f"{number // 1_000_000}.{number // 1000 % 1000}.{number % 1000}"

    def destroy(self, *, name: str, uuid: str, deadline_s: float = 5.0) -> bool:
        """End the domain of this name and UUID; False when there is none (or another of that name)."""
        import libvirt

        def act(connection: Any) -> bool:
            try:
                domain = connection.lookupByUUIDString(uuid)
                if domain.name() != name:
                    return False
                domain.destroy()
            except libvirt.libvirtError as error:
                if error.get_error_code() in (
                    libvirt.VIR_ERR_NO_DOMAIN,
                    libvirt.VIR_ERR_OPERATION_INVALID,  # it has ended by itself
                ):
                    return False
                raise
            return True

        return self.call(f"destroy domain {name}", act, deadline_s=deadline_s)

    def close(self) -> None:
        """Close the connection; domains that die with it die now. Idempotent."""
        connection, self._connection = self._connection, None
        if connection is not None:
            _bounded_quietly(connection.close, 3.0)


def _silent(context: JsonValue, error: JsonValue) -> None:
    """Take what libvirt would print."""


def _bounded(what: str, act: Callable[[], _T], deadline_s: float) -> _T:
    results: list[_T] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(act())
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=run, daemon=True, name=f"libvirt {what}")
    thread.start()
    thread.join(deadline_s)
    if errors:
        raise errors[0]
    if not results:
        raise DriverError(
            "VM-12", f"libvirt: {what}", expected="an answer", found=f"silence for {deadline_s:g} s"
        )
    return results[0]


def _bounded_quietly(act: Callable[[], object], deadline_s: float) -> None:
    thread = threading.Thread(target=_swallow, args=(act,), daemon=True, name="libvirt close")
    thread.start()
    thread.join(deadline_s)


def _swallow(act: Callable[[], object]) -> None:
    try:
        act()
    except Exception:  # its daemon is gone, and with it what was to be closed
        return
