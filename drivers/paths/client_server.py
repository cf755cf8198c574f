"""A native client on one host, a server in a hosting form on another, a link between them (document 004).

A pod, by whatever runtime, is reached by the bridge that its CNI option makes, a guest and a unikernel by one
of ours, a guest behind a user-mode network by redirected ports. The client is a process of the first node in
every form, so that only the server's form differs. Tests of frames have no cells on it: both its ends are
programs.
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import ClassVar

from bmwg.drivers.api.protocols import BetweenPods, Crossed, Evidence, Missing, PodEnd, PodPathDriver
from bmwg.drivers.paths import served
from bmwg.drivers.paths.addresses import ENDPOINTS, host
from bmwg.drivers.paths.p2p_underlay import option_missing
from bmwg.drivers.paths.programs import ProgramsPath
from bmwg.drivers.places import agentless, guest_hosts
from bmwg.drivers.places.native import native_place
from bmwg.methodology.cells.paths import PathKind
from bmwg.methodology.cells.vnics import VIRTIO
from bmwg.methodology.records import BAREMETAL, ENGINES, GUESTS, NOTHING, POD, REDIRECTED, UNIKERNEL


class ClientServerPath(ProgramsPath):
    """Two nodes joined by a link; the client is native, the server native or in a pod."""

    kind: ClassVar[PathKind] = PathKind(
        name="client-server",
        hostings=(BAREMETAL, POD, *ENGINES, *GUESTS, UNIKERNEL),
        functions=(NOTHING,),
        networked=True,
        scenario="a native client and a server in a hosting form, on two nodes",
        between_nodes="L2 underlay",
        apart=True,
    )
    no_frames = "both of its ends are programs, and nothing forwards"
    suite = "testcases/sockets"
    words: ClassVar[Evidence] = {
        "function": {
            "name": "none",
            "runs_in": "programs at both ends use their kernels' sockets",
            "endpoint": "endpoint: the server's program uses its interface",
        },
        "chain": "none: two programs speak to each other",
        "flow_definition": "transport connections and datagrams between the two hosts' addresses",
    }

    def probe_pods(self) -> Missing | None:
        """Return what is missing: the hosting form, or the network option of a pod."""
        if self._cell.hosting not in self.kind.hostings:
            return Missing(
                what=f"hosting form {self._cell.hosting} for a server of transport tests",
                reason=f"no driver makes it here: {', '.join(self.kind.hostings)} are the forms",
                mend="docs/sockets.md, what is not here",
            )
        if self._cell.hosting == BAREMETAL:
            return None
        node = self._bed.node(self._bed.underlay()[1].node)
        if self._cell.hosting == UNIKERNEL:
            return agentless.missing(self._bed, node)
        if self._cell.hosting in GUESTS:
            lack = guest_hosts.lacking(self._bed, node, VIRTIO)
            return lack or (guest_hosts.no_redirection(node) if self._cell.hosting == REDIRECTED else None)
        if self._cell.hosting in ENGINES and self._cell.network == NOTHING:
            return Missing(
                what=f"hosting form {self._cell.hosting} without a network",
                reason="its pods are in a network option, as all pods are",
                mend=f"`engines: [{self._cell.hosting}]` in the profile, and not among `hostings`",
            )
        engine = self._cell.hosting in ENGINES
        lack = served.runtime(self._cell, self._bed).probe(node) if engine else None
        return lack or option_missing(self._cell, self._bed)

    def unanswered(self, workload: str) -> Missing | None:
        """Return why the server answers no load of this workload: its image decides that for a unikernel."""
        told = agentless.settings_of(self._bed) if self._cell.hosting == UNIKERNEL else None
        if told is None or workload in told.serves:
            return None
        return Missing(
            what=f"{workload} in the unikernel",
            reason=f"the testbed file says that it serves {', '.join(told.serves)}",
            mend="an image that starts its server, and its name in `unikernel.serves`",
        )

    def programs(self, stack: ExitStack) -> BetweenPods:
        """Give the client's link its address, and make the server's place."""
        bed = self._bed
        mine, other = bed.underlay()
        asking, answering = bed.node(mine.node), bed.node(other.node)
        stack.enter_context(served.addressed(asking, mine.interface, 0))
        cpus = bed.testbed.tester.cpus  # those of the form are the pods'
        place = stack.enter_context(native_place(bed, asking, number=0, cpus=cpus))
        client = PodEnd(pod=place, interface=mine.interface, address=host(ENDPOINTS[0][0]))
        at = served.Host(cell=self._cell, bed=bed, node=answering, nic=other.interface, asking=asking)
        server, further, told = stack.enter_context(served.serving(at))
        return BetweenPods(
            ends=(client, server),
            crossed=(
                Crossed(at=str(mine), place=asking, interface=mine.interface, forward="tx"),
                Crossed(at=str(other), place=answering, interface=other.interface, forward="rx"),
                *further,
            ),
            evidence={
                "network": NOTHING,
                **told,
                "hops": [
                    {"at": str(mine), "what": "the client's interface"},
                    {"at": str(other), "what": "the server's host"},
                    *told["hops"],
                ],
                "cpus": {"client": place.cpus, "server": bed.testbed.pods.cpuset, **told.get("cpus", {})},
                "native_programs": {"client": place.limits, **told.get("native_programs", {})},
            },
        )


_: type[PodPathDriver] = ClientServerPath
