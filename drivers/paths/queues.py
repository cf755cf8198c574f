"""Device queues of the DUT's tester-facing interfaces, and where frames are forwarded because of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager

from bmwg.drivers.api.protocols import JsonValue, Node, Pod
from bmwg.drivers.paths.bed import Bed
from bmwg.drivers.ports import device_queue


@contextmanager
def released(bed: Bed, node: Node, interfaces: Iterable[str]) -> Iterator[None]:
    """Enter before anything is isolated: on leaving, these interfaces of the node are as they were before.

    A deployment that finds its predecessor's queues is not what the first of its kind was.
    """
    before: dict[str, dict[str, JsonValue]] = {}
    if bed.testbed.dut.device_queue == "threaded":
        before = {one: node.call(device_queue.standing, interface=one) for one in interfaces}
    try:
        yield
    finally:
        for interface, stood in before.items():
            node.call(device_queue.release, interface=interface, **stood)


@contextmanager
def tags_in_frames(node: Node, interfaces: tuple[str, ...]) -> Iterator[None]:
    """Enter before ADD: 802.1Q tags of these interfaces stand in the frames themselves; undone on leaving."""
    with ExitStack() as stack:
        for interface in interfaces:
            before = node.call(device_queue.insert_tags, interface=interface, by_device=False)
            stack.callback(node.call, device_queue.insert_tags, interface=interface, by_device=before)
        yield


@contextmanager
def towards_queue(bed: Bed, node: Node, interface: str) -> Iterator[None]:
    """Enter: what this interface sends goes through the device queue at its far end; undone on leaving."""
    offloads = []
    if bed.testbed.dut.device_queue == "threaded":
        offloads = node.call(device_queue.prepare_sender, interface=interface)
    try:
        yield
    finally:
        node.call(device_queue.let_sender, interface=interface, offloads=offloads)


def isolate(bed: Bed, place: Node | Pod, interface: str, number: int) -> dict[str, JsonValue]:
    """Give the interface a queue and a kernel thread on the DUT's CPU, if the testbed file asks for it.

    Call it after the interface's last `up`. Returns evidence, also when the testbed asks for none.
    """
    where = place.pod_id if isinstance(place, Pod) else place.name
    if bed.testbed.dut.device_queue != "threaded":
        return {"at": f"{where}/{interface}", "device_queue": "inline", "forwarding": "in the sender's call"}
    arguments: dict[str, JsonValue] = {"interface": interface, "cpu": bed.dut_cpu(number)}
    made = (
        place.inside(device_queue.isolate, **arguments)
        if isinstance(place, Pod)
        else place.call(device_queue.isolate, **arguments)
    )
    return {"at": f"{where}/{interface}", **made}
