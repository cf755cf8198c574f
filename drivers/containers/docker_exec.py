"""Becomes a container daemon in its own mount namespace; arguments: engine, a folder, the daemon's command.

The daemon writes a key below /etc/docker, podman its locks in /dev/shm and its runtime's state in /run: these
get a layer of their own in FOLDER over the machine's, or one in memory, so that nothing is written there.
"""

from __future__ import annotations

import os
import sys

from bmwg.drivers.nodes import mounts

_WRITTEN_TO = {"docker": ("/etc", "/opt"), "podman": ("/etc",)}
_OWN = {"docker": (), "podman": ("/dev/shm", "/run/libpod", "/run/containers")}


def main() -> None:
    """Cover what is written to, then be the program of the remaining arguments."""
    engine, folder, *command = sys.argv[1:]
    for path in _WRITTEN_TO[engine]:
        mounts.cover(path=path, layers=f"{folder}/layers{path}")
    for path in _OWN[engine]:
        mounts.in_memory(target=path)
    os.execvp(command[0], command)


if __name__ == "__main__":
    main()
