"""A TRex server for the run: its configuration, its process, and that nothing of it stays.

Ids: TREX-08 it does not come up, TREX-09 the number of interfaces, TREX-10 no root, TREX-17 two
namespaces.
"""

from __future__ import annotations

import contextlib
import ipaddress
import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import IO, Any

import yaml

from bmwg.drivers.api.protocols import TesterPort
from bmwg.drivers.nodes.netns import within
from bmwg.drivers.ports import device_queue
from bmwg.drivers.traffic.embedded.process import KILLED_DEADLINE_S
from bmwg.drivers.traffic.trex.config import SERVER, TrexConfig
from bmwg.methodology.errors import ConfigError, TestbedError, ToolkitError

STOP_DEADLINE_S = 5.0
POLL_S = 0.1
_DPDK_RUNTIME = Path("/var/run/dpdk")
_DUMMY = "dummy"  # TRex's word for the port of a pair that is not there
_NOBODY = "02:00:00:00:00:ff"


def precede(pid: int, nice: int) -> None:
    """Give a process's session the priority that the process has.

    Where the kernel shares CPU time by session first (autogroup), one of a process counts within its session
    alone, and a server has a session of its own.
    """
    with contextlib.suppress(OSError):
        Path(f"/proc/{pid}/autogroup").write_text(str(nice))


def server_configuration(
    config: TrexConfig, ports: Sequence[TesterPort], prefix: str, *, stateful: bool = False
) -> str:
    """The text of trex_cfg.yaml for two ports; TREX-09 when there are not two, or of two kinds.

    A stateful server does with one: TRex pairs it with a dummy, and only its clients are used.
    """
    kinds = {port.io for port in ports}
    if len(ports) not in ((1, 2) if stateful else (2,)) or len(kinds) != 1:
        raise ConfigError(
            "TREX-09",
            "driver trex: interfaces of its server; nothing was started",
            expected=f"{'one or ' if stateful else ''}two ports of one kind (af_packet or pci)",
            found=", ".join(f"{port.device} ({port.io})" for port in ports) or "none",
        )
    options = config.options
    entry: dict[str, Any] = {
        "version": 2,
        "prefix": prefix,
        "zmq_pub_port": options.async_port,
        "zmq_rpc_port": options.sync_port,
        "limit_memory": options.memory_mib,
    }
    if kinds == {"af_packet"}:
        block_octets = max(4096, options.slot_octets)
        entry["low_end"] = True
        entry["low_end_core"] = config.cpus[0]
        entry["interfaces"] = [
            f"--vdev=net_af_packet{number},iface={port.device},blocksz={block_octets},"
            f"framesz={options.slot_octets},framecnt={options.ring_frames},qdisc_bypass=1"
            for number, port in enumerate(ports)
        ]
    elif kinds == {"pci"}:
        if len(config.cpus) < 3:
            raise ConfigError(
                "TREX-09",
                "driver trex: tester.cpus; nothing was started",
                expected="at least three CPUs for PCI ports: control, latency, traffic",
                found=str(list(config.cpus)),
            )
        entry["interfaces"] = [port.device for port in ports]
        entry["platform"] = {
            "master_thread_id": config.cpus[0],
            "latency_thread_id": config.cpus[1],
            "dual_if": [{"socket": _numa_node(ports[0].device), "threads": list(config.cpus[2:])}],
        }
    else:
        raise ConfigError(
            "TREX-09",
            "driver trex: tester.io; nothing was started",
            expected="af_packet or pci",
            found=kinds.pop(),
            hint="AF_XDP ports are the embedded tester's",
        )
    if len(ports) == 1:
        entry["interfaces"].append(_DUMMY)
    macs = [port.mac or f"02:00:00:00:00:0{number + 1}" for number, port in enumerate(ports)]
    others = [*reversed(macs)] if len(macs) == 2 else [_NOBODY]
    peers = [port.peer_mac or other for port, other in zip(ports, others, strict=True)]
    entry["port_info"] = [{"dest_mac": peer, "src_mac": mac} for mac, peer in zip(macs, peers, strict=True)]
    if stateful:  # it resolves its next hops at its start, and answers for its own address
        for number, port in enumerate(ports):
            if port.gateway_ipv4 is not None and port.peer_mac is None and port.ipv4 is not None:
                own = str(ipaddress.ip_interface(port.ipv4).ip)
                gateway = str(ipaddress.ip_interface(port.gateway_ipv4).ip)
                entry["port_info"][number] = {"ip": own, "default_gw": gateway}
    if len(ports) == 1:
        entry["port_info"].append({"dest_mac": _NOBODY, "src_mac": _NOBODY})
    return yaml.safe_dump([entry], sort_keys=False, default_flow_style=None, width=200)


def _numa_node(address: str) -> int:
    try:
        return max(0, int(Path(f"/sys/bus/pci/devices/{address}/numa_node").read_text(encoding="ascii")))
    except (OSError, ValueError):
        return 0


def require_one_place(ports: Sequence[TesterPort]) -> None:
    """Refuse ports in two network namespaces (TREX-17)."""
    if len({port.netns for port in ports}) > 1:
        raise TestbedError(
            "TREX-17",
            f"tester ports {ports[0].name} and {ports[1].name}; no traffic was sent",
            expected="both in one network namespace: TRex opens all its interfaces in its own",
            found=", ".join(str(port.netns) for port in ports),
            hint="paths whose ports are pods' own interfaces need the embedded tester",
        )


def _prepared(ports: Sequence[TesterPort]) -> list[tuple[str | None, str, list[str]]]:
    """Have what Linux interfaces send go through the device queues at their far ends; what to undo."""
    return [
        (
            port.netns,
            port.device,
            within(port.netns, partial(device_queue.prepare_sender, interface=port.device)),
        )
        for port in ports
        if port.io == "af_packet"
    ]


class Server:
    """One server process, in the network namespace of its ports; the kernel ends it with its parent."""

    def __init__(self, config: TrexConfig, ports: Sequence[TesterPort], *, stateful: bool = False) -> None:
        """Write its configuration and start it; TREX-09, TREX-10 without root.

        `stateful` is TRex's ASTF mode (connections), without it streams of frames.
        """
        if os.geteuid() != 0:
            raise TestbedError(
                "TREX-10", "TRex was not started", expected="root", found=f"user {os.geteuid()}"
            )
        self._config = config
        self._prefix = f"bmwg{os.getpid()}n{time.monotonic_ns() % 10_000_000}"
        text = server_configuration(config, ports, self._prefix, stateful=stateful)
        config.run_dir.mkdir(parents=True, exist_ok=True)
        self.configuration = config.run_dir / "trex_cfg.yaml"
        self.configuration.write_text(text, encoding="utf-8")
        self.log_path = config.run_dir / "trex-server.log"
        self._log: IO[bytes] = self.log_path.open("ab")
        argv = [str(config.folder / SERVER), "-i", "-c", "1", "--cfg", str(self.configuration.resolve())]
        argv += ["--no-scapy-server", "--iom", "0", "--astf" if stateful else "--hdrh"]
        if ports[0].io == "af_packet":
            argv.append("--software")
        more_nice = config.options.nice - os.getpriority(os.PRIO_PROCESS, 0)
        argv = ["setpriv", "--pdeathsig", "KILL", "--", "nice", "-n", str(more_nice), *argv]
        if ports[0].netns is not None:
            argv = ["nsenter", f"--net={ports[0].netns}", "--", *argv]
        libraries = f"{config.folder}:{config.folder / 'so' / os.uname().machine}"
        self._switched_off = _prepared(ports)
        self._process = subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=self._log,
            cwd=config.folder,
            start_new_session=True,
            env={**os.environ, "LD_LIBRARY_PATH": libraries},
        )
        precede(self._process.pid, config.options.nice)

    @property
    def pid(self) -> int:
        """Process id."""
        return self._process.pid

    @property
    def ended(self) -> str | None:
        """How the server ended, or None while it runs."""
        code = self._process.poll()
        if code is None:
            return None
        return f"signal {signal.Signals(-code).name}" if code < 0 else f"exit status {code}"

    def require_running(self, deadline_s: float) -> None:
        """TestbedError TREX-08, with the last lines of its log, when it ended or `deadline_s` is used up."""
        if self.ended is None and deadline_s > 0:
            return
        found = self.ended or f"no answer within {self._config.options.start_deadline_s:.0f} s"
        raise TestbedError(
            "TREX-08",
            "TRex's server did not come up; no traffic was sent",
            expected="an answer to its remote calls",
            found=f"{found}; its last lines: {json.dumps(self.last_lines())}",
            hint=f"its log: {self.log_path}",
        )

    def last_lines(self) -> list[str]:
        """The end of its log."""
        text = self.log_path.read_bytes()[-8192:].decode("utf-8", "replace")
        return [line.strip() for line in text.splitlines() if line.strip()][-8:]

    def stop(self) -> None:
        """End it in order (SIGINT), then at once; remove what DPDK leaves of it."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)
            try:
                self._process.wait(STOP_DEADLINE_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
                with contextlib.suppress(subprocess.TimeoutExpired):  # it may be in a driver's hands
                    self._process.wait(KILLED_DEADLINE_S)
        self._log.close()
        for netns, interface, offloads in self._switched_off:
            with contextlib.suppress(ToolkitError):  # it may have gone with its namespace
                undo = partial(device_queue.let_sender, interface=interface, offloads=offloads)
                within(netns, undo)
        shutil.rmtree(_DPDK_RUNTIME / self._prefix, ignore_errors=True)
