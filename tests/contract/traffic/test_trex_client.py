"""The client that ships with TRex, without a server: it loads, and every call of ours is one that it has."""

import base64
import inspect
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from bmwg.drivers.traffic.trex import frames, session
from bmwg.drivers.traffic.trex.channel import ClientProcess, RefusedError
from bmwg.drivers.traffic.trex.config import CLIENT, DIR_VARIABLE
from bmwg.drivers.traffic.trex.frames import Way
from bmwg.methodology.records import FrameFormat

FOLDER = os.environ.get(DIR_VARIABLE, "")
pytestmark = [
    pytest.mark.quiet,
    pytest.mark.skipif(not FOLDER, reason=f"lacks TRex: {DIR_VARIABLE} names no folder"),
]

OURS = {
    "acquire": {"ports": [0, 1], "force": False},
    "clear_stats": {},
    "connect": {},
    "disconnect": {},
    "get_active_ports": {},
    "get_port_attr": {"port": 0},
    "get_server_system_info": {},
    "get_server_version": {},
    "get_stats": {},
    "is_connected": {},
    "ping_rpc_server": {},
    "release": {},
    "remove_all_streams": {"ports": [0]},
    "set_l3_mode": {"port": 0, "src_ipv4": "198.18.0.2", "dst_ipv4": "198.18.0.1", "vlan": 7},
    "set_service_mode": {"ports": [0], "enabled": True},
    "start": {"ports": [0], "force": False},
    "stop": {"ports": [0], "rx_delay_ms": 0},
    "wait_on_traffic": {"ports": [0], "timeout": 1, "rx_delay_ms": 0},
}
BIND = """
import inspect, json, sys
sys.path.insert(0, sys.argv[1])
import trex.stl.api as api
for method, arguments in json.loads(sys.argv[2]).items():
    inspect.signature(inspect.unwrap(getattr(api.STLClient, method))).bind(None, **arguments)
print("all")
"""
WAY = Way(
    source_mac="02:00:00:00:00:01",
    destination_mac="02:00:00:00:00:02",
    source_ip="198.18.0.2",
    destination_ip="198.18.1.2",
)


def test_every_call_of_ours_is_one_that_the_client_has():
    argv = [sys.executable, "-I", "-c", BIND, str(Path(FOLDER) / CLIENT), json.dumps(OURS)]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout.strip() == "all", done.stderr
    assert set(OURS) - {"get_active_ports", "is_connected", "ping_rpc_server"} <= session.CALLS
    assert "ping_rpc_server" in inspect.getsource(session)


def test_its_packet_builder_takes_our_frames_and_nothing_is_sent_without_a_server(tmp_path):
    frame = frames.build(WAY, FrameFormat.IPV4_UDP, 64, None)
    stream = {
        "name": "way1",
        "group": 1,
        "frame": base64.b64encode(frame).decode(),
        "variables": [{"name": "flow", "first": 0xC020, "last": 0xC029, "octets": 2, "offset": 34}],
        "frames": 100,
        "load_fps": 1000.0,
        "first_us": 50_000.0,
        "latency": True,
    }
    with (tmp_path / "log").open("ab") as log:
        client = ClientProcess(Path(FOLDER) / CLIENT, netns=None, log=log)
        try:
            client.call(
                "open",
                deadline_s=20,
                username="bmwg",
                server="127.0.0.1",
                sync_port=1,
                async_port=2,
                reply_s=0.5,
            )
            # the streams are built before the client asks whether it is connected
            with pytest.raises(RefusedError, match="disconnected"):
                client.call("add_streams", deadline_s=20, streams=[stream], ports=[0])
            with pytest.raises(RefusedError, match="server response"):
                client.call("connect", deadline_s=20)
        finally:
            client.close()
