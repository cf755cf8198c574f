"""Pods with two networks: virtual functions of the node's NICs north and south, a vSwitch east and west.

The combination model of draft-ietf-bmwg-containerized-infra 5.1.2.4. An attachment that reaches a NIC of the
node is made by one option, one that reaches another pod by the other; each says in its evidence which axis it
serves and by which model. Both are whole options of their own, named by their drivers in the testbed file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

from bmwg.drivers import registry
from bmwg.drivers.api.protocols import (
    Attached,
    Attachment,
    JsonValue,
    Missing,
    NetworkDriver,
    Node,
    PlacedNode,
    PodParts,
    UndoLog,
)
from bmwg.drivers.network.handover import COMBINED, NetworkDefaults
from bmwg.drivers.network.options import Options
from bmwg.drivers.testbed.file import NetworkSpec

NORTH_SOUTH, EAST_WEST = "north-south", "east-west"
_MODELS = {NORTH_SOUTH: "sr-iov", EAST_WEST: "user-space"}
_DRIVERS = {NORTH_SOUTH: ("sriov-vfio", "sriov"), EAST_WEST: ("ovs-dpdk",)}  # the first is the default


class CombinedNetwork(NetworkDefaults):
    """One option of `networks:` with `driver: combination`. Keeps no state of its own.

    `options` have `north_south` and `east_west` (names of drivers), and `north_south_options` and
    `east_west_options` (theirs).
    """

    hands_over: ClassVar[str] = COMBINED

    def __init__(self, spec: NetworkSpec, *, run_dir: Path, undo: UndoLog) -> None:
        options = Options(spec)
        self._halves: dict[str, NetworkDriver] = {}
        for axis, model in _MODELS.items():
            key = axis.replace("-", "_")
            half = replace(
                spec,
                driver=options.choice(key, _DRIVERS[axis]),
                uplink="master" if axis == NORTH_SOUTH else "none",
                model=model,
                options=options.part(f"{key}_options"),
            )
            self._halves[axis] = registry.network(half, run_dir=run_dir, undo=undo)
        options.finish()
        self.spec = spec

    def _of(self, attachment: Attachment) -> tuple[str, NetworkDriver]:
        """Return which axis an attachment serves, and the option that makes it."""
        axis = EAST_WEST if attachment.uplink is None else NORTH_SOUTH
        return axis, self._halves[axis]

    def probe(self, node: Node) -> Missing | None:
        """Return what is missing for either half."""
        for half in self._halves.values():
            if lack := half.probe(node):
                return lack
        return None

    def probe_uplink(self, node: Node, nic: str) -> Missing | None:
        """Return what this NIC lacks for the half that takes it."""
        return self._halves[NORTH_SOUTH].probe_uplink(node, nic)

    def transit(self) -> Missing | None:
        """Return why frames in transit cannot pass one of the halves."""
        return next(filter(None, (half.transit() for half in self._halves.values())), None)

    def describe(self, node: Node) -> dict[str, JsonValue]:
        """Return both halves by their axes."""
        return {
            **self.named("combination"),
            "halves": {axis: half.describe(node) for axis, half in self._halves.items()},
        }

    @contextmanager
    def pod_parts(self, node: PlacedNode, pod_id: str) -> Iterator[PodParts]:
        """The pod sees what both halves need."""
        first, second = self._halves.values()
        with first.pod_parts(node, pod_id) as one, second.pod_parts(node, pod_id) as other:
            yield one | other

    @contextmanager
    def attach(
        self,
        node: PlacedNode,
        attachment: Attachment,
        *,
        pod_id: str,
        pod_pid: int,
        bridge: str,
        netns: str = "",
    ) -> Iterator[Attached]:
        """Attach by the half that serves this axis, and say which it is."""
        axis, half = self._of(attachment)
        with half.attach(
            node, attachment, pod_id=pod_id, pod_pid=pod_pid, bridge=bridge, netns=netns
        ) as attached:
            told: Mapping[str, JsonValue] = {"axis": axis, "networking_model": half.spec.model}
            yield replace(attached, evidence={**attached.evidence, **told})

    def check(self, node: Node, attached: Attached, *, pod_id: str) -> dict[str, JsonValue]:
        """Return what the half says of its attachment."""
        _, half = self._of(attached.attachment)
        return half.check(node, attached, pod_id=pod_id)

    def settled(self, node: Node, attached: Attached, *, pod_id: str, pod_pid: int) -> dict[str, JsonValue]:
        """Wait for the half's attachment; return what it then says."""
        _, half = self._of(attached.attachment)
        return half.settled(node, attached, pod_id=pod_id, pod_pid=pod_pid)

    def uses(self, node: Node) -> dict[str, JsonValue]:
        """Return what the processes of both halves have used."""
        return {name: used for half in self._halves.values() for name, used in half.uses(node).items()}


_: type[NetworkDriver] = CombinedNetwork
