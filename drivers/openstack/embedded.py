"""An OpenStack of the run's own: Keystone, Glance, Placement, Nova and Neutron in one namespace node.

Further nodes can be compute hosts of it. No service of it is a stand-in. What it makes is in memory and
goes with it; its logs are below the run's folder. The machine's own network and services are neither used
nor seen.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from bmwg.drivers.api.protocols import JsonValue, Missing, UndoLog, undone
from bmwg.drivers.machines import qemu
from bmwg.drivers.nodes import links
from bmwg.drivers.nodes.namespace import NamespaceNode
from bmwg.drivers.openstack import node as cloud_node
from bmwg.drivers.openstack import settings
from bmwg.drivers.openstack.client import Client
from bmwg.drivers.openstack.node import START_DEADLINE_S
from bmwg.drivers.openstack.template import Template, find
from bmwg.drivers.ports import interfaces, routing
from bmwg.methodology.errors import DriverError, TestbedError

NODE = "cloud"
MANAGEMENT = "mgmt"  # the physical network over which servers are commanded
MANAGEMENT_NETWORK, MANAGEMENT_ADDRESS = "198.18.24.0/22", "198.18.24.1"
_SWITCH = "br-mgmt"  # joins the management NICs of all compute hosts
_CONTROL = "198.18.31"  # of the links over which further hosts reach the services, a /30 each
MOST_HOSTS = 4  # choice: each takes half a GB of memory
UNDO_KIND = "cloud"
_MANAGEMENT_END = "mgmt-host"
_HOSTS_DEADLINE_S = 300.0  # choice: 10 s on an idle machine
TOKEN_S = 14400  # choice: longer than a run of the default suites; a test makes it short


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """A node that is a further compute host, and its NICs that are physical networks."""

    node: NamespaceNode
    physical: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class EmbeddedCloud:
    """The cloud while it stands. `auth` is what openstacksdk is told, within `netns`; it holds a password.

    `hosts` are the compute hosts' names, as Nova has them, by node; the services run beside the first.
    `places` are their nodes with the folder of each one's state and logs.
    """

    node: NamespaceNode
    work: str
    auth: Mapping[str, str]
    steps: Sequence[Mapping[str, JsonValue]]
    hosts: Mapping[str, str]
    places: tuple[tuple[NamespaceNode, str], ...]

    @property
    def netns(self) -> str:
        """The network namespace in which its services are reached."""
        return self.node.netns_path

    def fault(self) -> str | None:
        """Say which services have ended; None while all run."""
        for node, work in self.places:
            found: str | None = node.call(cloud_node.fault, work=work)
            if found is not None:
                return found
        return None


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
    further: Sequence[Host] = (),
) -> Iterator[EmbeddedCloud]:
    """Start the cloud in an open node; it ends on leaving. Raises TestbedError CLOUD-01, CLOUD-02.

    Its logs are below `folder`. `physical` names the NICs of the node that are physical networks beside the
    management's. Its services and servers keep to `cpus` (none: to any). `token_s` is how long a token is
    valid. `further` are compute hosts beside the node, which is one itself.
    """
    template = find()
    if isinstance(template, Missing):
        raise TestbedError("CLOUD-01", template.what, found=template.reason, hint=template.mend)
    assert isinstance(template, Template)
    given: dict[str, JsonValue] = {
        "root": template.root,
        "password": template.password,
        "accelerator": "kvm" if qemu.probe_accelerator()[0] is qemu.Accelerator.KVM else "qemu",
        "token_s": token_s,
        "layer2": layer2,
        "cpus": list(cpus),
        "moves": bool(further),
    }
    auth = {
        "auth_url": settings.AUTH_URL,
        "username": "admin",
        "password": template.password,
        "project_name": "admin",
        "user_domain_name": "Default",
        "project_domain_name": "Default",
    }
    with ExitStack() as stack:
        _furnish(node, further)
        work = str(folder.resolve())
        own = {"do": "run", "physical": [MANAGEMENT, *physical], "host": settings.HOST,
               "address": settings.SERVICE_ADDRESS}  # fmt: skip
        steps = stack.enter_context(_running(node, work, undo, {**given, **own}))
        places, hosts = [(node, work)], {node.name: settings.HOST}
        for number, host in enumerate(further, start=1):
            name, beside = f"{settings.HOST}{number + 1}", f"{work}-{host.node.name}"
            address = _cabled(node, host.node, number)
            own = {
                "do": "compute",
                "physical": [MANAGEMENT, *host.physical],
                "host": name,
                "address": address,
            }
            said = stack.enter_context(_running(host.node, beside, undo, {**given, **own}))
            steps = [*steps, *({**step, "step": f"{step['step']} of {host.node.name}"} for step in said)]
            places.append((host.node, beside))
            hosts[host.node.name] = name
        cloud = EmbeddedCloud(node, work, auth, steps, hosts, tuple(places))
        began_s = time.monotonic()
        _wait_for_hosts(cloud)
        waited = {"step": "compute host and agent", "took_s": round(time.monotonic() - began_s, 2)}
        yield replace(cloud, steps=[*steps, waited])


@contextmanager
def _running(
    node: NamespaceNode, work: str, undo: UndoLog, given: Mapping[str, JsonValue]
) -> Iterator[list[Mapping[str, JsonValue]]]:
    """What one node runs of the cloud, while this is entered; yields each step's time."""
    stop = partial(node.call_within, 40.0, cloud_node.stop, work=work)
    with undone(undo, UNDO_KIND, node.place, stop, work=work):
        deadline_s = START_DEADLINE_S + 30
        yield node.call_within(deadline_s, cloud_node.start, work=work, given=dict(given))


def _furnish(node: NamespaceNode, further: Sequence[Host]) -> None:
    """Give the node the services' address and the management NIC; with further hosts, their switch."""
    if len(further) >= MOST_HOSTS:
        raise TestbedError(
            "CLOUD-01", "compute hosts of the embedded OpenStack", expected=f"{MOST_HOSTS} at most",
            found=f"{len(further) + 1}",
        )  # fmt: skip
    node.call(interfaces.add_address, interface="lo", address=f"{settings.SERVICE_ADDRESS}/32")
    links.connect(node, MANAGEMENT, node, _MANAGEMENT_END)
    commanding = _MANAGEMENT_END
    if further:
        commanding = _SWITCH
        node.call(routing.add_bridge, bridge=_SWITCH)
        node.call(routing.set_controller, interface=_MANAGEMENT_END, controller=_SWITCH)
    length = MANAGEMENT_NETWORK.partition("/")[2]
    node.call(interfaces.add_address, interface=commanding, address=f"{MANAGEMENT_ADDRESS}/{length}")


def _cabled(node: NamespaceNode, host: NamespaceNode, number: int) -> str:
    """Cable a further host to the services and to the management switch; returns its address there."""
    end = f"{_MANAGEMENT_END}{number}"
    links.connect(node, end, host, MANAGEMENT)
    node.call(routing.set_controller, interface=end, controller=_SWITCH)
    links.connect(node, f"control{number}", host, "control")
    first = 4 * (number - 1)
    services, own = f"{_CONTROL}.{first + 1}", f"{_CONTROL}.{first + 2}"
    node.call(interfaces.add_address, interface=f"control{number}", address=f"{services}/30")
    host.call(interfaces.add_address, interface="control", address=f"{own}/30")
    host.call(routing.add_route, destination=f"{settings.SERVICE_ADDRESS}/32", via=services)
    return own


def _wait_for_hosts(cloud: EmbeddedCloud) -> None:
    """Wait until Nova lists its compute hosts, which it does once they are in a cell, and Neutron its agents.

    A server that is asked for earlier ends in ERROR. Raises TestbedError CLOUD-02.
    """
    client = Client(auth=cloud.auth, netns=cloud.netns)
    end_s = time.monotonic() + _HOSTS_DEADLINE_S
    found = ""
    while True:
        hosts: list[str] = []
        agents: list[bool] = []
        try:
            hosts = client.call("hypervisors", _states_of_hosts)
            agents = client.call(
                "agents", lambda sdk: [bool(agent.is_alive) for agent in sdk.network.agents()]
            )
            found = f"hypervisors {hosts}, agents alive {agents}"
        except DriverError as error:  # it answers late while its services still start
            found = str(error)
        wanted = len(cloud.hosts)
        if len(hosts) == len(agents) == wanted and set(hosts) == {"up"} and all(agents):
            return
        if (fault := cloud.fault()) or time.monotonic() > end_s:
            raise TestbedError(
                "CLOUD-02",
                "the embedded OpenStack has not all of its compute hosts",
                expected=f"{wanted} hypervisors and network agents within {_HOSTS_DEADLINE_S:g} s",
                found=fault or found,
                hint=f"their own words are below {cloud.work}/logs",
            )
        time.sleep(0.5)


def _states_of_hosts(sdk: Any) -> list[str]:
    # with details Nova asks each host for its uptime, and waits a minute for one that is not there yet
    return [str(hypervisor.state) for hypervisor in sdk.compute.hypervisors(details=False)]
