"""Frames of one deployment leave nothing in the kernel's memory of connections that renames the next's."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.root

_PORT, _SOURCE = 7, 49184
# A direct datagram first, then one to an address that is translated to the same end: prints its source port.
_PROGRAM = f"""
import socket
import subprocess
import sys

from bmwg.drivers.ports import connections

subprocess.run(["ip", "link", "set", "lo", "up"], check=True, timeout=10)
rules = '''table ip bmwg-test {{
    chain out {{
        type nat hook output priority -100;
        ip daddr 127.0.0.9 udp dport {_PORT} dnat to 127.0.0.2:{_PORT}
    }}
}}
'''
subprocess.run(["nft", "-f", "-"], input=rules, text=True, check=True, timeout=10)
server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind(("127.0.0.2", {_PORT}))
server.settimeout(5)
client = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
client.bind(("127.0.0.1", {_SOURCE}))
client.sendto(b"direct", ("127.0.0.2", {_PORT}))
server.recvfrom(16)
if sys.argv[1] == "forget":
    assert connections.forget(addresses=["127.0.0.9", "127.0.0.2"], port={_PORT}) == 1
client.sendto(b"translated", ("127.0.0.9", {_PORT}))
print(server.recvfrom(16)[1][1])
print(*(connections.forget(addresses=one, port={_PORT}) for one in (["127.0.0.2"], [])))
"""


def _source_port(word: str) -> tuple[int, str]:
    done = subprocess.run(
        ["unshare", "--net", sys.executable, "-c", _PROGRAM, word],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    port, _, rest = done.stdout.strip().partition("\n")
    return int(port), rest


def test_a_remembered_connection_gives_the_next_flow_another_source_port():
    port, forgotten = _source_port("keep")
    assert port != _SOURCE
    assert forgotten == "2 0"


def test_a_forgotten_one_does_not():
    port, forgotten = _source_port("forget")
    assert port == _SOURCE
    assert forgotten == "1 0"
