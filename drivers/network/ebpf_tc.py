"""Pods joined by a program at the tc hook: `bpf_redirect_peer` into the pod, `bpf_redirect` out of it.

The tc sub-type of the eBPF model, draft-ietf-bmwg-containerized-infra 5.1.2.2. The program is our own
(`src/redirect.bpf.c`); the pod has an ordinary veth end, which any function drives.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from bmwg.drivers.api.protocols import (
    Attached,
    Attachment,
    JsonValue,
    Missing,
    Node,
    PlacedNode,
    PluginNetwork,
    UndoLog,
    undone,
)
from bmwg.drivers.network import ebpf_build, ebpf_cni, ebpf_node
from bmwg.drivers.network.handover import NetdevHandover
from bmwg.drivers.network.options import Options
from bmwg.drivers.testbed.file import NetworkSpec


class TcRedirectNetwork(NetdevHandover):
    """One option of `networks:` with `driver: ebpf-tc`. Keeps no state of its own."""

    plugin_dir = ""

    def __init__(self, spec: NetworkSpec, *, run_dir: Path, undo: UndoLog) -> None:
        options = Options(spec)
        self._mtu_octets = options.count("mtu_octets", default=1500, least=576, most=65535)
        options.finish()
        self.spec = spec
        self._undo = undo

    def conflist(self, attachment: Attachment, *, bridge: str) -> dict[str, Any]:
        """Return it as a CNI configuration, for a kubelet, which attaches by plugins alone (`ebpf_cni`)."""
        addresses = [{"address": text} for text in attachment.addresses]
        plugin = {
            "type": ebpf_cni.PLUGIN,
            "segment": bridge,
            "nic": attachment.uplink or "",
            "mtu_octets": self._mtu_octets,
            "ipam": {"type": "static", "addresses": addresses},
        }
        return {"cniVersion": "1.0.0", "name": f"bmwg-tc-{attachment.side}", "plugins": [plugin]}

    def attached_by_plugin(self, node: Node, attached: Attached, *, bridge: str) -> dict[str, JsonValue]:
        """Return the same evidence as `attach` gives, of an attachment that the plugin made."""
        return {
            "mapping": {
                "nic": attached.attachment.uplink,
                "segment": bridge,
                "host_interface": attached.host_interface,
            },
            "programs": node.call(ebpf_cni.seen, segment=bridge),
        }

    def probe(self, node: Node) -> Missing | None:
        """Return what is missing: clang at set-up, libbpf, a kernel that takes the program."""
        return Missing.told(node.call_within(60.0, ebpf_node.probe))

    def transit(self) -> Missing | None:
        """Every frame passes: the program forwards by interface alone."""
        return None

    def describe(self, node: Node) -> dict[str, JsonValue]:
        """Return the program's source and the option's settings."""
        return {
            **self.named("ebpf-tc"),
            "hook": "tc ingress",
            "program": {
                "source": ebpf_build.SOURCE.name,
                "sha256": hashlib.sha256(ebpf_build.SOURCE.read_bytes()).hexdigest(),
                "supported_versions": ["Linux 5.10 or newer (bpf_redirect_peer)"],
            },
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
        """Make a veth pair into the pod, join its end on the node with the uplink; undo both on leaving."""
        host = f"bmwg{zlib.crc32(f'{pod_id}/{attachment.interface}'.encode()):08x}"
        leave = partial(node.call, ebpf_node.leave, segment=bridge, host=host)
        with undone(self._undo, "interface", node.place, leave, interface=host):
            node.call(
                ebpf_node.add_pair,
                host=host,
                pid=pod_pid,
                interface=attachment.interface,
                addresses=list(attachment.addresses),
                mtu_octets=self._mtu_octets,
            )
            view = node.call(
                ebpf_node.join,
                segment=bridge,
                nic=attachment.uplink or "",
                host=host,
                pid=pod_pid,
                interface=attachment.interface,
            )
            mapping = {"nic": attachment.uplink, "segment": bridge, "host_interface": host}
            yield Attached.seen(attachment, self.spec.name, view, mapping=mapping, programs=view["segment"])

    def check(self, node: Node, attached: Attached, *, pod_id: str) -> dict[str, JsonValue]:
        """Return the members of the attachment's segment as the kernel has them."""
        segment = attached.evidence["mapping"]["segment"]
        return {"checked": True, **node.call(ebpf_node.standing, segment=segment)}


_: type[PluginNetwork] = TcRedirectNetwork
