"""The process that calls TRex's client, with a client of these tests in it: pipe and deadlines are real."""

import math
import os
import signal
import time
from pathlib import Path

import pytest

from bmwg.drivers.traffic.trex.channel import ASTF_SESSION, ClientProcess, RefusedError
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


ASTF_CLIENT = """
class Plain:
    def __init__(self, *positional, **named):
        self.__dict__.update(named)


ASTFAssociationRule = ASTFIPGen = ASTFIPGenDist = ASTFIPGenGlobal = Plain
ASTFProfile = ASTFTCPClientTemplate = ASTFTCPServerTemplate = ASTFTemplate = Plain


class ASTFProgram:
    def __init__(self):
        self.done = []

    def __getattr__(self, name):
        def note(*positional, **named):
            self.done.append([name, *[len(one) if isinstance(one, bytes) else one for one in positional]])
        return note


class ASTFClient(Plain):
    def load_profile(self, profile):
        self.profile = profile

    def get_traffic_stats(self, skip_zero):
        used = self.profile.templates.client_template
        return {"client": used.program.done, "port": used.port, "cps": used.cps, "limit": used.limit}

    def start(self, mult):
        pass

    def get_traffic_tg_stats(self, names):
        self.looks = getattr(self, "looks", -1) + 1
        return {names[0]: {"client": {"tcps_connattempt": 20 * self.looks} if self.looks else {}}}

    def get_active_ports(self):
        return [] if getattr(self, "looks", 0) > 2 else [0]

    def is_connected(self):
        return True
"""


def test_a_load_is_one_program_for_every_connection(tmp_path):
    folder = tmp_path / "trex" / "astf"
    folder.mkdir(parents=True)
    for package in (folder, folder.parent):
        (package / "__init__.py").write_text("")
    (folder / "api.py").write_text(ASTF_CLIENT)
    with (tmp_path / "log").open("ab") as log:
        running = ClientProcess(tmp_path, netns=None, log=log, script=ASTF_SESSION)
    try:
        running.call("open", deadline_s=5, server="lab", reply_s=1.0)
        running.call(
            "load_http",
            deadline_s=5,
            exchanges=[
                {"request": "R0VUIC8=", "response_head": "SFRUUA==", "response_octets": 1000, "times": 2},
                {"request": "R0VU", "response_head": "", "response_octets": 900, "times": 1},
            ],
            port=3128,
            connections=50,
            connections_per_s=25.0,
            late_s=0.5,
            clients=["198.18.64.1", "198.18.64.9"],
            servers=["198.18.1.1", "198.18.1.1"],
        )
        loaded = running.call("get_traffic_stats", deadline_s=5, skip_zero=False)
        assert (loaded["port"], loaded["cps"], loaded["limit"]) == (3128, 25.0, 50)
        done = loaded["client"]
        assert done[0] == ["set_tick_var", "due"]  # before the connection is made
        assert [one[1] for one in done if one[0] == "send"] == [5, 3]
        assert [one[1] for one in done if one[0] == "recv"] == [1, 999, 1, 899]
        assert [one[2] for one in done if one[0] == "set_var"] == [2, 1]
        assert ["jmp_dp", "due", "in time 0", 0.5] in done
        assert done[-1] == ["jmp_nz", "left 1", "next 1"]
        running.call("start", deadline_s=5, mult=1)
        looks = running.call("watch_begin", deadline_s=5, connections=50, longest_s=3, server_pid=None)
        assert looks["begun"] == 60
        assert 0 <= looks["first_after_ns"] < looks["first_before_ns"]
        assert looks["first_after_ns"] < looks["last_after_ns"] < looks["last_before_ns"] < 3e9
        assert running.call("watch", deadline_s=5, ports=[0], longest_s=1, server_pid=None)["sending"] == []
        with pytest.raises(RefusedError, match="no call add_streams"):
            running.call("add_streams", deadline_s=5, streams=[], ports=[0])
    finally:
        running.close()
