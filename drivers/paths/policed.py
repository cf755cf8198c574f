"""Network policies of the testbed file (`pods.policies`) for the pod at the end of a path.

All of them are for the pod that receives and each allows somebody else, but for the last by name, which
allows the sender: a frame has passed them all when it comes.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from bmwg.drivers.api.pods import of_cluster
from bmwg.drivers.api.protocols import ClusterRuntime, Evidence, Missing, NetworkDriver, PlacedNode
from bmwg.drivers.paths.bed import Bed
from bmwg.drivers.paths.endpoints import Endpoint, subnets

_RECEIVER = "1"


def unenforced(bed: Bed, network: NetworkDriver) -> Missing | None:
    """Return why the policies that are asked for would not be enforced; None where none is asked for."""
    if not bed.testbed.pods.policies:
        return None
    if not isinstance(bed.runtime, ClusterRuntime):
        return Missing(
            what=f"{bed.testbed.pods.policies} network policies",
            reason=f"pods.runtime is {bed.testbed.pods.runtime}, which has none",
            mend="pods.runtime: kubernetes",
        )
    return bed.runtime.enforces(bed.node(bed.sides()[0].node), network)


@contextmanager
def policed(
    bed: Bed, network: NetworkDriver, node: PlacedNode, pair: tuple[Endpoint, Endpoint]
) -> Iterator[Evidence]:
    """Have the policies in force while this is open; yields the evidence, empty where none is asked for."""
    count = bed.testbed.pods.policies
    if not count:
        yield {}
        return
    from bmwg.drivers.kubernetes.policies import allow, further  # paths know of no cluster otherwise

    texts = [*further(_RECEIVER, count - 1), allow(_RECEIVER, *subnets(pair[0]))]
    with of_cluster(bed.runtime).policies(node, network) as made:
        made.mark([end.pod.pod_id for end in pair])
        with made.standing({f"standing-{number:05}": one for number, one in enumerate(texts)}) as told:
            yield {"network_policies": told}
