"""A daemon of an engine on a node: what stands while it is entered, and goes with all that it runs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from bmwg.drivers.api.protocols import JsonValue, PlacedNode, UndoLog
from bmwg.drivers.containers import docker_daemon

_CALL_S = 60.0


@contextmanager
def daemon(
    node: PlacedNode,
    undo: UndoLog,
    *,
    token: str,
    data_root: str,
    engine: str = docker_daemon.DOCKER,
    nat: bool = True,
) -> Iterator[JsonValue]:
    """Have it stand with its state in `data_root`; yields the versions of its parts.

    It is undone on the node's machine, for the node's own namespaces may be gone by then. What could not be
    removed stays in the ledger. Raises what `docker_daemon.start` and `docker_daemon.stop` raise.
    """
    mine: dict[str, JsonValue] = {"token": token, "data_root": data_root}
    entry = undo.before("docker", node.machine.place, **mine)
    try:
        started = node.call_within(_CALL_S, docker_daemon.start, **mine, engine=engine, nat=nat)
    except BaseException:
        node.call_within(_CALL_S, docker_daemon.remove, **mine)
        undo.done(entry)
        raise
    try:
        yield started["version"]
    finally:
        node.call_within(_CALL_S, docker_daemon.stop, **mine, **started["process"])
        undo.done(entry)
