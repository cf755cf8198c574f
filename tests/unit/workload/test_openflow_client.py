"""The messages of the control plane, and what it does at the end of its switch; no switch takes part."""

import socket
import struct
import threading

import pytest

from bmwg.drivers.workload import openflow_client as client


def test_a_flow_is_72_octets_and_matches_one_destination_alone():
    """OpenFlow 1.0.0 sections 5.1, 5.2.3 and 5.3.3."""
    message = client.flow(0, 0x0A000001)
    assert len(message) == 72
    assert struct.unpack("!BBHI", message[:8]) == (1, 14, 72, 0)
    (wild,) = struct.unpack("!I", message[8:12])
    assert wild == 0x3FFFFF & ~0x10 & ~(0x3F << 14)
    assert struct.unpack("!H", message[30:32]) == (0x0800,)
    assert struct.unpack("!I", message[40:44]) == (0x0A000001,)
    assert struct.unpack("!QHHHHIHH", message[48:]) == (0, 0, 0, 0, 100, 0xFFFFFFFF, 0xFFFF, 0)
    (wild,) = struct.unpack("!I", client.flow(3, 0x0A000000, wild_bits=24)[8:12])
    assert wild >> 14 & 0x3F == 24


def test_a_flow_of_test_frames_matches_its_ports_and_forwards_as_without_flows():
    message = client.matched(5)
    assert len(message) == 80
    assert struct.unpack("!BBHI", message[:8]) == (1, 14, 80, 0)
    (wild,) = struct.unpack("!I", message[8:12])
    assert wild == 0x3FFFFF & ~0x10 & ~0x20 & ~0x40 & ~0x80
    assert message[33] == 17
    assert struct.unpack("!HH", message[44:48]) == (0xC025, 7)
    assert struct.unpack("!HHHH", message[72:]) == (0, 8, 0xFFFA, 0)
    first, second = client.cleared()[:72], client.cleared()[72:]
    assert [struct.unpack("!H", one[56:58]) for one in (first, second)] == [(3,), (3,)]


def test_a_flow_may_stand_for_a_time_and_its_end_is_to_be_told():
    """OpenFlow 1.0.0 section 5.3.3: hard_timeout and OFPFF_SEND_FLOW_REM."""
    assert struct.unpack("!QHHHHIHH", client.matched(5, 3)[48:72]) == (0, 0, 0, 3, 100, 0xFFFFFFFF, 0xFFFF, 1)
    assert client.matched(5, 0) == client.matched(5)


@pytest.mark.parametrize(
    ("number", "ports"),
    [(16_351, (65_535, 7)), (16_352, (0xC020, 0xC021)), (32_705, (0xC021, 0xC022))],
)
def test_flows_beyond_the_source_ports_have_other_destination_ports(number, ports):
    assert struct.unpack("!HH", client.matched(number)[44:48]) == ports
    assert client.expired(removed(number, 1)[8:]) == number


def test_a_connection_asks_to_be_told():
    assert client.told() == bytes([1, 9, 0, 12, 0, 0, 0, 0, 0, 0, 0, 64])


def removed(number, reason):
    """The end of an entry as a switch tells it (OpenFlow 1.0.0 section 5.4.3)."""
    rest = struct.pack("!QHBxIIHxxQQ", 0, 100, reason, 1, 0, 0, 7, 7 * 60)
    return message(11, 0, client.matched(number)[8:48] + rest)


def test_entries_that_expire_are_told_from_removed_ones(tmp_path):
    assert len(removed(5, 1)) == 88
    assert client.expired(removed(5, 1)[8:]) == 5
    assert client.expired(removed(5, 2)[8:]) is None
    said = [removed(0, 1), removed(9, 2), message(19, 1), removed(16_351, 1) + removed(3, 1)]
    answering(tmp_path / "s", said)
    switch = client.Switch(str(tmp_path / "s"))
    switch.confirmed(client.matched(0, 1))
    assert switch.expired[0] == 0
    for _ in range(100):
        if len(switch.expired) < 3:
            switch.wait(0.1)
    assert switch.expired == [0, 16_351, 3]


def answering(path, answers):
    """A switch that answers the first barrier with these messages."""
    waiting = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    waiting.bind(str(path))
    waiting.listen(1)

    def serve():
        with waiting, waiting.accept()[0] as peer:
            peer.settimeout(10)
            while b"\x01\x12\x00\x08" not in peer.recv(4096):
                pass
            for one in answers:
                peer.sendall(one)
            while answers and peer.recv(4096):
                pass

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    return thread


def message(kind, number=0, body=b""):
    return struct.pack("!BBHI", 1, kind, 8 + len(body), number) + body


def test_a_barrier_is_awaited_through_whatever_else_comes(tmp_path):
    answering(tmp_path / "s", [message(0), message(2, 7, b"x"), message(19, 9), message(19, 1)])
    client.Switch(str(tmp_path / "s")).confirmed(client.flow(0, 1))


def test_a_flow_that_is_refused_and_a_switch_that_ends_are_told(tmp_path):
    answering(tmp_path / "a", [message(1, 0, b"\x00\x03\x00\x00")])
    with pytest.raises(SystemExit, match="refused a flow: 00030000"):
        client.Switch(str(tmp_path / "a")).confirmed(client.flow(0, 1))
    answering(tmp_path / "b", [])
    with pytest.raises(SystemExit, match="closed the connection"):
        client.Switch(str(tmp_path / "b")).confirmed(client.flow(0, 1))


def test_another_barriers_reply_confirms_nothing(tmp_path):
    answering(tmp_path / "s", [message(19, 9), message(1, 0, b"late")])
    with pytest.raises(SystemExit, match="refused a flow"):
        client.Switch(str(tmp_path / "s")).confirmed(client.flow(0, 1))
