"""Reaching a TRex server through its client: versions, ports, next hops, each refused when it is wrong.

Ids: TREX-11 ports taken, TREX-12 server not reached, TREX-13 version, TREX-14 ports that the server has not,
TREX-15 next hop, TREX-18 a server in another mode.
"""

from __future__ import annotations

import ipaddress
import time
from collections.abc import Mapping
from typing import Any

from bmwg.drivers.api.protocols import JsonValue, TesterPort
from bmwg.drivers.traffic.trex.channel import Client, RefusedError
from bmwg.drivers.traffic.trex.config import TrexConfig
from bmwg.drivers.traffic.trex.frames import Way
from bmwg.drivers.traffic.trex.server import Server
from bmwg.methodology.errors import DriverError, TestbedError

_MAJOR = "3."  # of the release, whose stateless protocol the session speaks
_RETRY_S = 0.25
_MODES = {"STL": " (frames: t-rex-64 -i)", "ASTF": " (connections: t-rex-64 -i --astf)"}
_ASKED = 3  # times that a next hop is asked for: the first question may find it asleep


class Connection:
    """One client's standing with one server of a mode. `versions` is filled by `open`.

    `ways` fills `line_bps`: the slower port's line rate (bit/s) as TRex takes it, None where it names none.
    """

    mode = "STL"

    def __init__(self, config: TrexConfig, client: Client) -> None:
        self.config = config
        self.versions: dict[str, JsonValue] = {}
        self.line_bps: int | None = None
        self._client = client

    def open(self, server: Server | None) -> None:
        """Reach the server (`server`, when we started it) and check who it is: TREX-12, TREX-13, TREX-14."""
        options = self.config.options
        opened = self._call(
            "open",
            deadline_s=30.0,
            username=options.user,
            server=options.server,
            sync_port=options.sync_port,
            async_port=options.async_port,
            reply_s=options.reply_s,
        )
        self._connect(server)
        self.versions = self._described_server(opened)

    def _call(self, method: str, *, deadline_s: float | None = None, **arguments: Any) -> Any:
        if self._client is None:
            raise DriverError("TREX-05", f"TRex's client: {method}", found="it is not started")
        return self._client.call(
            method, deadline_s=deadline_s or 3 * self.config.options.reply_s, **arguments
        )

    def _connect(self, owned: Server | None) -> None:
        """Reach the server: at once, or, when we started it, within the start's deadline."""
        options = self.config.options
        end_s = time.monotonic() + options.start_deadline_s
        while True:
            try:
                self._call("connect", deadline_s=options.start_deadline_s)
                return
            except RefusedError as error:
                if "configuration mismatch" in error.text.lower():
                    raise other_mode(self.mode, error.text) from error
                if "version" in error.text.lower() or "api" in error.text.lower():
                    raise TestbedError(
                        "TREX-13",
                        f"TRex's server at {options.server}; no traffic was sent",
                        expected=f"the version of the client in {self.config.client}",
                        found=error.text,
                        hint="name the folder of the very release that the server runs",
                    ) from error
                if owned is None:
                    raise TestbedError(
                        "TREX-12",
                        f"TRex's server at {options.server}:{options.sync_port}; no traffic was sent",
                        expected="an answer",
                        found=error.text,
                        hint="start it (t-rex-64 -i), or let the run start one: tester.options.mode: start",
                    ) from error
                owned.require_running(end_s - time.monotonic())
                time.sleep(_RETRY_S)

    def _described_server(self, opened: Mapping[str, Any]) -> dict[str, JsonValue]:
        """Versions of server and client; TREX-13 for another major version, TREX-14 for ports."""
        version = self._call("get_server_version")
        system = self._call("get_server_system_info")
        text = str(version.get("version", "")).lstrip("v")
        if not text.startswith(_MAJOR):
            raise TestbedError(
                "TREX-13",
                "TRex's server; no traffic was sent",
                expected=f"version {_MAJOR}x",
                found=text or "none stated",
            )
        count = int(system.get("port_count", 0))
        wanted = self._wanted_ports()
        if count <= max(wanted):
            raise TestbedError(
                "TREX-14",
                "TRex's server; no traffic was sent",
                expected=f"ports {' and '.join(map(str, wanted))}",
                found=f"{count} ports",
                hint="interfaces of its trex_cfg.yaml, or tester.options.port_ids",
            )
        drivers = [str(port.get("driver")) for port in system.get("ports", [])]
        return {
            "server": text,
            "build": f"{version.get('build_date', '')} {version.get('build_time', '')}".strip(),
            "mode": str(version.get("mode", "")),
            "port_drivers": drivers,
            "cores_per_dual_port": int(system.get("dp_core_count_per_port", 0)),
            "client_python": str(opened["python"]),
        }

    def _wanted_ports(self) -> tuple[int, ...]:
        """The ports of the server that are used."""
        return self.config.options.ports

    def acquire(self) -> None:
        """Own the two ports; TREX-11 when somebody else does."""
        ports = list(self.config.options.ports)
        try:
            self._call("acquire", ports=ports, force=False)
        except RefusedError as error:
            raise TestbedError(
                "TREX-11",
                f"ports {ports} of TRex's server; no traffic was sent",
                expected="ports that nobody owns",
                found=error.text,
                hint="another run or a console holds them; they are never taken by force",
            ) from error
        self._call("remove_all_streams", ports=ports)

    def ways(self, ports: tuple[TesterPort, TesterPort]) -> tuple[Way, Way]:
        """Resolve the next hops and give both directions their addresses (of IPv4)."""
        numbers = self.config.options.ports
        attributes = [self._call("get_port_attr", port=number) for number in numbers]
        macs = [str(found["src_mac"]) for found in attributes]
        self.line_bps = round(min(float(found.get("speed") or 0) for found in attributes) * 1e9) or None
        hops = []
        for side, port in enumerate(ports):
            if port.peer_mac is not None:
                hops.append(port.peer_mac)
            elif port.gateway_ipv4 is None:
                hops.append(macs[1 - side])
            else:
                hops.append(self._resolved(numbers[side], port))
        addresses = [plain(port.ipv4) for port in ports]
        first, second = (
            Way(
                source_mac=macs[side],
                destination_mac=hops[side],
                source_ip=addresses[side],
                destination_ip=addresses[1 - side],
            )
            for side in (0, 1)
        )
        return first, second

    def _resolved(self, number: int, port: TesterPort) -> str:
        """MAC of the next hop, asked by TRex itself over ARP; TREX-15 without one."""
        vlan = {} if port.vlan_id is None else {"vlan": port.vlan_id}
        addresses = {"src_ipv4": plain(port.ipv4), "dst_ipv4": plain(port.gateway_ipv4)}
        found = "none"
        self._call("set_service_mode", ports=[number], enabled=True)
        for _ in range(_ASKED):
            try:
                self._call("set_l3_mode", deadline_s=15.0, port=number, **addresses, **vlan)
                found = str(self._call("get_port_attr", port=number).get("arp", ""))
                break
            except RefusedError as error:
                found = error.text
        self._call("set_service_mode", ports=[number], enabled=False)
        if len(found) == 17 and found.count(":") == 5:
            return found
        raise TestbedError(
            "TREX-15",
            f"tester port {port.name} ({port.device}): next hop {port.gateway_ipv4}; no traffic was sent",
            expected="an answer to ARP",
            found=found or "none",
            hint="is the device under test up, and is this address configured on its side?",
        )

    def leave(self) -> None:
        """Give the ports back; a server that is gone has nothing to give."""
        for method in ("release", "disconnect"):
            try:
                self._call(method)
            except (RefusedError, DriverError):
                return


def other_mode(expected: str, found: str) -> TestbedError:
    """Say that the running server is in another mode (TREX-18)."""
    return TestbedError(
        "TREX-18",
        "TRex's server; no traffic was sent",
        expected=f"mode {expected}{_MODES[expected]}",
        found=found,
        hint="end it and start it so, or let the run start one: tester.options.mode: start",
    )


def plain(text: str | None) -> str:
    """An address in prefix notation without its prefix; none is the unspecified address."""
    return str(ipaddress.ip_interface(text).ip) if text else "0.0.0.0"
