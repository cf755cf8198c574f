"""An sshd for tests: keys and configuration of its own, on loopback of a namespace."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PORT_NUMBER = 2222
_ALIAS = "bmwg-far"
_BRIDGE = """
import os, socket, sys, threading
peer = socket.create_connection(("127.0.0.1", 2222), timeout=5)
peer.settimeout(None)
def inward():
    while data := os.read(0, 65536):
        peer.sendall(data)
    peer.shutdown(socket.SHUT_WR)
threading.Thread(target=inward, daemon=True).start()
while data := peer.recv(65536):
    os.write(1, data)
os._exit(0)
"""


def make_keys(folder: Path) -> None:
    """Make the host's and the user's key, and what carries a connection into a namespace."""
    for name in ("host", "user"):
        subprocess.run(
            ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)], check=True, timeout=20
        )
    (folder / "authorized").write_text((folder / "user.pub").read_text())
    (folder / "known").write_text(f"{_ALIAS} " + (folder / "host.pub").read_text())
    (folder / "bridge.py").write_text(_BRIDGE)


def daemon_configuration(folder: Path) -> str:
    """The daemon's own file."""
    return "\n".join(
        [
            f"Port {PORT_NUMBER}",
            "ListenAddress 127.0.0.1",
            f"HostKey {folder}/host",
            f"AuthorizedKeysFile {folder}/authorized",
            "PidFile none",
            "UsePAM no",
            "StrictModes no",
            "PasswordAuthentication no",
            "PermitRootLogin prohibit-password",
            "",
        ]
    )


def ssh_options(folder: Path, pid: int) -> dict[str, str]:
    """Options that reach the daemon in the network namespace of a process."""
    return {
        "IdentityFile": f"{folder}/user",
        "IdentitiesOnly": "yes",
        "UserKnownHostsFile": f"{folder}/known",
        "HostKeyAlias": _ALIAS,
        "StrictHostKeyChecking": "yes",
        "ProxyCommand": f"nsenter --net=/proc/{pid}/ns/net {sys.executable} {folder}/bridge.py",
    }


def ssh_configuration(folder: Path, host: str, pid: int) -> str:
    """The same as an entry of the user's configuration."""
    lines = [f"  {key} {value}" for key, value in ssh_options(folder, pid).items()]
    return "\n".join([f"Host {host}", *lines, ""])
