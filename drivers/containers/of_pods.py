"""What pods of every runtime have in common: who they are, and how a function enters their network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack

from bmwg.drivers.api.calls import WITHIN_S
from bmwg.drivers.api.protocols import Attached, CallsInside, JsonValue, PlacedNode, PodNetwork
from bmwg.drivers.nodes import inside


class OfPods(CallsInside):
    """A pod on a node of ours. Programs enter it by its first process."""

    def __init__(self, node: PlacedNode, pod_id: str, *, pid: int = 0, start_ticks: int = 0) -> None:
        self.attached: tuple[Attached, ...] = ()
        self.checks: tuple[dict[str, JsonValue], ...] = ()
        self.node = node
        self.pod_id = pod_id
        self.pid = pid
        self.start_ticks = start_ticks

    def attach(self, stack: ExitStack, networks: Sequence[PodNetwork]) -> None:
        """Attach networks in their order and look whether each stands; `stack` undoes it."""
        for network in networks:
            attached = stack.enter_context(
                network.driver.attach(
                    self.node, network.attachment, pod_id=self.pod_id, pod_pid=self.pid, bridge=network.bridge
                )
            )
            self.attached += (attached,)
            # before anything else joins: a bridge changes its MAC with its ports
            self.checks += (network.driver.check(self.node, attached, pod_id=self.pod_id),)

    @property
    def netns_path(self) -> str:
        """The pod's network namespace, valid while its first process runs (its sandbox, in a cluster)."""
        return f"/proc/{self.pid}/ns/net"

    @property
    def kept_to(self) -> tuple[int, ...]:
        """None beside those of its cpuset, which is the run's."""
        return ()

    @property
    def entry(self) -> dict[str, JsonValue]:
        """Its first process, as `pod_programs` takes it."""
        return {"pid": self.pid, "start_ticks": self.start_ticks}

    def inside_named(
        self, function: str, arguments: Mapping[str, JsonValue], *, within_s: float = WITHIN_S
    ) -> JsonValue:
        """Run a function on the node, in the pod's network namespace."""
        return self.node.call_within(
            within_s + 20.0,
            inside.run,
            pid=self.pid,
            function=function,
            arguments=dict(arguments),
            within_s=within_s,
        )
