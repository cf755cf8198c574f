"""A pod of a path: of the testbed's size, by the testbed's runtime, known to the bed while it stands."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from bmwg.drivers.api.protocols import (
    Attachment,
    JsonValue,
    NestedNode,
    PlacedNode,
    Pod,
    PodNetwork,
    PodParts,
    PodRuntime,
)
from bmwg.drivers.containers.bundle import SLEEPER, PodSpec
from bmwg.drivers.nodes import cpu_placement, rights
from bmwg.drivers.paths import uplinks
from bmwg.drivers.paths.addresses import management
from bmwg.drivers.paths.bed import Bed
from bmwg.drivers.ports import interfaces
from bmwg.methodology.cells.paths import ACCELERATED

MANAGEMENT = "mgmt0"  # a pod's interface for management, beside those for data
_MANAGEMENT_BRIDGE = "bmwg-mgmt"
_SLEEPS = PodParts()


@contextmanager
def created_pod(
    bed: Bed,
    node: PlacedNode,
    *,
    name: str,
    networks: Sequence[PodNetwork],
    parts: PodParts = _SLEEPS,
    runtime: PodRuntime | None = None,
    netns: str = "",
    programs: bool = False,
) -> Iterator[Pod]:
    """Make a pod of the testbed's size with these networks, its program not started; remove it on leaving.

    It is made by the testbed's runtime, or by another that is given. `netns` is a network namespace that it
    joins as that is: it is then a further container of a pod. `programs` of a workload will run in it.
    """
    limits = bed.testbed.pods
    spec = PodSpec(
        pod_id=name,
        cpus=node.pod_cpus if isinstance(node, NestedNode) else limits.cpuset,
        memory_octets=limits.memory_octets,
        hugepages_2mi=limits.hugepages_2mi,
        hugepages_1gi=limits.hugepages_1gi,
        forwarding=parts.forwarding,
        arguments=() if parts.told_at_start else parts.arguments or SLEEPER,
        told_at_start=parts.told_at_start,
        binds=parts.binds,
        capabilities=parts.capabilities,
        root=parts.root,
        least=True,
        endpoint=parts is _SLEEPS,
        netns=netns,
        programs=programs,
    )
    with (runtime or bed.runtime).made(node, spec, networks) as pod, _managed(bed, pod, networks):
        bed.pods[name] = pod
        bed.asked_capabilities[name] = parts.capabilities
        try:
            yield pod
        finally:
            bed.pods.pop(name, None)
            bed.asked_capabilities.pop(name, None)


@contextmanager
def _managed(bed: Bed, pod: Pod, networks: Sequence[PodNetwork]) -> Iterator[None]:
    """Give a pod of an accelerated model its interface for management, where the testbed names an option.

    It lies on a bridge that no NIC is a port of; the last pod takes that with it.
    """
    option = bed.testbed.pods.management
    if not option or not any(network.driver.spec.model in ACCELERATED for network in networks):
        yield
        return
    driver = bed.network(option)
    wanted = Attachment(
        network=option,
        interface=MANAGEMENT,
        side=0,
        addresses=management(len(bed.management)),
    )
    with driver.attach(
        pod.node, wanted, pod_id=pod.pod_id, pod_pid=pod.pid, bridge=_MANAGEMENT_BRIDGE, netns=pod.netns_path
    ) as attached:
        bed.management[pod.pod_id] = attached
        try:
            with uplinks.bridged(pod.node, interfaces=(), bridge=_MANAGEMENT_BRIDGE):
                yield
        finally:
            del bed.management[pod.pod_id]
    if not bed.management:
        pod.node.call(interfaces.delete, interface=_MANAGEMENT_BRIDGE)


def described(bed: Bed, pod: Pod, *, works: bool) -> dict[str, JsonValue]:
    """Return the pod as it is, with the CPUs and the rights of its threads as the kernel has them.

    A pod that `works` has a function, whose threads must be on the pod's CPUs: DriverError POD-08. The
    program of another only sleeps.
    """
    told = pod.describe()
    if attached := bed.management.get(pod.pod_id):
        told["management"] = {  # no key `interface`: it is none of the attachments that carry test frames
            "name": attached.attachment.interface,
            "option": attached.attachment.network,
            "kind": attached.link_kind,
            "addresses": list(attached.addresses),
        }
    cgroup = told.get("cgroup")
    if not cgroup:
        why = "the runtime does not tell the pod's cgroup"
        return {**told, "threads": None, "threads_reason": why, "rights": None}
    found = pod.node.call(cpu_placement.threads, cgroup=cgroup)
    if works:
        cpu_placement.require_on(f"pod {pod.pod_id}", found, bed.testbed.pods.cpus)
    granted = pod.node.call(rights.granted, cgroup=cgroup)
    asked = bed.asked_capabilities.get(pod.pod_id, ())
    return {**told, "threads": found, "rights": rights.compared(asked, granted)}
