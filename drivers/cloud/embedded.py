"""An OpenStack of the run's own: Keystone, Glance, Placement, Nova and Neutron in one namespace node.

No service of it is a stand-in. What it makes is in memory and goes with it; its logs are below the run's
folder. The machine's own network and services are neither used nor seen.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from bmwg.drivers.api import JsonValue, Missing, UndoLog
from bmwg.drivers.cloud import settings
from bmwg.drivers.cloud.client import Client
from bmwg.drivers.cloud.node import START_DEADLINE_S
from bmwg.drivers.cloud.template import Template, find
from bmwg.drivers.hosting import qemu
from bmwg.drivers.hosting.namespace import NamespaceNode
from bmwg.methodology.errors import DriverError, TestbedError

NODE = "cloud"
MANAGEMENT = "mgmt"  # the physical network over which servers are commanded
MANAGEMENT_NETWORK, MANAGEMENT_ADDRESS = "198.18.24.0/22", "198.18.24.1"
UNDO_KIND = "cloud"
_FUNCTIONS = "bmwg.drivers.cloud.node"
_HOSTS_DEADLINE_S = 300.0  # choice: 10 s on an idle machine
TOKEN_S = 14400  # choice: longer than a run of the default suites; a test makes it short


@dataclass(frozen=True, slots=True)
class EmbeddedCloud:
    """The cloud while it stands. `auth` is what openstacksdk is told, within `netns`; it holds a password."""

    node: NamespaceNode
    work: str
    auth: Mapping[str, str]
    steps: Sequence[Mapping[str, JsonValue]]

    @property
    def netns(self) -> str:
        """The network namespace in which its services are reached."""
        return self.node.netns_path

    def fault(self) -> str | None:
        """Say which services have ended; None while all run."""
        found: str | None = self.node.call(f"{_FUNCTIONS}:fault", work=self.work)
        return found


def probe() -> Missing | None:
    """Return what this machine lacks for it."""
    found = find()
    return found if isinstance(found, Missing) else None


@contextmanager
def node_of(run_dir: Path, owner: str) -> Iterator[NamespaceNode]:
    """Open the node that the cloud will stand in, so that links can be laid to it before."""
    with NamespaceNode(NODE, keep=[run_dir], owner=owner) as node:
        yield node


@contextmanager
def started(
    node: NamespaceNode,
    folder: Path,
    undo: UndoLog,
    *,
    physical: Sequence[str],
    cpus: Sequence[int] = (),
    token_s: int = TOKEN_S,
    layer2: str = "linuxbridge",
) -> Iterator[EmbeddedCloud]:
    """Start the cloud in an open node; it ends on leaving. Raises TestbedError CLOUD-01, CLOUD-02.

    Its logs are below `folder`. `physical` names the NICs of the node that are physical networks beside the
    management's. Its services and servers keep to `cpus` (none: to any). `token_s` is how long a token is
    valid.
    """
    template = find()
    if isinstance(template, Missing):
        raise TestbedError("CLOUD-01", template.what, found=template.reason, hint=template.mend)
    assert isinstance(template, Template)
    work = str(folder.resolve())
    entry = undo.before(UNDO_KIND, node.place, work=work)
    node.call("bmwg.drivers.links:make_pair", interface=MANAGEMENT, mac="02:00:00:00:18:02",
              peer="mgmt-host", peer_mac="02:00:00:00:18:01", peer_pid=node.pid, mtu_octets=1500)  # fmt: skip
    for end in (MANAGEMENT, "mgmt-host"):
        node.call("bmwg.drivers.links:raise_end", interface=end)
    node.call(
        "bmwg.drivers.hosting.interfaces:add_address",
        interface="mgmt-host",
        address=f"{MANAGEMENT_ADDRESS}/{MANAGEMENT_NETWORK.partition('/')[2]}",
    )
    given: dict[str, JsonValue] = {
        "do": "run",
        "root": template.root,
        "password": template.password,
        "physical": [MANAGEMENT, *physical],
        "accelerator": "kvm" if qemu.probe_accelerator()[0] is qemu.Accelerator.KVM else "qemu",
        "token_s": token_s,
        "layer2": layer2,
        "cpus": list(cpus),
    }
    try:
        steps = node.call(f"{_FUNCTIONS}:start", deadline_s=START_DEADLINE_S + 30, work=work, given=given)
        auth = {
            "auth_url": settings.AUTH_URL,
            "username": "admin",
            "password": template.password,
            "project_name": "admin",
            "user_domain_name": "Default",
            "project_domain_name": "Default",
        }
        cloud = EmbeddedCloud(node, work, auth, steps)
        began_s = time.monotonic()
        _wait_for_hosts(cloud)
        waited = {"step": "compute host and agent", "took_s": round(time.monotonic() - began_s, 2)}
        yield replace(cloud, steps=[*steps, waited])
    finally:
        node.call(f"{_FUNCTIONS}:stop", deadline_s=40.0, work=work)
        undo.done(entry)


def _wait_for_hosts(cloud: EmbeddedCloud, within_s: float = _HOSTS_DEADLINE_S) -> None:
    """Wait until Nova lists its compute host, which it does once that is in a cell, and Neutron its agent.

    A server that is asked for earlier ends in ERROR. Raises TestbedError CLOUD-02.
    """
    client = Client(auth=cloud.auth, netns=cloud.netns)
    end_s = time.monotonic() + within_s
    found = ""
    while True:
        hosts: list[str] = []
        agents: list[bool] = []
        try:
            hosts = client.call("hypervisors", _states_of_hosts)
            agents = client.call("agents", lambda sdk: [bool(one.is_alive) for one in sdk.network.agents()])
            found = f"hypervisors {hosts}, agents alive {agents}"
        except DriverError as error:  # it answers late while its services still start
            found = str(error)
        if hosts and agents and set(hosts) == {"up"} and all(agents):
            return
        if (fault := cloud.fault()) or time.monotonic() > end_s:
            raise TestbedError(
                "CLOUD-02",
                "the embedded OpenStack has no compute host",
                expected=f"hypervisor and network agent within {within_s:g} s",
                found=fault or found,
                hint=f"their own words are below {cloud.work}/logs",
            )
        time.sleep(0.5)


def _states_of_hosts(sdk: Any) -> list[str]:
    # with details Nova asks each host for its uptime, and waits a minute for one that is not there yet
    return [str(one.state) for one in sdk.compute.hypervisors(details=False)]
