"""Tries a network option for real, in scratch namespaces on the node, and says what is missing."""

from __future__ import annotations

import ctypes
import os
import select
import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from pyroute2 import IPRoute
from pyroute2.netlink.exceptions import NetlinkError

from bmwg.drivers.api.calls import name_of
from bmwg.drivers.network import cni, plugins
from bmwg.drivers.network.conflist import NetworkList, parse
from bmwg.drivers.nodes import inside
from bmwg.drivers.ports import sysctl
from bmwg.methodology.errors import TestbedError

_KERNEL_MEND = "modprobe {module}; a kernel built without it: apt-get install linux-image-amd64, boot that"
_KIND_OF_PLUGIN = {
    "ipvlan": "ipvlan",
    "macvlan": "macvlan",
    "vlan": "vlan",
    "bridge": "bridge",
    "ptp": "veth",
}
_MODULE_OF_KIND = {"vlan": "8021q"}
_CLONE_NEWNET = 0x4000_0000
_HOLD_DEADLINE_S = 5.0
_libc = ctypes.CDLL(None, use_errno=True)


def probe(*, plugin_dir: str, conflist: Mapping[str, Any], nic: str) -> dict[str, str] | None:
    """Node function: return what the node lacks for the rendered list, or None when an ADD and DEL worked.

    The answer has `what`, `reason` as found and `mend`. Raises ConfigError NET-02 on a wrong list. The trial
    runs in network namespaces that end with it; `nic` is the name of a scratch NIC there.
    """
    network = parse(conflist)
    for binary in network.binaries:
        try:
            plugins.identify(plugin_dir, binary)
        except TestbedError as error:
            return _missing(f"CNI plugin {binary}", error, plugins.MEND)
    with _held_namespace() as node, _held_namespace() as pod:
        answer: dict[str, str] | None = inside.run(
            pid=node,
            function=name_of(try_here),
            arguments={"plugin_dir": plugin_dir, "conflist": dict(conflist), "nic": nic, "pod_pid": pod},
            within_s=60.0,
        )
    return answer


def try_here(
    *, plugin_dir: str, conflist: Mapping[str, Any], nic: str, pod_pid: int
) -> dict[str, str] | None:
    """Run one ADD and one DEL in the calling process's own, disposable namespace; the body of `probe`."""
    network = parse(conflist)
    sysctl.quiet_defaults()
    with IPRoute() as kernel:
        kernel.link("add", ifname=nic, kind="veth", peer={"ifname": "scratch-peer"})
        for name in (nic, "scratch-peer"):
            kernel.link("set", index=kernel.link_lookup(ifname=name)[0], state="up")
        refused = _refused_kind(kernel, network, nic)
    if refused is not None:
        return refused
    attachment: dict[str, Any] = {
        "container_id": "bmwg-probe",
        "interface": "net0",
        "cache_dir": f"/run/bmwg-probe-{os.getpid()}",
    }
    what = f"network {network.name} ({', '.join(network.binaries)})"
    try:
        netns = f"/proc/{pod_pid}/ns/net"
        cni.add(plugin_dir=plugin_dir, conflist=conflist, netns=netns, **attachment)
        left = cni.delete(network=network.name, **attachment)
    except TestbedError as error:
        return _missing(what, error, "see the plugin's own words")
    if left:
        reason = "a trial attachment could not be detached: " + " | ".join(left)
        return {"what": what, "reason": reason, "mend": "see the plugin's own words"}
    return None


def _missing(what: str, error: TestbedError, mend: str) -> dict[str, str]:
    reason = error.what + (f": found {error.found}" if error.found else "")
    return {"what": what, "reason": reason, "mend": error.hint or mend}


def _refused_kind(kernel: IPRoute, network: NetworkList, nic: str) -> dict[str, str] | None:
    """Make one scratch interface of each kind that the list's shipped plugins need."""
    lower = kernel.link_lookup(ifname=nic)[0]
    for plugin in network.plugins:
        kind = _KIND_OF_PLUGIN.get(plugin["type"])
        if kind is None:
            continue
        fields: dict[str, Any] = {"ifname": "scratch0", "kind": kind}
        if kind in {"ipvlan", "macvlan", "vlan"}:
            fields["link"] = lower
        if kind == "vlan":
            fields["vlan_id"] = 1
        if kind == "veth":
            fields["peer"] = {"ifname": "scratch1"}
        try:
            kernel.link("add", **fields)
            kernel.link("del", index=kernel.link_lookup(ifname="scratch0")[0])
        except NetlinkError as error:
            return {
                "what": f"interfaces of kind {kind} in the kernel",
                "reason": f"the kernel refused a scratch {kind} interface: {os.strerror(error.code)}",
                "mend": _KERNEL_MEND.format(module=_MODULE_OF_KIND.get(kind, kind)),
            }
    return None


@contextmanager
def _held_namespace() -> Iterator[int]:
    """Hold a new network namespace by a waiting child process; yields its pid."""
    ready, done = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(ready)
            if _libc.unshare(_CLONE_NEWNET) == 0:
                os.write(done, b"1")
                signal.pause()
        finally:
            os._exit(0)
    os.close(done)
    try:
        readable, _, _ = select.select([ready], [], [], _HOLD_DEADLINE_S)
        if not readable or os.read(ready, 1) != b"1":
            raise TestbedError(
                "CNI-20", "a scratch network namespace for a trial attachment", found="refused"
            )
        yield child
    finally:
        os.close(ready)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
