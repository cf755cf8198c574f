"""A unikernel as the server of a path: it has no agent, and is spoken to over the network alone.

The testbed file says what it boots and which workloads it answers from then on. Ids: UNIK-01 no
answer, UNIK-02 nothing of ours runs in it.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any

from bmwg.drivers.api.calls import WITHIN_S, CallsInside
from bmwg.drivers.api.machines import Redirected
from bmwg.drivers.api.protocols import JsonValue, Missing, PlacedNode
from bmwg.drivers.machines import hosted, unikernel
from bmwg.drivers.nodes.hosts import BedNode
from bmwg.drivers.nodes.links import mac_of
from bmwg.drivers.paths import uplinks
from bmwg.drivers.paths.addresses import ENDPOINTS
from bmwg.drivers.places import guest_hosts
from bmwg.drivers.testbed.file import UNITS
from bmwg.methodology.errors import DriverError, TestbedError

if TYPE_CHECKING:
    from bmwg.drivers.paths.bed import Bed

KEY = "unikernel"  # of the testbed file
TAP, BRIDGE = "bmwg-uk0", "bmwg-ukbr"
USER_ADDRESS, USER_GATEWAY = "10.0.2.15", "10.0.2.2"  # what QEMU's user-mode network gives, and QEMU's own
PORTS = {"netperf": 12865, "iperf3": 5201, "sockperf": 11111}  # what takes a connection once it has booted
ADDRESS, NETMASK, GATEWAY = "198.18.0.3", "255.255.255.0", "198.18.0.2"
_STEP_S = 2.0
_ENDS = "the asking node sees its first server listen"
# what QEMU asks for before the machine has booted comes to nothing (`unikernel.await_redirected`)
_REDIRECTED_ENDS = (
    f"QEMU has a connection with its first server, tried each {unikernel.KNOCK_S:g} s: so much later at most"
)
_CALL_S = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What the testbed file says of it. `serves` are workloads whose servers its image starts at boot.

    `redirected`: it is behind QEMU's user-mode network, and reached by ports of its host.
    """

    boot: dict[str, str]
    serves: tuple[str, ...]
    memory_octets: int
    cpus: int
    boot_within_s: float
    redirected: bool

    @property
    def address(self) -> str:
        """The address that the machine has itself; clients ask for `ADDRESS` either way."""
        return USER_ADDRESS if self.redirected else ADDRESS


def settings_of(bed: Bed) -> Settings | None:
    """Return what the testbed file says of a unikernel; None where it says nothing."""
    told: Mapping[str, Any] = bed.testbed.data.get(KEY, {})
    if not told:
        return None
    folder = Path(bed.testbed.file).resolve().parent
    redirected = bool(told.get("redirected", False))
    address, gateway = (USER_ADDRESS, USER_GATEWAY) if redirected else (ADDRESS, GATEWAY)
    words = {"address": address, "netmask": NETMASK, "prefix": "24", "gateway": gateway}
    boot = {name: str(folder / told[name]) for name in ("image", "kernel", "initrd") if name in told}
    if "command_line" in told:
        boot["command_line"] = Template(told["command_line"]).safe_substitute(words)
    return Settings(
        boot=boot,
        serves=tuple(told["serves"]),
        memory_octets=int(told["memory"][:-3]) * UNITS[told["memory"][-3:]],
        cpus=int(told.get("cpus", 1)),
        boot_within_s=float(told.get("boot_within_s", 60)),
        redirected=redirected,
    )


def missing(bed: Bed, node: BedNode) -> Missing | None:
    """Return what there is not for a unikernel on this node, QEMU's user-mode network among it."""
    told = settings_of(bed)
    if told is None:
        return Missing(
            what="hosting form unikernel",
            reason="the testbed file names no image or kernel of one",
            mend="`unikernel:` in the testbed file (docs/sockets.md)",
        )
    lack = Missing.told(node.call(unikernel.probe, boot=told.boot))
    return lack or (guest_hosts.no_redirection(node) if told.redirected else None)


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentlessPlace(CallsInside):
    """Where a server runs that nobody can enter. `serves` names the workloads that it answers."""

    pod_id: str
    node: PlacedNode
    pid: int
    start_ticks: int
    serves: tuple[str, ...]

    @property
    def entry(self) -> dict[str, JsonValue]:
        """By its machine's process, in which no program is started."""
        return {"pid": self.pid, "start_ticks": self.start_ticks}

    def inside_named(
        self, function: str, arguments: Mapping[str, JsonValue], *, within_s: float = WITHIN_S
    ) -> JsonValue:
        """Refuse: there is no agent in it. Raises DriverError UNIK-02."""
        raise DriverError(
            "UNIK-02", f"{function} in a unikernel", expected="a place with an agent", found="none"
        )


@contextmanager
def standing(
    bed: Bed, node: BedNode, *, nic: str, asking: BedNode, ports: tuple[int, ...]
) -> Iterator[tuple[AgentlessPlace, dict[str, JsonValue]]]:
    """Boot the machine behind a bridge with the node's NIC, until the asking node reaches it; end it later.

    One that is redirected has no bridge: these `ports` of the node's address, which the node has already,
    lead to it. Raises TestbedError UNIK-01, VM-04, and what examining an image raises.
    """
    told = settings_of(bed)
    assert told is not None  # `missing` was asked
    name = f"unikernel-{bed.next_id()}"
    with ExitStack() as stack:
        way: dict[str, JsonValue] = {"tap": TAP, "bridge": BRIDGE}
        if told.redirected:
            way = {"redirected": asdict(Redirected(address=ADDRESS, ports=ports, inside=USER_ADDRESS))}
        else:
            stack.enter_context(uplinks.own_bridge(node, bed.undo, bridge=BRIDGE, nic=nic))
        stack.callback(node.call, hosted.stop, name=name)
        made = node.call_within(
            _CALL_S,
            unikernel.start,
            name=name,
            mac=mac_of("unikernel", TAP),
            cpus=told.cpus,
            memory_octets=told.memory_octets,
            boot={**told.boot, "cpus": bed.testbed.pods.cpuset},
            **way,
        )
        began_s = time.monotonic() - made["ran_s"]
        if told.redirected:  # no tap goes with it, by which its end would be seen
            bed.programs[name] = (node.name, made["pid"], made["start_ticks"])
            stack.callback(bed.programs.pop, name)
        _await_answer(asking, node, name, told, began_s)
        boot_s = time.monotonic() - began_s
        used = node.call(hosted.sample, name=name)
        place = AgentlessPlace(
            pod_id="unikernel",
            node=node,
            pid=made["pid"],
            start_ticks=made["start_ticks"],
            serves=told.serves,
        )
        yield (
            place,
            {
                **made["told"],
                "serves": list(told.serves),
                "boot_s": round(boot_s, 3),
                "boot_ends": _REDIRECTED_ENDS if told.redirected else _ENDS,
                "resident_octets_after_boot": used["memory_octets"],
            },
        )


def _await_answer(asking: BedNode, node: BedNode, name: str, told: Settings, began_s: float) -> None:
    """Wait until its first server listens, or it ends, or its time is over."""
    port = PORTS[told.serves[0]]
    while (left_s := told.boot_within_s - (time.monotonic() - began_s)) > 0:
        asked: dict[str, JsonValue] = {"address": ADDRESS, "port": port, "within_s": min(_STEP_S, left_s)}
        if told.redirected:
            answers = node.call(unikernel.await_redirected, name=name, **asked)
        else:
            answers = asking.call(unikernel.await_answer, **asked)
        if answers:
            return
        if ended := node.call(hosted.fault, name=name):
            raise _silent(port, told, ended)
    said = " | ".join(node.call(hosted.console, name=name)[-5:])
    raise _silent(port, told, f"none; its console's last words: {said or 'none'}")


def _silent(port: int, told: Settings, found: str) -> TestbedError:
    return TestbedError(
        "UNIK-01",
        "the unikernel does not answer",
        expected=f"{told.serves[0]} at {told.address} port {port} within {told.boot_within_s:g} s",
        found=found,
        hint=f"it must have {told.address}/24 on a virtio NIC and start its server (docs/sockets.md)",
    )


assert ENDPOINTS[0][0].partition("/")[0] == GATEWAY
assert ENDPOINTS[1][0].partition("/")[0] == ADDRESS
