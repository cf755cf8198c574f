"""Runs in a process of its own, in TRex's Python environment: HTTP over TRex's own TCP, one call a line.

The counterpart of `session.py`, whose pipe and calls it shares: `astf_session.py CLIENT_FOLDER PARENT_PID`.
A profile of TRex is made here from plain numbers, so a transcript says in words what was asked for.
"""

from __future__ import annotations

import base64
import importlib.util
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

CALLS = frozenset(
    {
        "acquire",
        "clear_profile",
        "clear_stats",
        "disconnect",
        "get_server_system_info",
        "get_server_version",
        "get_traffic_stats",
        "release",
        "start",
        "stop",
    }
)
LOOK_S = 0.02
GROUP = "http"


def _pipe() -> Any:
    """The module beside this one: Python runs isolated here and does not find it by name."""
    spec = importlib.util.spec_from_file_location("bmwg_trex_session", Path(__file__).with_name("session.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


if TYPE_CHECKING:
    from bmwg.drivers.traffic.trex import session as pipe
else:
    pipe = _pipe()


class AstfSession(pipe.Session):
    """One client object for connections and what is called on it."""

    client_class = "ASTFClient"
    _started_ns = 0

    def _perform(self, method: str, arguments: dict[str, Any]) -> Any:
        if method == "load_http":
            return self._client.load_profile(self._profile(arguments))
        if method == "watch_begin":
            return self._watch_begin(**arguments)
        if method not in CALLS:
            raise ValueError(f"no call {method}")
        if method == "start":
            self._started_ns = time.monotonic_ns()
        return getattr(self._client, method)(**arguments)

    def _watch_begin(self, connections: int, longest_s: float, server_pid: int | None) -> dict[str, int]:
        """Look at how many connections have begun until all have; between which looks it was.

        Times are of this process (ns, from the order to start): the last look before and the first after the
        first connection, and the same for the last one. TRex reads a group's counters anew at each look.
        """
        began_ns = now_ns = self._started_ns
        first, last = [0, 0], [0, 0]
        count = 0
        while now_ns - began_ns < longest_s * 1e9:
            before_ns, now_ns = now_ns, time.monotonic_ns()
            found = self._client.get_traffic_tg_stats([GROUP])[GROUP]["client"].get("tcps_connattempt", 0)
            answered_ns = time.monotonic_ns()
            if found > count:
                if count == 0:
                    first = [before_ns - began_ns, answered_ns - began_ns]
                last = [before_ns - began_ns, answered_ns - began_ns]
            count = found
            if count >= connections or not self._client.get_active_ports():
                break
            if not self._client.is_connected() or (server_pid and pipe.ended(server_pid)):
                raise ConnectionError("the client lost its server")
            time.sleep(LOOK_S)
        return {
            "begun": count,
            "first_after_ns": first[0],
            "first_before_ns": first[1],
            "last_after_ns": last[0],
            "last_before_ns": last[1],
        }

    def _profile(self, wanted: dict[str, Any]) -> Any:
        """One template: a connection with so many requests, and the server that answers them.

        The client's program counts by itself. A: answers complete; B: those that took `late_s` and more; C
        and D: sums of the time to the last and the first octet, in ticks of TRex's clock of 10 ms. The
        program begins with the SYN, so the time of its first request holds the making of the connection.
        """
        api = self._api
        client, server = api.ASTFProgram(), api.ASTFProgram()
        client.set_tick_var("due")
        server.accept()
        for place, exchange in enumerate(wanted["exchanges"]):
            left, again, in_time = f"left {place}", f"next {place}", f"in time {place}"
            request, octets = base64.b64decode(exchange["request"]), exchange["response_octets"]
            for program in (client, server):
                program.set_var(left, exchange["times"])
                program.set_label(again)
            client.send(request)
            client.recv(1)
            client.add_tick_stats("D", "due")
            client.recv(octets - 1, clear=True)
            client.add_stats("A", 1)
            client.add_tick_stats("C", "due")
            client.jmp_dp("due", in_time, wanted["late_s"])
            client.add_stats("B", 1)
            client.set_label(in_time)
            client.set_tick_var("due")
            client.jmp_nz(left, again)
            server.recv(len(request), clear=True)
            server.send(base64.b64decode(exchange["response_head"]), size=octets, fill="x")
            server.jmp_nz(left, again)
        server.wait_for_peer_close()
        addresses = api.ASTFIPGen(
            glob=api.ASTFIPGenGlobal(ip_offset="0.0.0.0"),
            dist_client=api.ASTFIPGenDist(ip_range=wanted["clients"], distribution="seq"),
            dist_server=api.ASTFIPGenDist(ip_range=wanted["servers"], distribution="seq"),
        )
        return api.ASTFProfile(
            default_ip_gen=addresses,
            templates=api.ASTFTemplate(
                client_template=api.ASTFTCPClientTemplate(
                    program=client,
                    ip_gen=addresses,
                    cps=wanted["connections_per_s"],
                    port=wanted["port"],
                    limit=wanted["connections"],
                ),
                tg_name=GROUP,
                server_template=api.ASTFTCPServerTemplate(
                    program=server, assoc=api.ASTFAssociationRule(port=wanted["port"])
                ),
            ),
        )


if __name__ == "__main__":
    pipe.main("trex.astf.api", AstfSession)
