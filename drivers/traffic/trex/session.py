"""Runs in a process of its own, in TRex's Python environment: calls methods of TRex's client, one a line.

`astf_session.py` is the same for connections instead of frames, and takes what is below from this file.

The client's packages (scapy among them, which is GPL) are loaded here and nowhere else; what passes the pipe
is data. Started as a script, never imported by the toolkit: `session.py CLIENT_FOLDER PARENT_PID`.
"""

from __future__ import annotations

import base64
import ctypes
import importlib
import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any

_PR_SET_PDEATHSIG = 1
PING_EVERY_S = 0.5
POLL_S = 0.005
CALLS = frozenset(
    {
        "acquire",
        "clear_stats",
        "clear_vlan",
        "connect",
        "disconnect",
        "get_active_pgids",
        "get_pgid_stats",
        "get_port_attr",
        "get_server_system_info",
        "get_server_version",
        "get_stats",
        "get_util_stats",
        "ping",
        "release",
        "remove_all_streams",
        "reset",
        "set_l2_mode",
        "set_l3_mode",
        "set_port_attr",
        "set_service_mode",
        "set_vlan",
        "start",
        "stop",
        "wait_on_traffic",
    }
)


class Session:
    """One client object and what is called on it."""

    client_class = "STLClient"

    def __init__(self, api: Any) -> None:
        self._api = api
        self._client: Any = None

    def perform(self, method: str, arguments: dict[str, Any]) -> Any:
        """Do one call; raises what the client raises."""
        if method == "open":
            return self._open(arguments)
        if method == "connect":
            return self._connect()
        if method == "watch":
            return self._watch(arguments["ports"], arguments["longest_s"], arguments["server_pid"])
        return self._perform(method, arguments)

    def _perform(self, method: str, arguments: dict[str, Any]) -> Any:
        if method == "add_streams":
            streams = [self._stream(entry) for entry in arguments["streams"]]
            return self._client.add_streams(streams, ports=arguments["ports"])
        if method not in CALLS:
            raise ValueError(f"no call {method}")
        return getattr(self._client, method)(**arguments)

    def _open(self, arguments: dict[str, Any]) -> dict[str, str]:
        reply_s = arguments.pop("reply_s")
        self._client = getattr(self._api, self.client_class)(
            verbose_level="none", sync_timeout=reply_s, async_timeout=reply_s, **arguments
        )
        return {"python": sys.version.split()[0]}

    def _connect(self) -> Any:
        """Connect, and from then on wait for an answer once: the client would wait four times as long."""
        done = self._client.connect()
        requests: Any = getattr(getattr(self._client, "conn", None), "rpc", None)
        if requests is not None and hasattr(requests, "set_retry_base"):
            requests.set_retry_base(False)
        return done

    def _stream(self, entry: dict[str, Any]) -> Any:
        api = self._api
        program = []
        for variable in entry["variables"]:
            name = variable["name"]
            program.append(
                api.STLVmFlowVar(
                    name=name,
                    min_value=variable["first"],
                    max_value=variable["last"],
                    size=variable["octets"],
                    op="inc",
                    step=1,
                )
            )
            program.append(api.STLVmWrFlowVar(fv_name=name, pkt_offset=variable["offset"]))
        builder = api.STLPktBuilder(
            pkt_buffer=base64.b64decode(entry["frame"]), vm=program or None, remove_fcs=False
        )
        kind = api.STLFlowLatencyStats if entry["latency"] else api.STLFlowStats
        return api.STLStream(
            name=entry["name"],
            packet=builder,
            mode=api.STLTXSingleBurst(pps=entry["load_fps"], total_pkts=entry["frames"]),
            isg=entry["first_us"],
            flow_stats=kind(pg_id=entry["group"]),
            mac_src_override_by_pkt=True,
            mac_dst_override_mode=api.STLStreamDstMAC_PKT,
        )

    def _watch(self, ports: list[int], longest_s: float, server_pid: int | None) -> dict[str, Any]:
        """Wait until no port sends any more, asking the server for a sign of life; say how long it took.

        `server_pid` is that of a server on this machine, whose end is then seen at once.
        """
        began_s = time.monotonic()
        asked_s = began_s
        while True:
            now_s = time.monotonic()
            active = [port for port in ports if port in self._client.get_active_ports()]
            if not active or now_s - began_s > longest_s:
                return {"sending": active, "waited_ns": int((now_s - began_s) * 1e9)}
            if not self._client.is_connected() or (server_pid and ended(server_pid)):
                raise ConnectionError("the client lost its server")
            if now_s - asked_s > PING_EVERY_S:
                self._client.ping_rpc_server()
                asked_s = now_s
            time.sleep(POLL_S)


def ended(pid: int) -> bool:
    """Whether a process is gone, or only waits for its parent to ask how it ended."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as status:
            return status.read().rpartition(")")[2].split()[:1] in (["Z"], ["X"])
    except OSError:
        return True


def plain(value: Any) -> Any:
    """Make a returned structure of TRex's client JSON: keys become text, what is not available null."""
    if isinstance(value, bool | int | float | str) or value is None:
        return value
    if isinstance(value, dict):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple | set):
        return [plain(entry) for entry in value]
    return None


def main(client: str = "trex.stl.api", make: Callable[[Any], Session] = Session) -> None:
    """Answer calls until the pipe closes; the kernel ends us with our parent."""
    folder, parent = sys.argv[1], int(sys.argv[2])
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, 9)
    if os.getppid() != parent:
        return
    replies = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what the client prints is no reply
    sys.path[:0] = [folder]
    try:
        api = importlib.import_module(client)
    except Exception as error:
        replies.write(json.dumps({"error": {"type": "ClientUnusable", "text": repr(error)}}) + "\n")
        return
    session = make(api)
    replies.write(json.dumps({"result": "ready"}) + "\n")
    for line in sys.stdin:
        order = json.loads(line)
        try:
            answer = {"result": plain(session.perform(order["call"], order["arguments"]))}
        except Exception as error:
            text = str(error)
            answer = {"error": {"type": type(error).__name__, "text": text}}
        replies.write(json.dumps(answer) + "\n")


if __name__ == "__main__":
    main()
