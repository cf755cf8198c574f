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
    with ExitStack() as stack:
        if bed.testbed.dut.device_queue == "threaded":
            for interface in interfaces:
                merged = node.call(device_queue.merges, interface=interface)
                stack.callback(node.call, device_queue.release, interface=interface, merged=merged)
        yield


@contextmanager
def tags_in_frames(node: Node, interfaces: tuple[str, ...]) -> Iterator[None]:
    """Enter before ADD: 802.1Q tags of these interfaces stand in the frames themselves; undone on leaving."""
    with ExitStack() as stack:
        for interface in interfaces:
            before = node.call(device_queue.insert_tags, interface=interface, by_device=False)
            stack.callback(node.call, device_queue.insert_tags, interface=interface, by_device=before)
        yield


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
