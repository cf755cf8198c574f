"""A pod of a path: of the testbed's size, by the testbed's runtime, known to the bed while it stands."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from bmwg.drivers.api import PlacedNode, Pod, PodParts
from bmwg.drivers.hosting.bundle import SLEEPER, PodSpec
from bmwg.drivers.paths.bed import Bed

_SLEEPS = PodParts()


@contextmanager
def created_pod(bed: Bed, node: PlacedNode, *, name: str, parts: PodParts = _SLEEPS) -> Iterator[Pod]:
    """Make a pod of the testbed's size on `node`, its program not started; remove it on leaving."""
    limits = bed.testbed.pods
    spec = PodSpec(
        pod_id=name,
        cpus=limits.cpuset,
        memory_octets=limits.memory_octets,
        hugepages_2mi=limits.hugepages_2mi,
        forwarding=parts.forwarding,
        arguments=parts.arguments or SLEEPER,
        binds=parts.binds,
        capabilities=parts.capabilities,
    )
    with bed.runtime.made(node, spec) as pod:
        bed.pods[name] = pod
        try:
            yield pod
        finally:
            bed.pods.pop(name, None)
