"""Pods for clients on the clients' node: a network namespace, an address and limits for each of them.

They stand on a bridge of the node's own, which routes between it and the proxies' machine. So each client has
an address of its own at the proxies, and the node's interface stays as it is. The runtime of the testbed file
makes them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from bmwg.drivers import registry
from bmwg.drivers.api.instance import Limits
from bmwg.drivers.api.protocols import JsonValue, Missing, Pod, PodRuntime
from bmwg.drivers.containers.bundle import PodSpec
from bmwg.drivers.nodes import cgroups, programs
from bmwg.drivers.ports import interfaces, routing, sysctl
from bmwg.drivers.workload.client_links import BRIDGE, GATEWAY, NETWORK, join
from bmwg.drivers.workload.row import Row
from bmwg.methodology.trial.cpu_lists import cpu_list

_FORWARDS = "net/ipv4/ip_forward"
_FIRST_HOST = 10  # choice: below it are the node's own
_EACH_S = 1.0  # choice: within which a veth pair and three settings are made on a busy machine


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientPod:
    """A client's pod that stands. `folder` is on the node, and in the pod as well."""

    number: int
    pod: Pod
    address: str
    folder: str


class ClientPods:
    """What makes them on the clients' node of a row."""

    def __init__(self, row: Row) -> None:
        self._row = row
        self._node = row.client
        self._runtime: PodRuntime = registry.runtime(
            row.place.runtime, run_dir=row.place.run_dir, undo=row.undo
        )

    def probe(self) -> Missing | None:
        """Tell what the clients' node lacks for pods."""
        return self._runtime.probe(self._node)

    def describe(self) -> Mapping[str, JsonValue]:
        """What makes them, and their limits as they are asked for."""
        limits = Limits()
        return {
            "pods": dict(self._runtime.describe()),
            "pods_on": "the clients' node, which routes to them",
            "network": str(NETWORK),
            "limits_wanted": {"cpus": limits.cpus, "memory_octets": limits.memory_octets},
        }

    @contextmanager
    def standing(self, count: int) -> Iterator[Sequence[ClientPod]]:
        """Have so many pods stand, numbered from 1; all of it is removed on leaving, whatever runs in them.

        Raises what the runtime or the kernel refuses; nothing stays then.
        """
        with ExitStack() as stack:
            stack.enter_context(self._runtime.ready(self._node))
            stack.enter_context(self._network())
            cpus = self._node.call(cgroups.default_cpus)
            pods = [self._made(stack, number, cpus) for number in range(1, count + 1)]
            self._node.call_within(
                30.0 + count * _EACH_S,
                join,
                pods=[[one.number, one.pod.pid, f"{one.address}/{NETWORK.prefixlen}"] for one in pods],
            )
            yield pods

    def _made(self, stack: ExitStack, number: int, cpus: str) -> ClientPod:
        name = f"client-{number}-{self._row.place.token}"
        folder, limits = f"/run/bmwg-clients/{name}", Limits()
        stack.callback(self._node.call, programs.remove_folder, folder=folder)
        self._node.call(programs.write_files, folder=folder, files={})
        spec = PodSpec(
            pod_id=name,
            cpus=cpus,
            cpu_limit=min(limits.cpus, len(cpu_list(cpus))),
            memory_octets=limits.memory_octets,
            forwarding=False,
            binds=((folder, folder, True),),
            least=True,
            programs=True,
        )
        pod = stack.enter_context(self._runtime.made(self._node, spec))
        pod.start()
        address = str(NETWORK[_FIRST_HOST + number])
        return ClientPod(number=number, pod=pod, address=address, folder=folder)

    @contextmanager
    def _network(self) -> Iterator[None]:
        """Have the node route between its bridge and the row; leave it as it was."""
        node, proxies = self._node, self._row.proxy
        with ExitStack() as stack:
            stack.callback(node.call, interfaces.delete, interface=BRIDGE)
            node.call(routing.add_bridge, bridge=BRIDGE)
            node.call(interfaces.add_address, interface=BRIDGE, address=f"{GATEWAY}/{NETWORK.prefixlen}")
            was = node.call(sysctl.write, key=_FORWARDS, value="1")
            stack.callback(node.call, sysctl.write, key=_FORWARDS, value=was)
            stack.callback(proxies.call, routing.remove_route, destination=str(NETWORK))
            proxies.call(routing.add_route, destination=str(NETWORK), via=self._row.client_address)
            yield
