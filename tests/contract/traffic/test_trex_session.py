"""The process that calls TRex's client, with a client of these tests in it: pipe and deadlines are real."""

import math
import os
import signal
import time
from pathlib import Path

import pytest

from bmwg.drivers.traffic.trex.channel import ClientProcess, RefusedError
from bmwg.methodology.errors import DriverError, TestbedError

CLIENT = """
import os, time


class TRexError(Exception):
    pass


class STLClient:
    def __init__(self, **named):
        self.named = named
        self.loaded = []
        print("this is no reply")

    def connect(self):
        raise TRexError("no answer from " + self.named["server"])

    def get_stats(self):
        return {0: {"opackets": 5, "rate": float("nan")}, "global": {1: object()}}

    def get_port_attr(self, port):
        return {"src_mac": "02:00:00:00:00:01", "port": port}

    def add_streams(self, streams, ports):
        self.loaded += streams
        return [(stream.mode.pps, stream.mode.total_pkts, len(stream.packet.octets)) for stream in streams]

    def get_active_ports(self):
        return []

    def is_connected(self):
        return True

    def stop(self, ports, rx_delay_ms):
        os._exit(3)

    def reset(self):
        time.sleep(60)


class Plain:
    def __init__(self, *positional, **named):
        self.__dict__.update(named)


class STLPktBuilder(Plain):
    @property
    def octets(self):
        return self.pkt_buffer


STLStream = STLVmFlowVar = STLVmWrFlowVar = STLTXSingleBurst = STLFlowLatencyStats = STLFlowStats = Plain
STLStreamDstMAC_PKT = 1
"""


@pytest.fixture
def client(tmp_path):
    made = []

    def start(text=CLIENT):
        folder = tmp_path / "trex" / "stl"
        folder.mkdir(parents=True, exist_ok=True)
        for package in (folder, folder.parent):
            (package / "__init__.py").write_text("")
        (folder / "api.py").write_text(text)
        with (tmp_path / "log").open("ab") as log:
            made.append(ClientProcess(tmp_path, netns=None, log=log))
        made[-1].call("open", deadline_s=5, server="lab", reply_s=1.0)
        return made[-1]

    yield start
    for one in made:
        one.close()
        assert not Path(f"/proc/{one.pid}").exists()


def test_answers_are_data_and_what_is_printed_is_none(client):
    running = client()
    found = running.call("get_stats", deadline_s=5)
    assert found["0"]["opackets"] == 5
    assert math.isnan(found["0"]["rate"])
    assert found["global"] == {"1": None}
    assert running.call("get_port_attr", deadline_s=5, port=1)["port"] == 1
    assert running.call("watch", deadline_s=5, ports=[0], longest_s=1, server_pid=None)["sending"] == []


def test_streams_are_bursts_of_the_frame_that_was_given(client):
    stream = {
        "name": "way1",
        "group": 1,
        "frame": "AAECAwQ=",
        "variables": [{"name": "flow", "first": 1, "last": 9, "octets": 2, "offset": 34}],
        "frames": 77,
        "load_fps": 5.0,
        "first_us": 50_000.0,
        "latency": True,
    }
    assert client().call("add_streams", deadline_s=5, streams=[stream], ports=[0]) == [[5.0, 77, 5]]


def test_what_the_client_raises_is_a_refusal_with_its_words(client):
    running = client()
    with pytest.raises(RefusedError, match="TRexError: no answer from lab"):
        running.call("connect", deadline_s=5)
    with pytest.raises(RefusedError, match="no call remove_everything"):
        running.call("remove_everything", deadline_s=5)
    assert running.call("get_stats", deadline_s=5)  # and it goes on


def test_a_client_that_dies_is_noticed_at_once(client):
    running = client()
    began_s = time.monotonic()
    with pytest.raises(DriverError, match="TREX-05"):
        running.call("stop", deadline_s=30, ports=[0], rx_delay_ms=0)
    assert time.monotonic() - began_s < 3
    with pytest.raises(DriverError, match="TREX-05"):
        running.call("get_stats", deadline_s=5)


def test_a_client_that_hangs_meets_its_deadline_and_is_ended(client):
    running = client()
    began_s = time.monotonic()
    with pytest.raises(DriverError, match="within its deadline"):
        running.call("reset", deadline_s=0.3)
    assert time.monotonic() - began_s < 3
    with pytest.raises(DriverError, match="TREX-05"):
        running.call("get_stats", deadline_s=5)


def test_a_killed_client_is_named(client):
    running = client()
    os.kill(running.pid, signal.SIGKILL)
    with pytest.raises(DriverError, match="TREX-05"):
        running.call("get_stats", deadline_s=5)


def test_a_folder_whose_client_cannot_be_loaded_is_refused(client):
    with pytest.raises(TestbedError, match="TREX-04") as raised:
        client("import a_package_that_is_nowhere")
    assert "a_package_that_is_nowhere" in str(raised.value)
