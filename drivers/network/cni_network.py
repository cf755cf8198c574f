"""A network option of the testbed file, realized by CNI plugins on a pod's node."""

from __future__ import annotations

import contextlib
import ipaddress
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
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
)
from bmwg.drivers.network import cni, datapath
from bmwg.drivers.network import plugins as network_plugins
from bmwg.drivers.network import probe as network_probe
from bmwg.drivers.network.conflist import parse
from bmwg.drivers.network.handover import NetdevHandover
from bmwg.drivers.network.template import render
from bmwg.drivers.nodes import process
from bmwg.drivers.testbed.file import NetworkSpec
from bmwg.methodology.errors import ConfigError, ToolkitError

UNDO_KIND = "cni"
PLUGIN_DEADLINE_S = 20.0  # choice: as in cni.py; a call on the node lasts at most two of them a plugin


def by_host_device(spec: NetworkSpec, name: str) -> NetworkSpec:
    """Return the option with the plugin that hands the node's NIC itself over to the pod."""
    addressed = {"type": "static", "addresses": "${addresses}"}
    plugin = {"type": "host-device", "device": "${nic}", "ipam": addressed}
    conflist = {"cniVersion": "1.0.0", "name": f"bmwg-{name}-${{side}}", "plugins": [plugin]}
    return replace(spec, conflist=conflist, plugin_dir=spec.plugin_dir or "/usr/lib/cni")


class CniNetwork(NetdevHandover):
    """One option of `networks:`: probes it, attaches workloads, detaches them. Keeps no state of its own."""

    def __init__(self, spec: NetworkSpec, *, run_dir: Path, undo: UndoLog) -> None:
        if spec.conflist is None or not spec.plugin_dir:
            raise ConfigError(
                "NET-04",
                f"network option {spec.name} cannot be attached by CNI",
                expected="the keys conflist and plugin_dir",
                found=" and ".join(
                    key
                    for key, value in (("no conflist", spec.conflist), ("no plugin_dir", spec.plugin_dir))
                    if not value
                ),
            )
        self.spec = spec
        self.plugin_dir = spec.plugin_dir
        self._cache_dir = str(run_dir / "cni")
        self._undo = undo

    def conflist(self, attachment: Attachment, *, bridge: str) -> dict[str, Any]:
        """Return the option's configuration list with its variables filled for this attachment.

        An address gets as gateway the next hop of the attachment's routes that lies in its prefix.
        """
        variables = {
            "nic": attachment.uplink,
            "side": attachment.side,
            "bridge": bridge,
            "addresses": [_address(text, attachment.routes) for text in attachment.addresses],
            "vlan_id": self.spec.vlan_id,
        }
        where = f"networks.{self.spec.name}.conflist"
        rendered: dict[str, Any] = render(self.spec.conflist, variables, where=where)
        parse(rendered, where=where)
        return rendered

    def probe(self, node: Node) -> Missing | None:
        """Try the option on `node` in namespaces of its own; return what is missing there."""
        scratch = Attachment(
            network=self.spec.name,
            interface="net0",
            side=0,
            addresses=("198.18.128.2/24", "2001:2:0:8000::2/64"),
            uplink="nic0",
            routes=(("198.18.0.0/24", "198.18.128.1"), ("2001:2::/64", "2001:2:0:8000::1")),
        )
        found = node.call_within(
            90.0,
            network_probe.probe,
            plugin_dir=self.plugin_dir,
            conflist=self.conflist(scratch, bridge="bmwg-probe"),
            nic="nic0",
        )
        return Missing.told(found)

    def attached_by_plugin(self, node: Node, attached: Attached, *, bridge: str) -> dict[str, JsonValue]:
        """Nothing: the plugins' result has all of it."""
        return {}

    def transit(self) -> Missing | None:
        """Return why frames in transit cannot reach a pod: ipvlan takes its own addresses only."""
        plugins = (self.spec.conflist or {}).get("plugins", [])
        if not any(plugin.get("type") == "ipvlan" for plugin in plugins):
            return None
        return Missing(
            what=f"a forwarding pod on {self.spec.name}",
            reason="ipvlan hands a pod only the frames that are addressed to one of its own addresses",
            mend="path p2p for this option; macvlan, vlan or host-device for a forwarding pod",
        )

    def describe(self, node: Node) -> dict[str, JsonValue]:
        """Return what the option is on `node`: plugin binaries with hash, versions and package."""
        scratch = Attachment(network=self.spec.name, interface="net0", side=0, addresses=(), uplink="nic0")
        binaries = parse(self.conflist(scratch, bridge="bmwg")).binaries
        return {
            **self.named("cni"),
            "plugin_dir": self.plugin_dir,
            "plugins": node.call_within(
                60.0, network_plugins.evidence, plugin_dir=self.plugin_dir, binaries=list(binaries)
            ),
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
        """ADD the attachment to the workload of process `pod_pid` on `node`; DEL it on leaving.

        `netns` is a path that holds that process' network namespace also when the process has ended.
        The DEL stands in the undo log before the ADD runs. Raises what `cni.add` raises, and TestbedError
        CNI-15 when the DEL fails.
        """
        conflist = self.conflist(attachment, bridge=bridge)
        deadline_s = PLUGIN_DEADLINE_S * 2 * len(conflist["plugins"]) + 10
        named = {
            "container_id": pod_id,
            "interface": attachment.interface,
            "cache_dir": self._cache_dir,
        }
        made: dict[str, JsonValue] = {
            **named,
            "plugin_dir": self.plugin_dir,
            "conflist": conflist,
            "netns": netns or f"/proc/{pod_pid}/ns/net",
        }
        ticks = 0 if netns else node.call(process.start_ticks, pid=pod_pid)
        delete = {**made, "network": conflist["name"], "netns_start_ticks": ticks}
        entry = self._undo.before(UNDO_KIND, node.place, **delete)
        try:
            added = node.call_within(deadline_s, cni.add, **made)
        except BaseException:
            # whatever stopped it, what it made goes; if that fails too, the entry stays for the clean-up
            with contextlib.suppress(ToolkitError):
                node.call_within(deadline_s, cni.detach, **delete)
                self._undo.done(entry)
            raise
        try:
            view = node.call(datapath.attachment_view, netns=made["netns"], interface=attachment.interface)
            yield Attached.seen(
                attachment,
                self.spec.name,
                view,
                conflist=conflist,
                cni_version=added["version"],
                result=added["result"],
                executions=added["executions"],
            )
        finally:
            node.call_within(deadline_s, cni.detach, **delete)
            self._undo.done(entry)

    def check(self, node: Node, attached: Attached, *, pod_id: str) -> dict[str, JsonValue]:
        """Have every plugin CHECK that the attachment stands; return what was executed, or why not."""
        return node.call_within(
            PLUGIN_DEADLINE_S * 4,
            cni.check,
            container_id=pod_id,
            network=attached.evidence["conflist"]["name"],
            interface=attached.attachment.interface,
            cache_dir=self._cache_dir,
        )


def _address(text: str, routes: tuple[tuple[str, str], ...]) -> dict[str, str]:
    subnet = ipaddress.ip_interface(text).network
    for _, via in routes:
        if ipaddress.ip_address(via) in subnet:
            return {"address": text, "gateway": via}
    return {"address": text}


_: type[PluginNetwork] = CniNetwork
