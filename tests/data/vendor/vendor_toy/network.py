"""A network option that needs no CNI plugin: a veth pair into the pod, its other end on a bridge."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bmwg.drivers.api.protocols import (
    Attached,
    Attachment,
    JsonValue,
    Missing,
    NetworkDriver,
    Node,
    PlacedNode,
    UndoLog,
)
from bmwg.drivers.network.handover import NetdevHandover
from bmwg.drivers.ports import interfaces
from bmwg.drivers.testbed.file import NetworkSpec
from bmwg.methodology.errors import ConfigError
from vendor_toy import on_node


class VethPair(NetdevHandover):
    """Joins pods by veth pairs to a bridge of its own; `options: {prefix: name}` names the pairs' ends."""

    def __init__(self, spec: NetworkSpec, *, run_dir: Path, undo: UndoLog) -> None:
        strange = set(spec.options) - {"prefix"}
        if strange:
            raise ConfigError(
                "NET-04",
                f"network option {spec.name}: options",
                expected="prefix",
                found=", ".join(sorted(strange)),
            )
        self.spec = spec
        self._prefix = str(spec.options.get("prefix", "toy"))
        self._undo = undo

    def probe(self, node: Node) -> Missing | None:
        """Nothing: every kernel that runs the embedded testbed has veth and bridge."""
        return None

    def transit(self) -> Missing | None:
        """A bridge takes every frame."""
        return None

    def describe(self, node: Node) -> dict[str, JsonValue]:
        """Name and model; the kernel's own version stands in the record."""
        return {
            "driver": "veth-pair",
            "network": self.spec.name,
            "networking_model": self.spec.model,
            "uplink": self.spec.uplink,
        }

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
        """Make the pair; delete it on leaving, with the end in the pod."""
        host = f"{self._prefix}{attachment.side}"
        entry = self._undo.before("interface", node.place, interface=host)
        try:
            view = node.call(
                on_node.add,
                bridge=bridge,
                host=host,
                pid=pod_pid,
                interface=attachment.interface,
                addresses=list(attachment.addresses),
            )
            inside, other = view["inside"], view["host_side"]
            yield Attached(
                attachment=attachment,
                link_kind=inside["kind"],
                mac=inside["mac"],
                mtu_octets=inside["mtu_octets"],
                addresses=tuple(inside["addresses"]),
                host_interface=other["name"],
                host_mac=other["mac"],
                took_nic=False,
                evidence={"network": self.spec.name, "interface": inside, "host_side": other},
            )
        finally:
            node.call(interfaces.delete, interface=host)
            self._undo.done(entry)

    def check(self, node: Node, attached: Attached, *, pod_id: str) -> dict[str, JsonValue]:
        """Nothing is asked: no plugin can check it."""
        return {"checked": False, "reason": "no plugin made it"}


_: type[NetworkDriver] = VethPair
