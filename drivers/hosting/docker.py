"""The two Docker forms: reached by static routes, or by a published port (destination NAT)."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping

from bmwg.drivers.api import JsonValue, Missing, Node
from bmwg.drivers.hosting import docker_containers, docker_daemon, interfaces, programs
from bmwg.drivers.hosting.instance import FORM_NETWORKS, Limits, Place, Program, Sample, filled
from bmwg.drivers.ledger import LOCAL, Ledger

_FIRST_HOST = 16  # choice: below it are the gateway and what somebody adds by hand


class DockerInstance:
    """One container."""

    def __init__(
        self, node: Node, token: str, name: str, endpoint: tuple[str, int], container: str, folder: str
    ) -> None:
        self.name = name
        self.endpoint = endpoint
        self._node = node
        self._token = token
        self._container = container
        self._folder = folder

    def sample(self) -> Sample:
        """What the container's processes use."""
        used = self._node.call(docker_containers.sample, token=self._token, container=self._container)
        return Sample(**used)

    def fault(self) -> str | None:
        """Say why the container no longer runs."""
        return self._node.call(docker_containers.fault, token=self._token, container=self._container)

    def stop(self) -> None:
        """End and remove the container."""
        self._node.call(
            docker_containers.stop, token=self._token, container=self._container, folder=self._folder
        )

    def describe(self) -> Mapping[str, JsonValue]:
        """Where it is reached, and its limits as the kernel has them."""
        held = self._node.call(docker_containers.limits, token=self._token, container=self._container)
        return {"name": self.name, "endpoint": list(self.endpoint), "limits": held}


class DockerHosting:
    """A daemon of its own on the node with one network and one image, while it is entered."""

    def __init__(self, *, form: str, node: Node, place: Place, ledger: Ledger) -> None:
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
        self._daemon: dict[str, int] = {}
        self._undo = 0
        self._images: dict[str, JsonValue] = {}
        self._version: JsonValue = None

    def probe(self) -> Missing | None:
        """Tell what the node lacks for a daemon."""
        lack = self._node.call(docker_daemon.probe)
        return Missing(**lack) if lack else None

    def __enter__(self) -> DockerHosting:
        """Start the daemon and make the network."""
        here = self._node.place  # type: ignore[attr-defined]
        where = here if here["kind"] == "ssh" else LOCAL  # a node's own namespaces may be gone by then
        self._undo = self._ledger.before("docker", where, token=self._token, data_root=self._data_root)
        try:
            started = self._node.call_within(
                60.0, docker_daemon.start, token=self._token, data_root=self._data_root
            )
        except BaseException:
            self._ledger.undo(self._undo)
            raise
        self._daemon = started["process"]
        self._version = started["version"]
        try:
            self._node.call(
                docker_daemon.add_network,
                token=self._token,
                name=self._bridge,
                subnet=str(self._network),
                gateway=str(self._network[1]),
                masquerade=not self._routed,
            )
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *exc: object) -> None:
        """End the daemon and all that it runs, and remove its files."""
        if self._daemon:
            daemon, self._daemon = self._daemon, {}
            self._node.call_within(
                60.0, docker_daemon.stop, token=self._token, data_root=self._data_root, **daemon
            )
            self._node.call(interfaces.delete, interface=self._bridge)
            self._ledger.done(self._undo)

    def start(self, program: Program, number: int, limits: Limits) -> DockerInstance:
        """Start the program in a new container. The image is made the first time, before anything counts."""
        self.prepare(program)
        name = f"{self.form}-{number}-{self._token}"
        address = str(self._network[_FIRST_HOST + number])
        outside = (self._place.client_address, program.port + number)
        endpoint = (address, program.port) if self._routed else outside
        folder = f"{self._place.run_dir}/instances/{name}"
        given = {"folder": folder, "address": address, "port": program.port}
        if not self._routed:
            self._node.call(programs.require_free, address=outside[0], port=outside[1])
        made = self._node.call_within(
            60.0,
            docker_containers.run,
            token=self._token,
            name=name,
            image=program.name,
            command=[filled(word, **given) for word in program.command],  # type: ignore[arg-type]
            files={key: filled(text, **given) for key, text in program.files.items()},  # type: ignore[arg-type]
            network=self._bridge,
            address=address,
            folder=folder,
            published=[] if self._routed else list(outside),
            port=program.port,
            cpus=limits.cpus,
            memory_octets=limits.memory_octets,
        )
        return DockerInstance(self._node, self._token, name, endpoint, made["id"], folder)

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
