"""The two Docker forms: reached by static routes, or by a published port (destination NAT)."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from contextlib import ExitStack

from bmwg.drivers.api.instance import FORM_NETWORKS, Hosting, Limits, Place, Program, Sample
from bmwg.drivers.api.protocols import JsonValue, Missing, Node, PlacedNode
from bmwg.drivers.containers import docker_containers, docker_daemon, engine_pods
from bmwg.drivers.containers.daemon import daemon
from bmwg.drivers.nodes import cgroups, programs
from bmwg.drivers.places.instances import PlacedInstance
from bmwg.drivers.ports import interfaces
from bmwg.drivers.undo.ledger import Ledger

_FIRST_HOST = 16  # choice: below it are the gateway and what somebody adds by hand


class _Container:
    """One container of the daemon, as the node sees it."""

    def __init__(self, node: Node, token: str, container: str) -> None:
        self._node = node
        self._token = token
        self._container = container
        self._cgroup = f"{docker_daemon.cgroup_of(token)}/{container}"

    def sample(self) -> Sample:
        """What its processes use."""
        return Sample(**self._node.call(engine_pods.sample, cgroup=self._cgroup))

    def fault(self) -> str | None:
        """Say why it no longer runs."""
        return self._node.call(
            engine_pods.fault, token=self._token, container=self._container, cgroup=self._cgroup
        )

    def limits(self) -> Mapping[str, JsonValue]:
        """Its limits as the kernel has them."""
        return {"limits": self._node.call(cgroups.read_limits, cgroup=self._cgroup)}


class DockerHosting:
    """A daemon of its own on the node with one network and one image, while it is entered."""

    def __init__(self, *, form: str, node: PlacedNode, place: Place, ledger: Ledger) -> None:
        self.form = form
        self._node = node
        self._place = place
        self._ledger = ledger
        self._routed = form == "docker_routed"
        kind = "r" if self._routed else "n"
        self._token = f"{place.token}{kind}"
        self._bridge = f"bmwg{self._token}"[:15]
        self._network = ipaddress.ip_network(FORM_NETWORKS[form])
        self._data_root = f"{place.run_dir}/docker-{self._token}"
        self._stack = ExitStack()
        self._images: dict[str, JsonValue] = {}
        self._version: JsonValue = None

    def probe(self) -> Missing | None:
        """Tell what the node lacks for a daemon."""
        return Missing.told(self._node.call(docker_daemon.probe))

    def __enter__(self) -> DockerHosting:
        """Start the daemon and make the network."""
        with ExitStack() as stack:
            stack.callback(self._node.call, interfaces.delete, interface=self._bridge)
            self._version = stack.enter_context(
                daemon(self._node, self._ledger, token=self._token, data_root=self._data_root)
            )
            self._node.call(
                docker_daemon.add_network,
                token=self._token,
                name=self._bridge,
                subnet=str(self._network),
                gateway=str(self._network[1]),
                masquerade=not self._routed,
            )
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *exc: object) -> None:
        """End the daemon and all that it runs, and remove its files."""
        stack, self._stack = self._stack, ExitStack()
        stack.close()

    def start(self, program: Program, number: int, limits: Limits) -> PlacedInstance:
        """Start the program in a new container. The image is made the first time, before anything counts."""
        self.prepare(program)
        name = f"{self.form}-{number}-{self._token}"
        address = str(self._network[_FIRST_HOST + number])
        outside = (self._place.client_address, program.port + number)
        endpoint = (address, program.port) if self._routed else outside
        folder = f"{self._place.run_dir}/instances/{name}"
        placed = program.at(folder, address, program.port)
        if not self._routed:
            self._node.call(programs.require_free, address=outside[0], port=outside[1])
        made = self._node.call_within(
            60.0,
            docker_containers.run,
            token=self._token,
            name=name,
            image=program.name,
            command=list(placed.command),
            files=dict(placed.files),
            network=self._bridge,
            address=address,
            folder=folder,
            published=[] if self._routed else list(outside),
            port=program.port,
            cpus=limits.cpus,
            memory_octets=limits.memory_octets,
        )
        undo = ExitStack()  # not before: where the name is taken, the folder is another instance's
        undo.callback(self._node.call, programs.remove_folder, folder=folder)
        undo.callback(self._node.call, engine_pods.delete, token=self._token, container=made["id"])
        container = _Container(self._node, self._token, made["id"])
        return PlacedInstance(
            name,
            endpoint,
            {"": container},
            sampled=container.sample,
            told=container.limits,
            undo=undo,
        )

    def prepare(self, program: Program) -> None:
        """Make the program's image unless it is there."""
        if program.name not in self._images:
            self._images[program.name] = self._node.call_within(
                60.0,
                docker_containers.make_image,
                token=self._token,
                name=program.name,
                program=program.command[0],
                packages=list(program.packages),
            )

    def describe(self) -> Mapping[str, JsonValue]:
        """Versions, network and images."""
        return {
            "form": self.form,
            "daemon": self._version,
            "network": str(self._network),
            "reached_by": "static routes" if self._routed else "a published port (destination NAT)",
            "masquerade": not self._routed,
            "images": dict(self._images),
        }


_: type[Hosting] = DockerHosting
