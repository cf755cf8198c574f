"""The hosts of a bed over SSH: a folder of the run on each machine, and the namespaces of a node there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import TYPE_CHECKING

from bmwg.drivers.api.protocols import UndoLog, undone
from bmwg.drivers.nodes import process, programs
from bmwg.drivers.nodes.here import HERE, Here
from bmwg.drivers.nodes.host_namespace import HostNamespaceNode
from bmwg.drivers.nodes.ssh import SshNode

if TYPE_CHECKING:
    from bmwg.drivers.paths.bed import Bed


@contextmanager
def state_folders(bed: Bed) -> Iterator[None]:
    """Have the run's folder for what drivers keep on this machine and on each host; remove it on leaving."""
    folder = str(bed.state_dir)
    with ExitStack() as stack:
        machines: list[Here | SshNode] = [HERE, *dict.fromkeys(bed.hosts.values())]
        for machine in machines:
            remove = partial(machine.call, programs.remove_folder, folder=folder)
            stack.enter_context(undone(bed.undo, "folder", machine.place, remove, folder=folder))
            machine.call(programs.write_files, folder=folder, files={}, shared=False)
        yield


@contextmanager
def on_host(name: str, host: SshNode, undo: UndoLog, *, owner: str) -> Iterator[HostNamespaceNode]:
    """Make the namespaces of a node on its host; end them with all that was started in them on leaving."""
    end = partial(host.call, process.terminate_owned, owner=owner)
    with (
        undone(undo, "owner", host.place, end, owner=owner),
        HostNamespaceNode(name, host, owner=owner) as node,
    ):
        yield node
