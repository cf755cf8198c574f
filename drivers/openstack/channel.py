"""The way into a server: SSH over the management network carries the toolkit there and starts its agent.

Ids: CLOUD-20 a server is not reached.
"""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

from bmwg.drivers.nodes.netns import within
from bmwg.drivers.nodes.ssh import SshNode
from bmwg.drivers.openstack.luggage import luggage
from bmwg.methodology.errors import TestbedError

DEADLINE_S = 400.0  # choice: a distribution's image takes two minutes where it is translated
_GUEST_FOLDER = "/run/bmwg-toolkit"


def new_key(path: Path) -> str:
    """Make a key pair and return its public half."""
    subprocess.run(
        ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "bmwg", "-f", str(path)],
        check=True,
        timeout=30,
        stdin=subprocess.DEVNULL,
    )
    return path.with_suffix(".pub").read_text()


def opened(netns: str, key: Path, *, name: str, address: str) -> SshNode:
    """Return the started agent of the server `name`, spoken to from the network namespace `netns` with `key`.

    Raises TestbedError CLOUD-20 when no SSH server of it takes the key within `DEADLINE_S`.
    """
    options = {
        "IdentityFile": str(key),
        "IdentitiesOnly": "yes",
        "StrictHostKeyChecking": "no",  # the key is minutes old, the network this run's own
        "UserKnownHostsFile": "/dev/null",
        "LogLevel": "ERROR",
    }
    command = ["ssh", *(word for option in options.items() for word in ("-o", "=".join(option)))]
    command += ["-o", "BatchMode=yes", "-o", "ConnectTimeout=5", f"root@{address}"]
    command += [f"mkdir -p {_GUEST_FOLDER} && tar -C {_GUEST_FOLDER} -xzf -"]
    end_s = time.monotonic() + DEADLINE_S
    while True:
        done = within(
            netns,
            lambda: subprocess.run(command, input=luggage(), capture_output=True, timeout=60, check=False),
        )
        if done.returncode == 0:
            break
        said = done.stderr.decode(errors="replace").strip()[-300:]
        if time.monotonic() > end_s:
            raise TestbedError(
                "CLOUD-20",
                f"server {name} is not reached over the management network",
                expected=f"SSH within {DEADLINE_S:g} s",
                found=said,
                hint="does the image run cloud-init (or do what it does) and an SSH server?",
            )
        time.sleep(0.5)
    node = SshNode(name, f"root@{address}", python=f"{_GUEST_FOLDER}/python", options=options)
    return within(netns, node.__enter__)
