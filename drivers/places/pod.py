"""The pod form: a program in a pod that one CNI option of the testbed attaches to clients and servers.

A pod is a sandbox, which holds the network namespace, and in that namespace a container, which runs the
program within its limits; the runtime of the testbed file makes both. The option gives it two interfaces:
net0 towards the clients, net1 towards the servers, as it does to a forwarding pod of the containerized
suites. Where the option joins the node's NIC at layer 2 the pod has addresses of the clients' and of the
servers' own network; where the node routes (`uplink: routed`) it has a network of its own on each side.
"""

from __future__ import annotations

import hashlib
import ipaddress
import json
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from bmwg.drivers import registry
from bmwg.drivers.api.instance import (
    CRUN,
    FORM_NETWORKS,
    AlsoIpv6,
    Crossing,
    Hosting,
    InPath,
    Instance,
    Limits,
    Place,
    Program,
)
from bmwg.drivers.api.protocols import (
    Attached,
    Attachment,
    JsonValue,
    Missing,
    NetworkDriver,
    PlacedNode,
    Pod,
)
from bmwg.drivers.containers.bundle import CAPABILITIES, PodSpec
from bmwg.drivers.nodes import cgroups, mounts, programs
from bmwg.drivers.nodes.process import OWNER_VARIABLE
from bmwg.drivers.paths import uplinks
from bmwg.drivers.places.instances import PlacedInstance
from bmwg.drivers.ports import interfaces, routing
from bmwg.drivers.undo.ledger import Ledger
from bmwg.methodology.errors import ConfigError, DriverError, TestbedError
from bmwg.methodology.records import POD_PREFIX
from bmwg.methodology.trial.cpu_lists import cpu_list
from bmwg.schemas.validation import near_hint

_SANDBOX_OCTETS = 64 << 20  # choice: it only sleeps
_FIRST_HOST = 16  # choice: below it are the nodes' own
_NAME_OCTETS = 32  # of an option's name in the name of a pod, which is a host name too
_REACHED_BY = {
    uplinks.BRIDGE_PORT: "layer 2: the node's NIC is a port of the plugin's bridge",
    uplinks.MASTER: "layer 2: the plugin takes the node's NIC",
    uplinks.ROUTED: "layer 3: the node routes",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Side:
    """The node's NIC and address towards the clients (0) or the servers (1)."""

    number: int
    nic: str
    address: str

    @property
    def interface(self) -> str:
        """Name of the pod's interface on this side."""
        return f"net{self.number}"

    @property
    def bridge(self) -> str:
        """Name for the option's bridge on this side, where it makes one."""
        return f"bmwg-br{self.number}"


class PodHosting:
    """Pods of one network option on a node; what joins the node's NICs to it stands while a pod does."""

    def __init__(self, *, form: str, node: PlacedNode, place: Place, ledger: Ledger, option: str) -> None:
        self.form = form
        self._node = node
        self._place = place
        self._ledger = ledger
        self._option = option
        self._spec = place.networks.get(option)
        self._runtime = registry.runtime(place.runtime, run_dir=place.run_dir, undo=ledger)
        self._sides = (
            _Side(number=0, nic=place.client_interface, address=place.client_address),
            _Side(number=1, nic=place.server_interface, address=place.server_address),
        )
        self._standing: set[int] = set()
        self._joined = ExitStack()
        self._ready = ExitStack()

    def __enter__(self) -> Self:
        """Have what pods would wait for stand; the node's NICs are left as they are while no pod stands."""
        self._ready.enter_context(self._runtime.ready(self._node))
        return self

    def __exit__(self, *exc: object) -> None:
        self._ready.close()

    def probe(self) -> Missing | None:
        """Tell what the node lacks for pods, or for the option, or what the option lacks for a proxy."""
        if self._spec is None:
            return Missing(
                what=f"network option {self._option}",
                reason="the testbed file has no option of this name",
                mend="name it under `networks` of the testbed file (docs/cni-option.md)",
            )
        if lack := self._runtime.probe(self._node):
            return lack
        if self._spec.uplink not in _REACHED_BY:
            return Missing(
                what=f"a way into network option {self._option}",
                reason=f"its uplink is {self._spec.uplink}, so nothing tells how clients reach a pod",
                mend=f"give it one of the uplinks {', '.join(_REACHED_BY)}",
            )
        missing = self._network.probe(self._node)
        if missing is None and self._spec.vlan_id is not None:
            missing = Missing(
                what=f"802.1Q tags for network option {self._option}",
                reason=f"its frames carry tag {self._spec.vlan_id}, those of clients and servers here none",
                mend="the containerized suites measure it",
            )
        return missing

    @property
    def _network(self) -> NetworkDriver:
        if self._spec is None:
            known = self._place.networks
            raise ConfigError(
                "INST-01",
                f"hosting form {POD_PREFIX}{self._option}",
                expected=f"one of the network options {', '.join(known) or '(none)'}",
                found=self._option,
                hint=near_hint(self._option, known, "name it under `networks` of the testbed file"),
            )
        return registry.network(self._spec, run_dir=Path(self._place.run_dir), undo=self._ledger)

    @property
    def _routed(self) -> bool:
        return self._network.spec.uplink == uplinks.ROUTED

    def prepare(self, program: Program) -> None:
        """Nothing: the pod's root is the node's, read-only."""

    def start(self, program: Program, number: int, limits: Limits) -> Instance:
        """Make pod `number` with its interfaces and start the program in it.

        Raises DriverError INST-03, TestbedError INST-04, and what the runtime's or a plugin's failure raises.
        """
        name = f"pod-{self._option[:_NAME_OCTETS]}-{number}-{self._place.token}"
        if number in self._standing:
            raise DriverError("INST-03", f"instance {name}", expected="a new number", found="it stands")
        with ExitStack() as stack:
            self._enter_first(number)
            stack.callback(self._leave, number)
            cpus = self._node.call(cgroups.default_cpus)
            sandbox, netns, attached = stack.enter_context(
                self._sandbox(name, number, cpus, forwarding=False)
            )
            address = attached[0].attachment.addresses[0].partition("/")[0]
            folder = f"/run/bmwg-instances/{name}"  # as of a native one; all of /run is the node's own
            placed = program.at(folder, address, program.port)
            stack.callback(self._node.call, programs.remove_folder, folder=folder)
            self._node.call(programs.write_files, folder=folder, files=dict(placed.files))
            container = stack.enter_context(
                self._runtime.made(
                    self._node,
                    PodSpec(
                        pod_id=name,
                        cpus=cpus,
                        cpu_limit=min(limits.cpus, len(cpu_list(cpus))),
                        memory_octets=limits.memory_octets,
                        arguments=placed.command,
                        environment=(f"{OWNER_VARIABLE}={self._place.owner}",),
                        binds=((folder, folder, True),),
                        capabilities=CAPABILITIES,
                        netns=netns,
                    ),
                )
            )
            container.start()

            def told() -> Mapping[str, JsonValue]:
                return {
                    "limits": container.describe(),
                    "limits_wanted": {"cpus": limits.cpus, "memory_octets": limits.memory_octets},
                    "sandbox": sandbox.describe(),
                    "attachments": [dict(one.evidence) for one in attached],
                }

            return PlacedInstance(
                name,
                (address, program.port),
                {"container": container, "sandbox": sandbox},
                sampled=container.sample,
                told=told,
                undo=stack.pop_all(),
            )

    @contextmanager
    def _sandbox(
        self, name: str, number: int, cpus: str, *, forwarding: bool
    ) -> Iterator[tuple[Pod, str, tuple[Attached, ...]]]:
        """Have a pod's sandbox stand with both interfaces; yields it, its network namespace and these."""
        with ExitStack() as stack:
            sandbox = stack.enter_context(
                self._runtime.made(
                    self._node,
                    PodSpec(
                        pod_id=f"{name}-sandbox",
                        cpus=cpus,
                        memory_octets=_SANDBOX_OCTETS,
                        forwarding=forwarding,
                    ),
                )
            )
            netns = stack.enter_context(self._pinned(sandbox))
            attached = tuple(
                stack.enter_context(self._attached(side, _FIRST_HOST + number, sandbox, netns))
                for side in self._sides
            )
            if len(self._standing) == 1:
                self._join()
            sandbox.start()
            yield sandbox, netns, attached

    def no_ipv6(self) -> Missing | None:
        """Say that the networks beyond the node, by which pods are reached by routes, are of IPv4."""
        return self._of_own_networks("addresses of IPv6 for", "the networks to them are of IPv4")

    def no_way(self, *, program: bool) -> Missing | None:
        """Say that clients and origin cannot route through a pod that is itself reached by routes."""
        if program:
            return Missing(what="a program in such a pod", reason="its kernel forwards", mend="form native")
        return self._of_own_networks("a way through", "clients and origin have no next hop in one")

    def _of_own_networks(self, what: str, reason: str) -> Missing | None:
        if not self._routed:
            return None
        mend = "a network option whose pods are in the clients' and the server's own networks"
        what += f" a pod of network option {self._option}"
        return Missing(what=what, reason=f"the node routes to its pods: {reason}", mend=mend)

    @contextmanager
    def crossing(self) -> Iterator[Crossing]:
        """Yield a pod whose kernel forwards between its two interfaces. Raises what `start` raises."""
        name = f"pod-{self._option[:_NAME_OCTETS]}-way-{self._place.token}"
        with ExitStack() as stack:
            self._enter_first(0)
            stack.callback(self._leave, 0)
            cpus = self._node.call(cgroups.default_cpus)
            sandbox, _, attached = stack.enter_context(self._sandbox(name, 0, cpus, forwarding=True))
            inside, outside = (one.attachment.addresses[0].partition("/")[0] for one in attached)

            def told() -> Mapping[str, JsonValue]:
                return {
                    "runs_in": "the pod's network namespace, by the node's kernel",
                    "sandbox": sandbox.describe(),
                    "attachments": [dict(one.evidence) for one in attached],
                }

            yield Crossing(
                name=name,
                sides=(self._sides[0].interface, self._sides[1].interface),
                addresses=(inside, outside),
                run=sandbox.inside_within,
                node=None,
                fault=sandbox.fault,
                told=told,
            )

    @contextmanager
    def _pinned(self, sandbox: Pod) -> Iterator[str]:
        """Hold the sandbox's network namespace until it is detached: a NIC that a plugin took lies in it."""
        path = f"/run/netns/{sandbox.pod_id}"
        try:
            self._node.call(mounts.pin_netns, pid=sandbox.pid, target=path)
            yield path
        finally:
            self._node.call(mounts.unpin, target=path)

    @contextmanager
    def _attached(self, side: _Side, host: int, sandbox: Pod, netns: str) -> Iterator[Attached]:
        """Attach one interface of the sandbox, with a route to that side's network where the node routes."""
        intent = self._attachment(side, host)
        with self._network.attach(
            self._node,
            intent,
            pod_id=sandbox.pod_id,
            pod_pid=sandbox.pid,
            bridge=side.bridge,
            netns=netns,
        ) as attached:
            given = attached.addresses
            if intent.addresses[0] not in given:
                raise TestbedError(
                    "INST-04",
                    f"network option {self._option}: {intent.interface} of the pod",
                    expected=f"address {intent.addresses[0]}, to which clients and servers have a route",
                    found=", ".join(given) or "none",
                    hint='take `ipam: {type: static, addresses: "${addresses}"}`; nothing was measured',
                )
            for destination, via in intent.routes:
                sandbox.inside(
                    routing.add_route, destination=destination, via=via, interface=intent.interface
                )
            yield attached

    def _attachment(self, side: _Side, host: int) -> Attachment:
        """Return the intent of one side: an address of its own network, or of the network beyond it."""
        length = self._place.prefix_lengths[side.number]
        outside = ipaddress.ip_interface(f"{side.address}/{length}").network
        own = outside
        if self._routed:
            own = ipaddress.IPv4Network(FORM_NETWORKS[f"{POD_PREFIX}{side.interface}"])
        return Attachment(
            network=self._option,
            interface=side.interface,
            side=side.number,
            uplink=side.nic,
            addresses=(f"{own[host]}/{own.prefixlen}",),
            routes=((str(outside), str(own[1])),) if self._routed else (),
        )

    def _enter_first(self, number: int) -> None:
        """Note, before the first pod, how to bring the node's NICs back to what they are."""
        if not self._standing:
            with ExitStack() as stack:
                for side in self._sides:
                    if self._network.spec.uplink == uplinks.MASTER:
                        stack.enter_context(self._addresses_kept(side.nic))
                    stack.enter_context(
                        uplinks.cleared(
                            self._node, self._network.spec.uplink, nic=side.nic, bridge=side.bridge
                        )
                    )
                self._joined = stack.pop_all()
        self._standing.add(number)

    def _join(self) -> None:
        """Make the node's NICs ports of the bridges that the plugins have made by now."""
        if self._network.spec.uplink == uplinks.BRIDGE_PORT:
            for side in self._sides:
                self._joined.enter_context(
                    uplinks.bridged(self._node, interfaces=(side.nic,), bridge=side.bridge)
                )

    def _leave(self, number: int) -> None:
        self._standing.discard(number)
        if not self._standing:
            joined, self._joined = self._joined, ExitStack()
            joined.close()

    @contextmanager
    def _addresses_kept(self, nic: str) -> Iterator[None]:
        """Give the NIC its addresses back on leaving: one that a plugin moved into a pod returns bare."""
        before = [one for one in self._node.call(interfaces.listing) if one["name"] == nic]
        try:
            yield
        finally:
            for address in before[0]["addresses"]:
                self._node.call(interfaces.add_address, interface=nic, address=address)

    def describe(self) -> Mapping[str, JsonValue]:
        """The option: plugins with version and hash, its configuration with hash, how pods are reached."""
        spec = self._network.spec
        told = self._network.describe(self._node)  # read anew: a plugin may have been exchanged
        by = {} if self._place.runtime == CRUN else {"pod_runtime": dict(self._runtime.describe())}
        if spec.conflist is not None:
            told |= {"conflist": spec.conflist, "conflist_sha256": conflist_sha256(spec.conflist)}
        return {
            "form": f"{POD_PREFIX}{self._option}",
            "cni": told,
            "image": "the node's root, read-only",
            **by,
            "interfaces": {side.interface: side.nic for side in self._sides},
            "reached_by": _REACHED_BY[spec.uplink],
        }


def conflist_sha256(conflist: Mapping[str, Any]) -> str:
    """Return the hash of a configuration list as the testbed file has it: of its JSON with sorted keys."""
    text = json.dumps(conflist, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


_: type[Hosting] = PodHosting
_in_path: type[InPath] = PodHosting
_also_ipv6: type[AlsoIpv6] = PodHosting
