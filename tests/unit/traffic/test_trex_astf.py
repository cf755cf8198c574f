"""What TRex's HTTP counts say, and what of them is never believed; answers of a real server are replayed."""

import copy
import json
import sys
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

sys.path.insert(0, str(Path(__file__).parents[3] / "benchmarks"))

from astf_walk import LOADS, PLAIN, exchanges, walk

from bmwg.drivers.api.protocols import TesterPort
from bmwg.drivers.traffic.trex import astf_counts
from bmwg.drivers.traffic.trex.astf import AstfTester
from bmwg.drivers.traffic.trex.astf_load import HttpExchange
from bmwg.drivers.traffic.trex.astf_sent import HttpSent, span
from bmwg.drivers.traffic.trex.channel import RefusedError, Replay
from bmwg.drivers.traffic.trex.config import TrexConfig, TrexOptions
from bmwg.drivers.traffic.trex.connection import Connection
from bmwg.drivers.traffic.trex.counts import ContradictionError
from bmwg.drivers.traffic.trex.server import server_configuration
from bmwg.drivers.traffic.watchdog.process import PortSight, Sight
from bmwg.methodology.errors import ConfigError, DriverError, TestbedError

TRANSCRIPT = Path(__file__).parents[2] / "data" / "trex" / "astf-3.08.jsonl"
PORTS = tuple(TesterPort(name=f"tester/p{side}", io="af_packet", device=f"p{side}") for side in (0, 1))


def config(tmp_path):
    return TrexConfig(folder=tmp_path, options=TrexOptions(), cpus=(0,), watch_cpus=(1,), run_dir=tmp_path)


def lines():
    return TRANSCRIPT.read_text(encoding="utf-8").splitlines()


def last_stats():
    """The counters of the plain load, as the server gave them last."""
    entries = [json.loads(line) for line in lines()]
    ends = [number for number, entry in enumerate(entries) if entry["call"] == "clear_profile"]
    return entries[ends[1] - 1]["result"]  # the first is that of the beginning


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    replay = Replay(iter(lines()))
    done = walk(replay, config(tmp_path_factory.mktemp("trex")), PORTS, sleep=lambda _: None)
    assert replay.left == 0
    return done


def test_the_server_is_the_release_that_the_transcript_is_named_after(found):
    assert found.versions["server"] == "3.08"
    assert found.versions["mode"] == "ASTF"


@pytest.mark.parametrize("name", LOADS)
def test_every_request_of_a_wire_is_read_from_what_the_server_said(found, name):
    sent, load = found.loads[name], LOADS[name]
    assert sent.fault == ""
    assert (sent.begun, sent.failed) == (load.requests, 0)
    clients, servers = sent.reading.clients, sent.reading.servers
    assert clients.received_octets == load.connections * load.response_octets == servers.sent_octets
    assert clients.sent_octets == load.connections * load.request_octets == servers.received_octets
    assert clients.established == servers.accepted == load.connections
    assert (clients.errors, servers.errors) == ({}, {})


def test_loads_that_a_busy_machine_held_up_were_not_offered_as_asked(found):
    """Two loads of half a second took 2.3 s and 3.3 s when this was recorded."""
    shorts = {name for name, sent in found.loads.items() if sent.unsent}
    assert shorts == {"plain", "again"}
    for name, sent in found.loads.items():
        least_ns, most_ns = sent.beginning_ns
        assert least_ns < most_ns
        assert (least_ns > 1.03e9 * LOADS[name].duration_s) == (name in shorts)


def test_counts_are_those_in_the_text(found):
    stats = last_stats()
    assert stats["client"]["tcps_connects"] == stats["server"]["tcps_accepts"] == PLAIN.connections
    assert stats["client"]["user_counter_A"] == found.loads["plain"].reading.clients.complete


@pytest.mark.parametrize(
    "lost", ["load_http", "clear_stats", "start", "watch_begin", "watch", "get_traffic_stats"]
)
def test_a_server_that_is_lost_there_gives_a_fault(tmp_path, lost):
    entries = [json.loads(line) for line in lines()]
    place = next(number for number, entry in enumerate(entries) if entry["call"] == lost)
    entries[place] = {**entries[place], "gone": "the client's process ended"}
    replay = Replay(json.dumps(entry) for entry in entries[: place + 1])
    tester = AstfTester(config(tmp_path), sleep=lambda _: None)
    tester.use(replay, PORTS, ExitStack())  # never closed: nobody is there to take the ports back
    sent = tester.offer(PLAIN)
    assert sent.reading is None
    assert "the client's process ended" in sent.fault
    assert (sent.begun, sent.failed, sent.unsent) == (0, 0, 0)


BROKEN = [
    ("client", "tcps_rcvbyte", None, "gave no"),
    ("client", "tcps_rcvbyte", float("nan"), "nan"),
    ("client", "user_counter_A", -1, "no count"),
    ("server", "tcps_accepts", 0.5, "no count"),
    ("server", "tcps_accepts", True, "True"),
    ("client", "tcps_drops", float("inf"), "inf"),
    ("client", "tcps_drops", "7", "'7'"),
]


@pytest.mark.parametrize(("side", "name", "value", "said"), BROKEN)
def test_what_is_no_count_is_a_contradiction(side, name, value, said):
    stats = copy.deepcopy(last_stats())
    stats[side][name] = value
    if value is None:
        del stats[side][name]
    with pytest.raises(ContradictionError, match=said):
        astf_counts.read(stats)


@pytest.mark.parametrize("stats", [None, [], {}, {"client": {}}, {"client": 1, "server": 2}])
def test_what_is_no_table_is_a_contradiction(stats):
    with pytest.raises(ContradictionError):
        astf_counts.read(stats)


def plain_reading(**changes):
    """The reading of the plain load with other counts of the clients."""
    stats = copy.deepcopy(last_stats())
    stats["client"] |= changes
    return astf_counts.read(stats)


def test_a_counter_that_goes_back_is_said():
    before, after = plain_reading(), plain_reading(tcps_rcvbyte=1)
    assert "went back" in astf_counts.backwards(before, after)
    assert astf_counts.backwards(after, before) == ""


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"tcps_connattempt": 101}, "connections begun: 101, of 100"),
        ({"tcps_connects": 101}, "connections established"),
        ({"tcps_closed": 101}, "connections closed"),
        ({"user_counter_A": 101}, "answers: 101"),
        ({"user_counter_B": 101}, "late answers"),
        ({"tcps_rcvbyte": 7}, "octets received by the clients"),
    ],
)
def test_counts_that_cannot_be_of_one_load_are_said(changes, said):
    assert said in astf_counts.contradictions(PLAIN, plain_reading(**changes), own_servers=True)


def test_accepted_connections_without_servers_of_its_own_are_said():
    assert "accepted" in astf_counts.contradictions(PLAIN, plain_reading(), own_servers=False)


def sent(beginning_ns=(480_000_000, 510_000_000), load=PLAIN, sight=None, **changes):
    reading = plain_reading(**changes)
    return HttpSent(load=load, reading=reading, beginning_ns=beginning_ns, sight=sight, devices=("p0", "p1"))


def seen(rx_packets):
    port = PortSight(
        rx_packets=rx_packets, rx_dropped=0, tx_packets=0, tx_dropped=0, sending_ns=0, longest_pause_ns=0
    )
    return Sight(stalls_ns={}, ports={"p0": port})


def test_an_answer_that_did_not_come_is_a_failed_request():
    one = sent(user_counter_A=99, tcps_rcvbyte=99 * PLAIN.response_octets + 20)
    assert (one.begun, one.failed, one.unsent) == (100, 1, 0)


def test_octets_of_other_answers_fail_one_request_at_least():
    assert sent(tcps_rcvbyte=100 * PLAIN.response_octets + 1).failed == 1
    assert sent(tcps_rcvbyte=100 * PLAIN.response_octets - 1).failed == 1
    assert sent().failed == 0


def test_connections_that_never_began_are_the_generators_own():
    one = sent(tcps_connattempt=90, tcps_connects=90, user_counter_A=90)
    assert one.unsent == 10


def test_a_load_that_took_longer_was_not_offered_as_asked():
    assert sent().unsent == 0
    assert sent(beginning_ns=(510_000_000, 560_000_000)).unsent == 0  # between two looks nothing is known
    assert sent(beginning_ns=(1_000_000_000, 1_050_000_000)).unsent == 50


def test_the_time_of_beginning_lies_between_looks():
    looks = {"first_after_ns": 10, "first_before_ns": 30, "last_after_ns": 100, "last_before_ns": 120}
    assert span(looks) == (70, 110)
    assert span({**looks, "last_after_ns": 10, "last_before_ns": 30}) == (0, 20)
    for wrong in ({}, {**looks, "first_after_ns": -1}, {**looks, "last_before_ns": float("nan")}, None):
        with pytest.raises(ContradictionError):
            span(wrong)


def test_frames_that_reached_it_and_not_its_tcp_are_its_own_loss():
    segments = last_stats()["client"]["tcps_rcvtotal"]
    lossy = {"user_counter_A": 98, "tcps_rcvbyte": 98 * PLAIN.response_octets}
    assert sent(sight=seen(segments), **lossy).unsent == 0
    lost = sent(sight=seen(segments + 40), **lossy)
    assert (lost.own_loss, lost.unsent) == (40, 2)
    assert sent(err_c_tuple_err=3, **lossy).own_limits == {"err_c_tuple_err": 3}
    assert sent(err_c_tuple_err=3, **lossy).unsent == 2


def test_errors_are_told_by_their_names():
    errors = sent(tcps_rexmttimeo_syn=4, tcps_drops=1, tcps_preddat=9).reading.clients.errors
    assert errors == {"tcps_drops": 1, "tcps_rexmttimeo_syn": 4}


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"connections": 0}, "connections"),
        ({"connections_per_s": float("nan")}, "connections per second"),
        ({"connections_per_s": 0.0}, "connections per second"),
        ({"exchanges": exchanges(times=0)}, "requests per connection"),
        ({"exchanges": ()}, "requests per connection"),
        ({"exchanges": (HttpExchange(request=b"GET", response_octets=1),)}, "octets of an answer"),
        ({"exchanges": (HttpExchange(request=b"", response_octets=9),)}, "request"),
        ({"port": 70_000}, "port"),
        ({"late_s": 0.001}, "late after"),
        ({"clients": ("198.18.64.9", "198.18.64.1")}, "clients' addresses"),
        ({"clients": ("10.0.0.1", "10.0.0.2")}, "addresses"),
        ({"servers": ("8.8.8.8", "8.8.8.8")}, "addresses"),
        ({"clients": ("nowhere", "198.18.64.1")}, "addresses"),
    ],
)
def test_a_load_that_cannot_be_offered_is_refused_before_a_call(tmp_path, changes, what):
    tester = AstfTester(config(tmp_path))
    replay = Replay(line for line in lines())
    tester.use(replay, PORTS, ExitStack())
    left = replay.left
    with pytest.raises(ConfigError, match=f"TREX-19.*{what}"):
        tester.offer(replace(PLAIN, **changes))
    assert replay.left == left


def test_nothing_is_offered_before_ports_are_attached(tmp_path):
    with pytest.raises(DriverError, match="TREX-05"):
        AstfTester(config(tmp_path)).offer(PLAIN)


class OtherMode:
    """A client whose server speaks of another mode."""

    def __init__(self, text):
        self.text = text

    def call(self, method, /, *, deadline_s, **arguments):
        if method == "connect":
            raise RefusedError("TRexError", self.text)
        return {"python": "3"}

    def close(self):
        pass


def test_a_server_in_another_mode_is_named(tmp_path):
    text = "RPC configuration mismatch - server RPC configuration: '{}', client RPC configuration: '{}'"
    with pytest.raises(TestbedError, match="TREX-18") as raised:
        AstfTester(config(tmp_path)).use(OtherMode(text.format("STL", "ASTF")), PORTS, ExitStack())
    assert "mode ASTF" in str(raised.value)
    with pytest.raises(TestbedError, match="TREX-18") as raised:
        Connection(config(tmp_path), OtherMode(text.format("ASTF", "STL"))).open(None)
    assert "mode STL" in str(raised.value)


def test_one_port_is_paired_with_a_dummy(tmp_path):
    (entry,) = yaml.safe_load(server_configuration(config(tmp_path), PORTS[:1], "x", stateful=True))
    assert entry["interfaces"][1] == "dummy"
    assert len(entry["port_info"]) == 2
    with pytest.raises(ConfigError, match="TREX-09"):
        server_configuration(config(tmp_path), (), "x", stateful=True)


def test_a_router_is_resolved_by_the_server_itself(tmp_path):
    ports = [
        replace(port, ipv4=f"198.18.{side}.2/24", gateway_ipv4=f"198.18.{side}.1")
        for side, port in enumerate(PORTS)
    ]
    (entry,) = yaml.safe_load(server_configuration(config(tmp_path), ports, "x", stateful=True))
    assert entry["port_info"][1] == {"ip": "198.18.1.2", "default_gw": "198.18.1.1"}
