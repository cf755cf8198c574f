"""What joins a tester's port at a vhost-user socket to one on an interface: no link has both kinds of end.

testpmd takes each frame from one and gives it to the other as it is, in the tester's own place, on a CPU of
the device under test. It is part of such ports' wire: what it cannot carry counts against the tester.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from bmwg.drivers.api.protocols import JsonValue, Missing, Node
from bmwg.drivers.function import testpmd
from bmwg.drivers.nodes import programs
from bmwg.drivers.paths.bed import Bed
from bmwg.methodology.errors import DriverError

FOLDER = "/run/bmwg-repeater"  # in the place of the tester, with which it goes
SOCKET = f"{FOLDER}/socket"
_NAME = "testpmd between the tester's ports"
_TELL_S = 0.05


def lacking() -> Missing | None:
    """Return what is missing: the program."""
    if Path(testpmd.BINARY).exists():
        return None
    return Missing(
        what="a wire between a port on an interface and one at a vhost-user socket",
        reason=f"testpmd, which repeats frames between them, is not here: no file {testpmd.BINARY}",
        mend="apt-get install dpdk",
    )


@contextmanager
def repeating(bed: Bed, node: Node, *, interface: str, cpu: int) -> Iterator[Mapping[str, JsonValue]]:
    """Serve a socket on a node and repeat frames between it and an interface there; end it on leaving.

    A trial during which it ends has a fault: its loss is none of the tester's. Raises DriverError PATH-06
    where testpmd does not forward within its deadline.
    """
    command = testpmd.repeating(interface=interface, socket=SOCKET, cpu=cpu)
    node.call(programs.write_files, folder=FOLDER, files={})
    started = node.call(programs.start, command=list(command), folder=FOLDER, packages=["dpdk"])
    try:
        due_s = time.monotonic() + testpmd.READY_DEADLINE_S
        while not node.call(testpmd.forwards, folder=FOLDER):
            ended = node.call(programs.fault, folder=FOLDER, **started)
            if ended or time.monotonic() > due_s:
                raise DriverError(
                    "PATH-06",
                    "testpmd, which is to repeat frames between the tester's ports, does not forward",
                    expected=f"{testpmd.READY!r} in its output within {testpmd.READY_DEADLINE_S:g} s",
                    found=str(ended or node.call(programs.said, folder=FOLDER)),
                )
            time.sleep(_TELL_S)
        bed.programs[_NAME] = (node.name, started["pid"], started["start_ticks"])
        yield {"program": "testpmd", "forward_mode": "io", "cpu": cpu, "interface": interface}
    finally:
        bed.programs.pop(_NAME, None)
        node.call(programs.stop, folder=FOLDER, **started)
