"""Three hosts for tests: namespaces of this machine with an sshd each, cabled by veth pairs.

Each is reached by its own name through the user's SSH configuration, as a real host is; a command of ssh's
own carries the connection into the namespace.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
import yaml
from tests.contract.ssh_support import daemon_configuration, make_keys, ssh_configuration

import bmwg
from bmwg.drivers.nodes import links
from bmwg.drivers.nodes.namespace import NamespaceNode
from bmwg.drivers.ports import interfaces as hosting_interfaces
from bmwg.drivers.testbed.file import embedded_file

needs_sshd = pytest.mark.skipif(
    not Path("/usr/sbin/sshd").exists(), reason="needs sshd: apt-get install openssh-server"
)
HOSTS = ("one", "two", "three")
ROLES = {"client": "one", "dut": "two", "origin": "three"}
CABLES = [
    {"a": "one/eth7", "b": "two/eth7", "kind": "cable"},
    {"a": "two/eth8", "b": "three/eth7", "kind": "cable"},
]


class LabHosts:
    """The hosts while they stand; `testbed` is the path of a file that names them."""

    def __init__(self, nodes: dict[str, NamespaceNode], testbed: Path) -> None:
        self.nodes = nodes
        self.testbed = testbed

    def interfaces(self, host: str) -> dict[str, dict[str, object]]:
        """What the host itself has, by name."""
        found = self.nodes[host].call(hosting_interfaces.listing)
        return {str(one["name"]): one for one in found}

    def cable(self) -> None:
        """Join the hosts as CABLES says, all ends down and without addresses."""
        links.connect(self.nodes["one"], "eth7", self.nodes["two"], "eth7")
        links.connect(self.nodes["two"], "eth8", self.nodes["three"], "eth7")
        for host, port in (("one", "eth7"), ("two", "eth7"), ("two", "eth8"), ("three", "eth7")):
            self.nodes[host].call(hosting_interfaces.down, interface=port)


@contextmanager
def lab_hosts(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LabHosts]:
    """Make the hosts, their daemons and cables; `HOME` is one in which ssh finds them."""
    folder.mkdir(parents=True, exist_ok=True)
    make_keys(folder)
    monkeypatch.setenv("HOME", str(folder))
    with ExitStack() as stack:
        nodes = {name: stack.enter_context(NamespaceNode(name)) for name in HOSTS}
        for name, node in nodes.items():
            start_sshd(stack, node, folder, name)
        entries = [ssh_configuration(folder, f"lab-{name}", node.pid) for name, node in nodes.items()]
        (folder / ".ssh").mkdir(mode=0o700)
        (folder / ".ssh" / "config").write_text("\n".join(entries))
        made = LabHosts(nodes, _testbed(folder))
        made.cable()
        yield made


def start_sshd(stack: ExitStack, node: NamespaceNode, folder: Path, name: str) -> None:
    """Start a daemon in a machine; `stack` ends it."""
    enter = ["nsenter", f"--target={node.pid}", "--net", "--mount", "--uts"]
    subprocess.run([*enter, "mkdir", "-p", "/run/sshd"], check=True, timeout=5)
    configuration = folder / "sshd_config"
    configuration.write_text(daemon_configuration(folder))
    log = folder / f"log-{name}"
    daemon = subprocess.Popen(
        [*enter, "/usr/sbin/sshd", "-D", "-e", "-f", str(configuration)], stderr=log.open("w")
    )
    stack.callback(daemon.wait, 5)
    stack.callback(daemon.terminate)
    end_s = time.monotonic() + 10
    while "listening" not in log.read_text():
        assert time.monotonic() < end_s, log.read_text()
        assert daemon.poll() is None, log.read_text()
        time.sleep(0.02)


def _testbed(folder: Path) -> Path:
    data = yaml.safe_load(embedded_file().read_text())
    python = python_of(folder)
    for name in HOSTS:
        data["nodes"][name] = {"kind": "ssh", "ssh": f"root@lab-{name}", "python": str(python)}
    data |= {"name": "three-hosts", "roles": ROLES, "links": [*data["links"], *CABLES]}
    path = folder / "lab.yaml"
    path.write_text(yaml.safe_dump(data, sort_keys=False))
    return path


def python_of(folder: Path) -> Path:
    """An interpreter of the hosts that has the toolkit which is tested, wherever that lies."""
    file = folder / "python"
    source = Path(bmwg.__file__).parents[1]
    file.write_text(f'#!/bin/sh\nPYTHONPATH="{source}" exec "{sys.executable}" "$@"\n')
    file.chmod(0o755)
    return file
