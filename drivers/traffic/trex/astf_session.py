"""Runs in a process of its own, in TRex's Python environment: HTTP over TRex's own TCP, one call a line.

The counterpart of `session.py`, whose pipe and calls it shares: `astf_session.py CLIENT_FOLDER PARENT_PID`.
A profile of TRex is made here from plain numbers, so a transcript says in words what was asked for.
"""

from __future__ import annotations

import base64
import importlib.util
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

    def _perform(self, method: str, arguments: dict[str, Any]) -> Any:
        if method == "load_http":
            return self._client.load_profile(self._profile(arguments))
        if method not in CALLS:
            raise ValueError(f"no call {method}")
        return getattr(self._client, method)(**arguments)

    def _profile(self, wanted: dict[str, Any]) -> Any:
        """One template: a connection with so many requests, and the server that answers them.

        The client's program counts by itself. A: answers complete; B: those that took `late_s` and more; C
        and D: sums of the time to the last and the first octet, in ticks of TRex's clock of 10 ms. The time
        of a connection's first request holds the making of the connection.
        """
        api = self._api
        request = base64.b64decode(wanted["request"])
        octets = wanted["response_octets"]
        client = api.ASTFProgram()
        client.set_var("left", wanted["requests_per_connection"])
        client.set_tick_var("due")
        client.connect()
        client.set_label("next")
        client.send(request)
        client.recv(1)
        client.add_tick_stats("D", "due")
        client.recv(octets - 1, clear=True)
        client.add_stats("A", 1)
        client.add_tick_stats("C", "due")
        client.jmp_dp("due", "in time", wanted["late_s"])
        client.add_stats("B", 1)
        client.set_label("in time")
        client.set_tick_var("due")
        client.jmp_nz("left", "next")
        server = api.ASTFProgram()
        server.accept()
        server.set_var("left", wanted["requests_per_connection"])
        server.set_label("next")
        server.recv(len(request), clear=True)
        server.send(base64.b64decode(wanted["response_head"]), size=octets, fill="x")
        server.jmp_nz("left", "next")
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
                server_template=api.ASTFTCPServerTemplate(
                    program=server, assoc=api.ASTFAssociationRule(port=wanted["port"])
                ),
            ),
        )


if __name__ == "__main__":
    pipe.main("trex.astf.api", AstfSession)
