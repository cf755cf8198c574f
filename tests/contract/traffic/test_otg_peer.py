"""The OTG driver against a peer written for these tests: HTTP and OTG's JSON are real, its traffic is not."""

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar

import pytest

from bmwg.drivers.api.protocols import TesterPort
from bmwg.drivers.traffic.otg.driver import OtgConfig, OtgTraffic, read_options
from bmwg.methodology.errors import ConfigError, TestbedError
from bmwg.methodology.records import Direction, FrameFormat, TrialSpec, Validity
from bmwg.methodology.trial.capabilities import Capability
from bmwg.methodology.trial.judging import TrialPolicy, assess

pytest.importorskip("snappi", reason="lacks snappi: pip install 'bmwg-toolkit[otg]'")

MACS = ("02:00:00:00:00:01", "02:00:00:00:00:02")


class Peer(BaseHTTPRequestHandler):
    """Carries 90 % of every flow; refuses latency when it is told to; can lose its counters."""

    config: ClassVar[dict] = {}
    latency = True
    counters: ClassVar[dict] = {}
    silent = False
    began_s = 0.0
    pace = 1.0  # of the rate that is asked for

    def log_message(self, *_):
        pass

    def _answer(self, body, status=200):
        text = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def do_GET(self):
        self._answer({"api_spec_version": "1.62.0", "sdk_version": "1.62.0", "app_version": "peer-1"})

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])) or "{}")
        kind = type(self)
        if kind.silent:
            threading.Event().wait(5)
        if self.path == "/config":
            wants = any(flow["metrics"].get("latency") for flow in body.get("flows", []))
            if wants and not kind.latency:
                self._answer({"code": 400, "errors": ["latency is not supported"]}, 400)
                return
            kind.config = body
            self._answer({"warnings": []})
        elif self.path == "/control/state":
            kind.began_s = time.monotonic()
            self._answer({"warnings": []})
        else:
            metrics = []
            for flow in kind.config["flows"]:
                count = int(flow["duration"]["fixed_packets"]["packets"])
                ends_s = kind.began_s + count / float(flow["rate"]["pps"]) / kind.pace
                state = "started" if time.monotonic() < ends_s else "stopped"
                metric = {"name": flow["name"], "transmit": state, "frames_tx": count}
                metric |= {"frames_rx": count * 9 // 10, **kind.counters}
                # of what was received: the device lost the first frames, and had the last ones in a buffer
                metric["timestamps"] = {"first_timestamp_ns": 1.1e9, "last_timestamp_ns": 1.5e9}
                metrics.append(metric)
            self._answer({"choice": "flow_metrics", "flow_metrics": metrics})


@pytest.fixture
def peer():
    kind = type("ThisPeer", (Peer,), {"config": {}, "latency": True, "counters": {}, "silent": False})
    server = ThreadingHTTPServer(("127.0.0.1", 0), kind)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    kind.location = f"http://127.0.0.1:{server.server_port}"
    yield kind
    server.shutdown()
    thread.join(5)
    server.server_close()


def ports():
    return tuple(
        TesterPort(
            name=f"tester/p{side}",
            io="pci",
            device=f"eth{side}",
            ipv4=f"198.18.{side}.2/24",
            ipv6=f"2001:2:0:{side}::2/64",
        )
        for side in (0, 1)
    )


def driver(peer):
    return OtgTraffic(OtgConfig(location=peer.location, ports=("eth1", "eth2"), macs=MACS))


def spec(**changes):
    return TrialSpec(**{"frame_octets": 128, "load_fps": 1000, "duration_s": 0.2, **changes})


def test_a_trial_both_ways_is_counted_as_the_peer_counts_it(peer):
    with driver(peer) as tester:
        limits = tester.attach(ports())
        assert Capability.LATENCY not in limits.capabilities  # the peer has it; it is no distribution
        tester.learn(spec())
        result = tester.run(spec(direction=Direction.BOTH, flows=4, vlan_id=7))
        assert tester.describe()["versions"]["implementation"] == "peer-1"
    assert result.fault is None
    assert [(s.intended_frames, s.sent_frames, s.received_frames) for s in result.streams] == [
        (200, 200, 180)
    ] * 2
    assert result.streams[0].effective_duration_ns == 200_000_000
    flow = peer.config["flows"][0]
    assert flow["size"]["fixed"] == 128
    assert float(flow["rate"]["pps"]) == 1000
    assert [header["choice"] for header in flow["packet"]] == ["ethernet", "vlan", "ipv4", "udp"]
    assert flow["packet"][3]["udp"]["src_port"]["increment"]["count"] == 4


def test_a_peer_that_sends_too_slowly_is_seen_to(peer):
    peer.pace = 0.2
    with driver(peer) as tester:
        tester.attach(ports())
        result = tester.run(spec())
    assert assess(result, TrialPolicy()).validity is Validity.SENT_SHORT


def test_latency_is_asked_of_no_flow(peer):
    peer.latency = False
    with driver(peer) as tester:
        tester.attach(ports())
        assert tester.run(spec(frame_format=FrameFormat.IPV6_UDP)).fault is None


@pytest.mark.parametrize("lost", [{"frames_rx": -1}, {"frames_tx": None}])
def test_counters_that_are_none_give_a_fault(peer, lost):
    peer.counters = lost
    with driver(peer) as tester:
        tester.attach(ports())
        result = tester.run(spec())
    assert result.fault is not None
    assert result.sent_frames == 0


def test_a_peer_that_falls_silent_is_noticed(peer, monkeypatch):
    monkeypatch.setattr("bmwg.drivers.traffic.otg.driver.REPLY_S", 0.3)
    with driver(peer) as tester:
        tester.attach(ports())
        peer.silent = True
        with pytest.raises(TestbedError, match="OTG-04"):
            tester.run(spec())
        peer.silent = False


def test_no_peer_and_wrong_options_are_named():
    with pytest.raises(TestbedError, match="OTG-03"):
        OtgTraffic(OtgConfig(location="http://127.0.0.1:9", ports=("a", "b"), macs=MACS)).__enter__()
    with pytest.raises(ConfigError, match="OTG-02") as raised:
        read_options({"location": "http://x", "portt": 1}, "lab.yaml", 0.1)
    assert "portt" in str(raised.value)
