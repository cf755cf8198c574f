"""An Open vSwitch of the run's own on a node: node functions that start it, give it ports and end it.

Database, sockets, logs and run folder lie in the node's own /run, the switch lives in the node's network
namespace: a switch of the host is never spoken to. It starts with its first port and ends with its last, so
no thread polls while something else is measured. Bridges are of datapath type `netdev`; on a bridge with two
ports all that enters by one leaves by the other, and nothing else is forwarded.

Ids: VSW-02 it did not start, VSW-03 it refused a command or a port, VSW-04 too few hugepages, or another
switch polls the CPUs, VSW-05 a port's peer did not come.
"""

from __future__ import annotations

import contextlib
import json
import re
import shutil
import time
from typing import Any

from bmwg.drivers.api.protocols import JsonValue
from bmwg.drivers.network import ovs_flows, ovs_obstacle, ovs_parts, ovs_tools, ovs_words
from bmwg.drivers.network.ovs_tools import COMMAND_DEADLINE_S, FOLDER, PLACES
from bmwg.drivers.nodes import pages, process, programs
from bmwg.drivers.ports import af_packet, interfaces
from bmwg.methodology.answers.data_plane import FAILED_UPCALLS, FRAMES, UPCALLS
from bmwg.methodology.errors import DriverError, TestbedError, ToolkitError

SOCKETS = "sockets"  # below FOLDER; its last part is what the switch calls vhost-sock-dir
HUGEPAGE_MIB, LARGE_PAGE_MIB = 2, 1024
MEMORY_MIB = 512  # choice: the least for one pod; about 60 MiB of buffers a port with its queues
ORDINARY_MIB = 1536  # choice: without hugepages, for a chain of eight; a page is taken when it is first used
SETUP_SLEEP_US = 1000  # choice: until all peers came, idle pollers leave the CPU to what is set up
_STATE = "state.json"
_START_DEADLINE_S = 60.0  # choice: about 1 s, but a translated guest loads 150 drivers of DPDK over 9p
_COMPLAINT = re.compile(r"\|(WARN|ERR|EMER)\|")


# ---------------------------------------------------------------- the switch


def ensure(config: dict[str, Any], owner: str) -> dict[str, Any]:
    """Return the state of the switch, started now if none stands."""
    state = recorded()
    if state:
        return state
    if lack := ovs_obstacle.obstacle(
        cpus=config["pmd_cpus"],
        hugepages_2mi=config["hugepages_2mi"],
        hugepages_1gi=config.get("hugepages_1gi", 0),
        owner=owner,
    ):
        raise TestbedError(
            "VSW-04",
            f"no {lack['what']}; no vSwitch was started",
            found=lack["reason"],
            hint=lack["mend"],
        )
    parts = ovs_parts.require()
    began_s = time.monotonic()
    for name in ("database", "switch", SOCKETS):
        (FOLDER / name).mkdir(parents=True, exist_ok=True)  # pods that wait see the sockets' folder already
    ovs_tools.run([parts.database_tool, "create", str(FOLDER / "conf.db"), parts.schema])
    cpus = ",".join(map(str, config["cpus"]))
    found: dict[str, Any] = {"ports": {}, "owner": owner, "cpus": cpus}
    with process.owned(owner):
        found["database"] = _program(
            "database",
            [parts.database, str(FOLDER / "conf.db"), f"--remote=punix:{FOLDER}/db.sock"],
            cpus,
        )
        _await((FOLDER / "db.sock").exists, "database", found["database"])
        ovs_tools.configure("--no-wait", "init", "--", "set", "Open_vSwitch", ".", *_settings(config))
    start(found)
    if "pmd_max_sleep_us" in config:  # none without DPDK, where nothing polls
        found["pmd_max_sleep_us"] = config["pmd_max_sleep_us"]
    found["start_s"] = round(time.monotonic() - began_s, 3)
    record(found)
    return found


def start(found: dict[str, Any]) -> None:
    """Start the switch on its database, write that down, and wait until it has taken what stands there."""
    with process.owned(found["owner"]):
        found["switch"] = _program(
            "switch", [ovs_parts.require().switch, f"unix:{FOLDER}/db.sock"], found["cpus"]
        )
    record(found)
    _await((FOLDER / "switch.ctl").exists, "switch", found["switch"])
    marks = {"bmwg": found["owner"], "started": found["switch"]["start_ticks"]}
    words = [f"external_ids:{key}={value}" for key, value in marks.items()]
    ovs_tools.configure("set", "Open_vSwitch", ".", *words)  # answered when it has taken this change, and all


def _settings(config: dict[str, Any]) -> list[str]:
    if not config.get("dpdk", True):
        return ["other_config:dpdk-init=false"]
    wanted_mib = config["hugepages_2mi"] * HUGEPAGE_MIB or config["hugepages_1gi"] * LARGE_PAGE_MIB
    memory = f"-m {wanted_mib}" if wanted_mib else f"--no-huge --legacy-mem -m {ORDINARY_MIB}"
    mask = sum(1 << cpu for cpu in config["pmd_cpus"])
    control = sum(1 << cpu for cpu in config["cpus"])
    settings = {
        "dpdk-init": "true",
        "dpdk-extra": f'"{memory} --no-pci --no-telemetry --no-shconf"',
        "dpdk-lcore-mask": f"{control:#x}",
        "pmd-cpu-mask": f"{mask:#x}",
        "vhost-sock-dir": SOCKETS,
        "per-port-memory": "true",  # as many buffers as its queues need, not 262,144 for all
        "emc-insert-inv-prob": str(config["emc_insert_inverse_probability"]),
        "smc-enable": str(config["smc"]).lower(),
        "pmd-maxsleep": str(max(SETUP_SLEEP_US, config["pmd_max_sleep_us"])),
    }
    return [f"other_config:{key}={value}" for key, value in settings.items()]


def _program(name: str, command: list[str], cpus: str) -> dict[str, int]:
    files = [f"--unixctl={FOLDER}/{name}.ctl", f"--log-file={FOLDER}/{name}.log", "--no-chdir"]
    places = [f"{key}={value}" for key, value in PLACES.items()]
    return programs.start(
        command=["env", *places, "taskset", "--cpu-list", cpus, *command, *files],
        folder=str(FOLDER / name),
        packages=["util-linux"],
    )


def _await(ready: Any, name: str, started: dict[str, int]) -> None:
    end_s = time.monotonic() + _START_DEADLINE_S
    while not ready():
        ended = programs.fault(folder=str(FOLDER / name), **started)
        if ended or time.monotonic() > end_s:
            raise DriverError(
                "VSW-02",
                f"the vSwitch's {name}",
                expected=f"a control socket within {_START_DEADLINE_S:g} s",
                found=_complaints(name) or ended or "none",
            )
        time.sleep(0.01)


def _complaints(name: str) -> str:
    """Return the last lines of a log that say what went wrong."""
    with contextlib.suppress(OSError):
        lines = (FOLDER / f"{name}.log").read_text(errors="replace").splitlines()
        said = [line.partition("|")[2] for line in lines if _COMPLAINT.search(line)]
        return " | ".join(said[-6:])
    return ""


def stop(*, owner: str) -> None:
    """Node function: end the switch, whatever it still has, and remove its folder. Idempotent."""
    state = recorded()
    mine = state if state and state["owner"] == owner else {}
    taps = ovs_tools.taps() if "switch" in mine and not _runs(mine) else []
    with contextlib.ExitStack() as rest:  # the last first, and each of them although another one fails
        rest.callback(lambda: shutil.rmtree(FOLDER, ignore_errors=True))
        for name in taps:
            rest.callback(interfaces.delete, interface=name)
        for nic, mtu_octets in mine.get("mtu_octets", {}).items():  # DPDK leaves it promiscuous
            rest.callback(interfaces.release, interface=nic, mtu_octets=mtu_octets)
        rest.callback(process.terminate_owned, owner=owner)
        for name in (name for name in ("database", "switch") if name in mine):
            rest.callback(_end, name, **mine[name])


def _end(name: str, *, pid: int, start_ticks: int) -> None:
    if name == "switch":
        with contextlib.suppress(ToolkitError):  # else its bridges' taps outlive it
            ovs_tools.ask("exit", "--cleanup")
        ended(pid=pid, start_ticks=start_ticks)
    programs.stop(folder=str(FOLDER / name), pid=pid, start_ticks=start_ticks)
    # its first thread may have ended while others still free the switch's memory
    process.reap(pid, deadline_s=COMMAND_DEADLINE_S)


def _runs(state: dict[str, Any]) -> bool:
    return process.same(state["switch"]["pid"], state["switch"]["start_ticks"])


def ended(*, pid: int, start_ticks: int) -> None:
    """Wait until the switch has ended, within the deadline."""
    end_s = time.monotonic() + COMMAND_DEADLINE_S
    while process.same(pid, start_ticks) and time.monotonic() < end_s:
        time.sleep(0.01)


# ---------------------------------------------------------------- ports


def add(*, config: dict[str, Any], owner: str, bridge: str, nic: str, port: str) -> dict[str, JsonValue]:
    """Node function: give a bridge a vhost-user port and, where `nic` is named, that NIC too.

    The switch is started if none stands. Returns the socket's path, the mapping from NIC over the switch's
    ports to the socket, and what start and port took (seconds). Raises TestbedError VSW-03, VSW-04,
    DriverError VSW-02.
    """
    stood = bool(recorded())
    state = ensure(config, owner)
    began_s = time.monotonic()
    commands = [["--may-exist", "add-br", bridge]]
    commands.append(["set", "bridge", bridge, "datapath_type=netdev", "fail-mode=secure"])
    if nic:
        commands.append(["--may-exist", "add-port", bridge, nic])
        number = sum(1 for one in state["ports"].values() if one["nic"])
        commands.append(["set", "interface", nic, *nic_settings(config, nic, number)])
        kept(state, nic)
    commands.append(["add-port", bridge, port])
    commands.append(["set", "interface", port, "type=dpdkvhostuser"])
    state["ports"][port] = {"bridge": bridge, "nic": nic}
    record(state)
    ovs_tools.configure(*(word for command in commands for word in ("--", *command)))
    for name in filter(None, (nic, port)):
        if said := ovs_tools.read("interface", name, "error"):
            raise TestbedError(
                "VSW-03", f"the vSwitch refused port {name}", found=f"{said} | {_complaints('switch')}"
            )
    if nic:
        _require_queues(nic, config["rx_queues"])
    ovs_flows.join(bridge)
    return {
        "socket": str(FOLDER / SOCKETS / port),
        "vswitch_start_s": 0.0 if stood else state["start_s"],
        "add_s": round(time.monotonic() - began_s, 3),
        "mapping": {"nic": nic or None, "bridge": bridge, "vswitch_port": port},
    }


def settled(*, port: str) -> dict[str, JsonValue]:
    """Node function: return how the switch serves a port whose peer is the tester, which comes last."""
    sleep_as_wanted()
    record({**recorded(), "counted": True})
    return {**_nic_status(recorded()["ports"][port]["nic"]), **standing(port=port)}


def nic_settings(config: dict[str, Any], nic: str, number: int) -> list[str]:
    """Return the columns of a NIC that is a port by DPDK."""
    device = _device(config, nic, number)
    return ["type=dpdk", f"options:dpdk-devargs={device}", f"options:n_rxq={config['rx_queues']}"]


def kept(state: dict[str, Any], nic: str) -> None:
    """Keep the MTU of a NIC for whoever takes it back from the switch, which sets it to 1500."""
    state.setdefault("mtu_octets", {}).setdefault(nic, interfaces.mtu_octets(interface=nic))


def _device(config: dict[str, Any], nic: str, number: int) -> str:
    """Return DPDK's device for a NIC; `number` makes its name unique in the switch."""
    queues = config["rx_queues"]
    if config["nic_port"] == "af_xdp":
        return f"net_af_xdp{number},iface={nic},start_queue=0,queue_count={queues},busy_budget=0"
    return af_packet.device(number, nic, queues=queues)


def _require_queues(nic: str, wanted: int) -> None:
    """Raise TestbedError VSW-03 where the switch polls fewer receive queues of a NIC than were asked for."""
    polled = [
        queue
        for poller in ovs_words.pollers(ovs_tools.ask("dpif-netdev/pmd-rxq-show"))
        for queue in poller["queues"]
        if queue["port"] == nic
    ]
    if len(polled) != wanted:
        raise TestbedError(
            "VSW-03",
            f"receive queues of {nic} at the vSwitch",
            expected=f"{wanted}, as rx_queues says",
            found=str(len(polled)),
            hint="as many as the NIC has, or nic_port: af_packet, which spreads frames over several itself",
        )


def remove(*, owner: str, bridge: str, nic: str, port: str) -> None:
    """Node function: take ports and, when they were its last, the bridge away; end the switch with its last
    port. Idempotent.
    """
    state = recorded()
    if not state or state["owner"] != owner:
        stop(owner=owner)
        return
    state["ports"].pop(port, None)
    if not state["ports"]:
        stop(owner=owner)
        return
    record(state)
    if not _runs(state):
        return  # it was killed, and would never take a change: all of it goes with the last port
    words = ["--", "--if-exists", "del-port", bridge, port]
    if not any(one["bridge"] == bridge for one in state["ports"].values()):
        words += ["--", "--if-exists", "del-br", bridge]
    with contextlib.suppress(ToolkitError):  # one that does not take it in time: the same
        ovs_tools.configure(*words)


# ---------------------------------------------------------------- evidence


def connected(*, port: str, within_s: float = 10.0) -> dict[str, JsonValue]:
    """Node function: wait until the peer of a vhost-user port has come; return the port's status.

    The polling threads then sleep as the option says. Raises DriverError VSW-05.
    """
    sleep_as_wanted()
    end_s = time.monotonic() + within_s
    while str(ovs_tools.read("interface", port, "link_state")) != "up":
        if time.monotonic() > end_s:
            raise DriverError(
                "VSW-05",
                f"vhost-user port {port}",
                expected=f"a peer at its socket within {within_s:g} s",
                found=_complaints("switch") or "link state down",
            )
        time.sleep(0.02)
    status = ovs_tools.read("interface", port, "status")
    return {"vhost_user": status, **_nic_status(recorded()["ports"][port]["nic"]), **standing(port=port)}


def sleep_as_wanted() -> None:
    """Have the polling threads sleep as the option says from now on; before, they give way to the set-up."""
    state = recorded()
    if "pmd_max_sleep_us" in state:
        wanted = state.pop("pmd_max_sleep_us")
        ovs_tools.configure("set", "Open_vSwitch", ".", f"other_config:pmd-maxsleep={wanted}")
        record(state)


def _nic_status(nic: str) -> dict[str, JsonValue]:
    """Return by which DPDK driver the switch drives the NIC on a port's bridge; nothing where it has none."""
    if not nic:
        return {}
    return {"nic_driver": (ovs_tools.read("interface", nic, "status") or {}).get("driver_name")}


def standing(*, port: str) -> dict[str, JsonValue]:
    """Node function: return how the switch serves a port: flows of its bridge, polling threads, settings.

    Raises TestbedError VSW-03 when the switch has no such port.
    """
    if port not in (names := recorded().get("ports", {})):
        raise TestbedError(
            "VSW-03", f"port {port} of the vSwitch", expected="a port that was added", found=", ".join(names)
        )
    return {
        "flows": ovs_flows.standing(names[port]["bridge"]),
        "pollers": ovs_words.pollers(ovs_tools.ask("dpif-netdev/pmd-rxq-show")),
        "memory": pages.of_process(pid=recorded()["switch"]["pid"]),
        **_settings_now(),
    }


def _settings_now() -> dict[str, JsonValue]:
    """Return the settings of the switch; none while its polling threads still sleep for the set-up."""
    if "pmd_max_sleep_us" in recorded():
        return {}
    return {"settings": ovs_tools.read("Open_vSwitch", ".", "other_config")}


def uses() -> dict[str, JsonValue]:
    """Node function: what the switch has used since it began, as `NetworkDriver.uses` tells it."""
    state = recorded()
    if not state:
        return {}
    pid = state["switch"]["pid"]
    counted = _counted(frames="counted" in state)
    polling = programs.polling_of(pid, ovs_obstacle.POLLER)
    return {"vswitch": {"pid": pid, **polling, **programs.use_of([pid]), **counted}}


def _counted(*, frames: bool) -> dict[str, JsonValue]:
    """Return how many frames each cache knew or none did, and how many came in; none of a silent switch."""
    found: dict[str, JsonValue] = {}
    with contextlib.suppress(ToolkitError):
        said = ovs_tools.ask("dpif-netdev/pmd-stats-show")
        if counted := ovs_words.upcalls(said):
            found |= dict(zip((UPCALLS, FAILED_UPCALLS), counted, strict=True))
        found |= ovs_words.hits(said)
        if frames and (taken := ovs_words.received(said)) is not None:
            found[FRAMES] = taken
    return found


def configure(*, words: list[str]) -> str:
    """Node function: change the configuration of the run's own switch; return what the tool said."""
    return ovs_tools.configure(*words)


# ---------------------------------------------------------------- state


def recorded() -> dict[str, Any]:
    """Return what stands of the switch in its folder; empty where none stands."""
    try:
        found: dict[str, Any] = json.loads((FOLDER / _STATE).read_text())
    except FileNotFoundError:
        return {}
    return found


def record(state: dict[str, Any]) -> None:
    """Write it there."""
    (FOLDER / _STATE).write_text(json.dumps(state))
