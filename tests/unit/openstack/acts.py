"""What is asked of a cloud by the tests on recorded answers, and by their recorder: one act each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bmwg.drivers.openstack.servers import Workshop

KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ0w0i0i0i0i0i0i0i0i0i0i0i0i0i0i0i0i0i0i0i0i bmwg"
NET = "198.18.24.0/22"


def _services(workshop: Workshop) -> Any:
    return workshop.client.require_services()


def _limits(workshop: Workshop) -> Any:
    return workshop.client.require_room(servers=1, cpus=1, memory_octets=1 << 28)


def _quota(workshop: Workshop) -> Any:
    return workshop.client.require_room(servers=10_000, cpus=1, memory_octets=1 << 28)


def _near_flavor(workshop: Workshop) -> Any:
    workshop.flavor("small", cpus=1, memory_octets=1 << 28, disk_octets=1 << 30)
    name = workshop.name("smalll")
    return workshop.client.named("flavor", name, lambda sdk: sdk.compute.flavors(is_public=None))


def _twice(workshop: Workshop) -> Any:
    workshop.flavor("twice", cpus=1, memory_octets=1 << 28, disk_octets=1 << 30)
    return workshop.flavor("twice", cpus=1, memory_octets=1 << 28, disk_octets=1 << 30)


def _no_server(workshop: Workshop) -> Any:
    return workshop.client.call("a server", lambda sdk: sdk.compute.get_server("0" * 32))


def _bare_network(workshop: Workshop) -> Any:
    bare = workshop.client.call("network", lambda sdk: sdk.network.create_network(name=workshop.name("bare")))
    return workshop.port("lost", bare)


def _zone(workshop: Workshop) -> Any:
    return workshop.server("one", image=None, flavor=None, ports=[], zone="nove")


def _vast(workshop: Workshop) -> Any:
    flavor = workshop.flavor("vast", cpus=1, memory_octets=1 << 50, disk_octets=1 << 30)
    workshop.key(KEY)
    network = workshop.network("management", NET, gateway=None, first="198.18.24.10", physical="mgmt")
    port = workshop.port("vast", network)
    disk = workshop.client.call(
        "an image",
        lambda sdk: sdk.image.create_image(
            workshop.name("disk"), data=b"nothing", disk_format="raw", container_format="bare",
            validate_checksum=False, wait=True, timeout=60,
        )
    )  # fmt: skip
    return workshop.server("vast", image=disk, flavor=flavor, ports=[port])


ACTS: dict[str, Callable[[Workshop], Any]] = {
    "services": _services,
    "limits": _limits,
    "quota": _quota,
    "near flavor": _near_flavor,
    "twice": _twice,
    "no server": _no_server,
    "bare network": _bare_network,
    "zone": _zone,
    "vast": _vast,
}
