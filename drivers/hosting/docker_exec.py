"""Becomes the Docker daemon inside its own mount namespace; arguments: a folder, then the daemon's command.

The daemon writes a key below /etc/docker and containerd a folder below /opt: both get a layer of their own in
FOLDER over the machine's, so that nothing is written there.
"""

from __future__ import annotations

import os
import sys

from bmwg.drivers.hosting import mounts

_WRITTEN_TO = ("/etc", "/opt")


def main() -> None:
    """Cover what is written to, then be the program of the remaining arguments."""
    folder, *command = sys.argv[1:]
    for path in _WRITTEN_TO:
        mounts.cover(path=path, layers=f"{folder}/layers{path}")
    os.execvp(command[0], command)


if __name__ == "__main__":
    main()
