"""Has a server stand that Nova is to move: at the host that the tester is cabled to, with what that needs.

It is an archive in memory, as the guests are that QEMU alone moves, with an empty disk that Nova makes at
both hosts; no disk is shared. Another server of the same networks stands at the second host, so that Neutron
has joined them with its NICs. Ids: VM-04 there is no kernel for it, MOVE-07 its CPU is of another model than
the one that all hosts name.
"""

from __future__ import annotations

import ipaddress
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from bmwg.drivers.api.machines import MovingIntent
from bmwg.drivers.machines import guest_kernel, router_initramfs
from bmwg.drivers.nodes.namespace import NamespaceNode
from bmwg.drivers.openstack import side_switches
from bmwg.drivers.openstack.embedded import EmbeddedCloud
from bmwg.drivers.openstack.moving_server import HostPlace, MovingServer
from bmwg.drivers.openstack.segments import cleared
from bmwg.drivers.openstack.servers import Workshop
from bmwg.drivers.openstack.side_switches import SIDES
from bmwg.methodology.errors import TestbedError

_DISK_OCTETS = 1 << 20


@contextmanager
def standing(
    workshop: Workshop,
    cloud: EmbeddedCloud,
    home: NamespaceNode,
    intent: MovingIntent,
    *,
    networks: Sequence[str],
    kernel_line: str,
) -> Iterator[MovingServer]:
    """Have the server boot at the host on node `home`, and another of its networks at the next one.

    The tester is cabled to `home`: its NICs there are in the switches meanwhile. `networks` are the addresses
    that Neutron gives the ports of each side, which frames do not use;
    `kernel_line` stands before the words of the intent. Raises VM-04, VM-05, MOVE-07.
    """
    places = [HostPlace(node=node, work=work, name=cloud.hosts[node.name]) for node, work in cloud.places]
    first = next(place for place in places if place.node is home)
    second = next(place for place in places if place is not first)
    kernel = guest_kernel.find()
    if not isinstance(kernel, guest_kernel.GuestKernel):
        raise TestbedError("VM-04", kernel.what, found=kernel.reason, hint=kernel.mend)
    with side_switches.joined(home, intent.links), ExitStack() as stack:
        parts = {
            "kernel_id": _uploaded(
                stack, workshop, f"{intent.name}-kernel", kernel.unpacked_image(), "aki"
            ).id,
            "ramdisk_id": _uploaded(
                stack, workshop, f"{intent.name}-archive", router_initramfs.build(kernel), "ari"
            ).id,
        }
        flavor = workshop.flavor(intent.name, cpus=1, memory_octets=intent.memory_octets, disk_octets=1)
        laid: list[Any] = []
        stack.callback(cleared, workshop, laid, [(place.node, SIDES) for place in places])
        for side, cidr in zip(SIDES, networks, strict=True):
            address = str(next(ipaddress.IPv4Network(cidr).hosts()))
            laid.append(workshop.network(side, cidr, gateway=None, first=address, physical=side))
        made = []
        for at, (place, words) in enumerate(((second, intent.other_words), (first, intent.words))):
            with tempfile.NamedTemporaryFile() as empty:
                empty.truncate(_DISK_OCTETS)
                name = f"{intent.name}-{at}"
                line = f"{kernel_line} {words}"
                disk = _uploaded(
                    stack,
                    workshop,
                    name,
                    Path(empty.name),
                    "raw",
                    hw_vif_model="virtio",
                    os_command_line=line,
                    **parts,
                )
            ports = [workshop.port(f"{name}-{side}", one) for side, one in enumerate(laid)]
            stack.callback(workshop.delete_ports, ports)
            server = workshop.server(
                name, image=disk, flavor=flavor, ports=ports, zone=f"nova:{place.name}", config_drive=False
            )
            stack.callback(workshop.delete_server, server.server_id)
            made.append(server)
        moving = MovingServer(workshop, made[1], (first, second), memory_octets=intent.memory_octets)
        moving.require_model()
        moving.begin()
        yield moving


def _uploaded(
    stack: ExitStack, workshop: Workshop, what: str, path: Path, form: str, **properties: str
) -> Any:
    image = workshop.image(what, path, form, **properties)
    stack.callback(
        workshop.client.call,
        "delete of an image",
        lambda sdk: sdk.image.delete_image(image, ignore_missing=True),
    )
    return image
