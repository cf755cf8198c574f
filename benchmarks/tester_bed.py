"""Beds for the tester's own benchmarks and contract tests: veth pairs between namespaces made for one run.

`direct()` joins the two tester ports by one veth pair; `forwarder()` puts a namespace between them that
bridges or routes, with a device queue and a CPU of its own, so that its overload shows as loss.
"""

from __future__ import annotations

import itertools
import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from ending import end_in_order
from pyroute2 import IPRoute, netns

from bmwg.drivers.api.protocols import TesterPort

_serial = itertools.count()


def inside(namespace: str, *argv: str) -> str:
    """Run one command in a namespace, with its own /sys (iproute2 mounts it)."""
    done = subprocess.run(
        ["ip", "netns", "exec", namespace, *argv], capture_output=True, text=True, timeout=10, check=False
    )
    if done.returncode:
        raise RuntimeError(f"{argv} in {namespace}: {done.stderr.strip()}")
    return done.stdout


@contextmanager
def namespace(role: str) -> Iterator[str]:
    """A named network namespace, unique over runs; its interfaces are silent (no IPv6 of the kernel)."""
    name = f"bt{os.getpid()}x{next(_serial)}{role}"
    end_in_order()
    netns.create(name)
    try:
        inside(name, "sysctl", "-qw", "net.ipv6.conf.default.disable_ipv6=1")
        yield name
    finally:
        netns.remove(name)


def veth(left: tuple[str, str], right: tuple[str, str], *, mtu: int = 1500) -> None:
    """A veth pair between two namespaces, both ends up. They go with the namespaces."""
    with IPRoute(netns=left[0]) as here:
        here.link(
            "add",
            ifname=left[1],
            kind="veth",
            mtu=mtu,
            peer={"ifname": right[1], "net_ns_fd": right[0], "mtu": mtu},
        )
    for space, name in (left, right):
        with IPRoute(netns=space) as route:
            route.link("set", index=route.link_lookup(ifname=name)[0], state="up")


def port(side: int, space: str, device: str, io: str, **other: object) -> TesterPort:
    """A tester port with addresses of RFC 2544 appendix C and RFC 5180."""
    return TesterPort(
        name=f"tester/p{side}",
        io=io,
        device=device,
        netns=f"/run/netns/{space}",
        ipv4=f"198.18.{side}.2/24",
        ipv6=f"2001:2:0:{side}::2/64",
        **other,  # type: ignore[arg-type]
    )


@contextmanager
def direct(io: str, *, mtu: int = 1500) -> Iterator[tuple[TesterPort, TesterPort]]:
    """The tester's two ports on the ends of one veth pair, each in its namespace."""
    with namespace("a") as left, namespace("b") as right:
        veth((left, "p0"), (right, "p1"), mtu=mtu)
        yield port(0, left, "p0", io), port(1, right, "p1", io)


def ringed(ways: tuple[str, ...]) -> tuple[TesterPort, ...]:
    """Tester ports that are rings: the first is joined to the second, the third to the fourth, and so on."""
    return tuple(
        TesterPort(
            name=f"tester/p{side}",
            io="ring",
            device=way,
            mac=f"02:00:00:00:00:0{side + 1}",
            ipv4=f"198.18.{side}.2/24",
            ipv6=f"2001:2:0:{side}::2/64",
        )
        for side, way in enumerate(ways)
    )


def linked(io: str, devices: tuple[str, str]) -> tuple[TesterPort, TesterPort]:
    """Two tester ports that are each other's end without a kernel between them: rings, or a socket's ends."""
    kinds = ("vhost", "virtio_user") if io == "vhost" else (io, io)
    first, second = (
        TesterPort(
            name=f"tester/p{side}",
            io=kinds[side],
            device=devices[side],
            mac=f"02:00:00:00:00:0{side + 1}",
            ipv4=f"198.18.{side}.2/24",
            ipv6=f"2001:2:0:{side}::2/64",
            peer_mac=f"02:00:00:00:00:0{2 - side}",
        )
        for side in (0, 1)
    )
    return first, second


def own_queue(space: str, device: str, cpu: int) -> None:
    """Give a veth end a device queue of its own: GRO on, threaded NAPI, its kernel thread on `cpu`."""
    before = _napi_threads(device)
    inside(space, "ethtool", "-K", device, "gro", "on")
    inside(space, "sh", "-c", f"echo 1 > /sys/class/net/{device}/threaded")
    end_s = time.monotonic() + 5
    while not (fresh := _napi_threads(device) - before):
        if time.monotonic() > end_s:
            raise RuntimeError(f"{device}: no napi thread came up")
        time.sleep(0.01)
    for pid in fresh:
        os.sched_setaffinity(pid, {cpu})
        os.setpriority(os.PRIO_PROCESS, pid, -20)


def _napi_threads(device: str) -> set[int]:
    found = set()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                comm = (entry / "comm").read_text().strip()
            except OSError:
                continue
            if comm.startswith(f"napi/{device}"[:15].rstrip("-")):
                found.add(int(entry.name))
    return found


@contextmanager
def forwarder(
    io: str, *, mode: str = "bridge", cpu: int | None = None, mtu: int = 1500
) -> Iterator[tuple[TesterPort, TesterPort, str]]:
    """Two veth pairs and a namespace between that bridges (`bridge`) or routes (`route`): yielded third.

    With `cpu`, its receive queues have threads of their own there; without, xdp gives them queues only.
    Its interfaces are `d<n>q0` and `d<n>q1`.
    """
    tag = f"d{os.getpid() % 10000}{next(_serial) % 100}q"
    with ExitStack() as stack:
        left, dut, right = (stack.enter_context(namespace(role)) for role in "adb")
        veth((left, "p0"), (dut, f"{tag}0"), mtu=mtu)
        veth((right, "p1"), (dut, f"{tag}1"), mtu=mtu)
        if mode == "bridge":
            with IPRoute(netns=dut) as route:
                route.link("add", ifname="br", kind="bridge")
                bridge = route.link_lookup(ifname="br")[0]
                for side in (0, 1):
                    route.link("set", index=route.link_lookup(ifname=f"{tag}{side}")[0], master=bridge)
                route.link("set", index=bridge, state="up")
            gateways: list[dict[str, object]] = [{}, {}]
        else:
            inside(dut, "sysctl", "-qw", "net.ipv4.ip_forward=1", "net.ipv6.conf.all.disable_ipv6=0")
            inside(dut, "sysctl", "-qw", "net.ipv6.conf.all.forwarding=1", "net.ipv6.conf.all.accept_dad=0")
            with IPRoute(netns=dut) as route:
                for side in (0, 1):
                    inside(dut, "sysctl", "-qw", f"net.ipv6.conf.{tag}{side}.disable_ipv6=0")
                    index = route.link_lookup(ifname=f"{tag}{side}")[0]
                    route.addr("add", index=index, address=f"198.18.{side}.1", prefixlen=24)
                    route.addr("add", index=index, address=f"2001:2:0:{side}::1", prefixlen=64, flags=0x02)
            gateways = [
                {"gateway_ipv4": f"198.18.{side}.1", "gateway_ipv6": f"2001:2:0:{side}::1"} for side in (0, 1)
            ]
        if cpu is not None:
            for side in (0, 1):
                own_queue(dut, f"{tag}{side}", cpu)
        elif io == "xdp":  # frames of programs inside the kernel come to a veth end by its device queue only
            for side in (0, 1):
                inside(dut, "ethtool", "-K", f"{tag}{side}", "gro", "on")
        yield port(0, left, "p0", io, **gateways[0]), port(1, right, "p1", io, **gateways[1]), dut


@contextmanager
def switch(
    io: str, count: int, *, mtu: int = 1500, **options: int
) -> Iterator[tuple[tuple[TesterPort, ...], str]]:
    """So many tester ports around a learning bridge: the ports, and the bridge's namespace.

    Its ports are `s0`, `s1` and so on, the bridge is `br`; `options` are iproute2's for a bridge. All
    addresses are of one network: nothing routes. It joins no multicast group of its own.
    """
    with ExitStack() as stack:
        dut = stack.enter_context(namespace("s"))
        inside(
            dut, "ip", "link", "add", "name", "br", "type", "bridge", "mcast_snooping", "0", *_words(options)
        )
        ports = []
        for side in range(count):
            space = stack.enter_context(namespace(f"p{side}"))
            veth((space, "p0"), (dut, f"s{side}"), mtu=mtu)
            inside(dut, "ip", "link", "set", f"s{side}", "master", "br")
            ports.append(port(side, space, "p0", io))
        inside(dut, "ip", "link", "set", "dev", "br", "up")
        yield tuple(ports), dut


def _words(options: dict[str, int]) -> list[str]:
    return [word for name, value in options.items() for word in (name, str(value))]


def egress(dut: str) -> str:
    """Name of the forwarder's interface towards port 1."""
    with IPRoute(netns=dut) as route:
        return next(str(x.get("ifname")) for x in route.get_links() if str(x.get("ifname")).endswith("q1"))


def police(dut: str, device: str, *, rate_mbit: int, burst_octets: int, limit_octets: int) -> None:
    """A token bucket on the forwarder's egress: the known truth."""
    with IPRoute(netns=dut) as route:
        route.tc(
            "add",
            "tbf",
            index=route.link_lookup(ifname=device)[0],
            handle="1:",
            rate=f"{rate_mbit}mbit",
            burst=burst_octets,
            limit=limit_octets,
        )


def quiet_namespaces() -> set[str]:
    """Names of the namespaces that this process made and that still exist."""
    return {name for name in netns.listnetns() if name.startswith(f"bt{os.getpid()}x")}
