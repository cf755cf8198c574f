"""A port is asked whether it takes connections, and whoever listens there sees none."""

from __future__ import annotations

import os
import socket
import struct

import pytest

from bmwg.drivers.nodes import half_open


def test_the_checksum_of_a_syn_is_that_of_its_pseudo_header() -> None:
    made = half_open._syn("198.18.0.2", 40000, "198.18.0.3", 12865)
    pseudo = (
        socket.inet_aton("198.18.0.2") + socket.inet_aton("198.18.0.3") + struct.pack("!HH", 6, len(made))
    )
    total = sum(struct.unpack("!16H", pseudo + made))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    assert total == 0xFFFF


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root (raw sockets)")
def test_a_server_that_is_asked_sees_no_connection() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert half_open.listens(address="127.0.0.1", port=port, within_s=2.0)
        server.settimeout(0.2)
        with pytest.raises(TimeoutError):
            server.accept()
    assert not half_open.listens(address="127.0.0.1", port=port, within_s=0.5)
