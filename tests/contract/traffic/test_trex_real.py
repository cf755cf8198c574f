"""TRex for real, in its low-end mode on veth in namespaces made here; skipped by name where there is none."""

import os
import shutil
import signal
import threading
import time
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
import tester_bed as bed
from trex_walk import TRIALS, walk

from bmwg.drivers.traffic.trex.channel import Recorder, Replay
from bmwg.drivers.traffic.trex.config import CLIENT, DIR_VARIABLE, TrexConfig, TrexOptions
from bmwg.drivers.traffic.trex.driver import TrexTraffic, start_client
from bmwg.drivers.traffic.trex.server import Server
from bmwg.methodology.errors import ConfigError, TestbedError
from bmwg.methodology.records import Direction, FrameFormat, TrialSpec
from bmwg.methodology.trial.judging import TrialPolicy, assess

FOLDER = os.environ.get(DIR_VARIABLE, "")
pytestmark = [
    pytest.mark.quiet,
    pytest.mark.root,
    pytest.mark.slow,
    pytest.mark.skipif(
        not FOLDER, reason=f"lacks TRex: {DIR_VARIABLE} names no folder (transcripts stand in for it)"
    ),
]
SPEC = TrialSpec(frame_octets=64, load_fps=2_000, duration_s=0.5)


def config(folder, **options):
    last = (os.cpu_count() or 1) - 1
    return TrexConfig(
        folder=Path(FOLDER),
        options=TrexOptions(**options),
        cpus=(0,),
        watch_cpus=(last,),
        run_dir=folder,
        drain_quiet_s=0.1,
    )


@pytest.fixture(scope="module")
def tester(tmp_path_factory):
    with TrexTraffic(config(tmp_path_factory.mktemp("trex"))) as running:
        yield running


@contextmanager
def single():
    """Both ends of one veth pair in one namespace: TRex opens all its interfaces in its own."""
    with bed.namespace("t") as space:
        bed.veth((space, "p0"), (space, "p1"))
        bed.inside(space, "ip", "link", "set", "lo", "up")
        yield bed.port(0, space, "p0", "af_packet"), bed.port(1, space, "p1", "af_packet")


@pytest.fixture(scope="module")
def wire(tester):
    with single() as ports:
        tester.attach(ports)
        yield ports
        tester.detach()


def undisturbed(tester, spec, tries=10):
    """A trial in which no CPU was taken away; the last one when the machine gives none."""
    for _ in range(tries):
        result = tester.run(spec)
        if assess(result, TrialPolicy()).reason == "":
            break
    return result


def valid(tester, spec, tries=20):
    """A trial whose sender had no long gap; where the machine gives none, the test cannot be held."""
    policy = TrialPolicy(max_stall_frames=40)
    for _ in range(tries):
        result = tester.run(spec)
        if assess(result, policy).validity == "valid":
            return result
    pytest.skip(
        f"needs CPUs that are not taken away: {tries} trials, the last {assess(result, policy).reason}"
    )


def whole(result):
    assert result.fault is None
    for stream in result.streams:
        assert stream.sent_frames == stream.intended_frames
        assert stream.received_frames == stream.sent_frames
        assert stream.duplicate_frames == stream.reordered_frames == 0


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"frame_octets": 1518},
        {"frame_octets": 66, "vlan_id": 100},
        {"frame_octets": 82, "frame_format": FrameFormat.IPV6_UDP},
        {"flows": 100},
        {"frame_octets": 594, "mix_octets": (64, 64, 64, 594)},
        {"direction": Direction.REVERSE},
        {"direction": Direction.BOTH},
    ],
)
def test_every_frame_is_accounted_for(tester, wire, changes):
    spec = replace(SPEC, **changes)
    tester.learn(spec)
    whole(undisturbed(tester, spec))


def test_sending_takes_as_long_as_it_was_seen_to(tester, wire):
    stream = undisturbed(tester, replace(SPEC, duration_s=1.0)).streams[0]
    assert abs(stream.effective_duration_ns - 1e9) < 20e6
    assert stream.latency.frames == stream.received_frames
    assert stream.latency.max_ns < 1e9


def test_a_load_beyond_it_is_never_called_sent(tester, wire):
    result = tester.run(replace(SPEC, load_fps=20_000_000, duration_s=0.1))
    assert assess(result, TrialPolicy()).validity != "valid"


def test_a_load_above_the_line_rate_that_it_makes_up_is_tried_and_found_slow(tester, wire):
    result = tester.run(replace(SPEC, frame_octets=1518, load_fps=2_500_000, duration_s=0.1))
    assert result.fault is None
    assert assess(result, TrialPolicy()).validity == "sent_short"


def test_what_it_cannot_send_is_refused(tester, wire):
    for changes in ({"frame_octets": 64, "vlan_id": 7}, {"frame_octets": 1519}, {"flows": 20_000}):
        with pytest.raises(ConfigError, match="TREX-16"):
            tester.run(replace(SPEC, **changes))


def test_ports_of_somebody_else_are_refused(tester, wire, tmp_path):
    other = config(tmp_path, mode="attach", user="somebody")
    inside = threading.Event()
    said = []

    def second():
        from bmwg.drivers.nodes.netns import within

        def act():
            with pytest.raises(TestbedError, match="TREX-11") as raised, TrexTraffic(other) as late:
                late.attach(wire)
            said.append(str(raised.value))

        within(wire[0].netns, act)
        inside.set()

    thread = threading.Thread(target=second)
    thread.start()
    thread.join(60)
    assert inside.is_set()
    assert "already taken by 'bmwg'" in said[0]
    whole(undisturbed(tester, SPEC))  # and the first run goes on


def test_a_server_that_dies_in_a_trial_is_noticed_within_three_seconds(tmp_path):
    with single() as ports, TrexTraffic(config(tmp_path)) as tester:
        tester.attach(ports)
        killed = []

        def kill():
            killed.append(time.monotonic())
            os.kill(tester.server_pid, signal.SIGKILL)

        threading.Timer(1.0, kill).start()
        result = tester.run(replace(SPEC, duration_s=20.0))
        assert time.monotonic() - killed[0] < 3.0
        assert result.fault is not None
        assert result.sent_frames == 0


def test_no_server_is_named(tmp_path):
    options = {"mode": "attach", "sync_port": 1, "reply_s": 0.5}
    with (
        single() as ports,
        TrexTraffic(config(tmp_path, **options)) as tester,
        pytest.raises(TestbedError, match="TREX-12"),
    ):
        tester.attach(ports)


def test_what_a_server_says_is_recorded_and_replays_to_the_same_counts(tmp_path):
    kept = Path(os.environ.get("BMWG_TREX_TRANSCRIPT", tmp_path / "transcript.jsonl"))
    with single() as ports, kept.open("w", encoding="utf-8") as transcript, ExitStack() as stack:
        settings = config(tmp_path)
        server = Server(settings, ports)
        stack.callback(server.stop)
        log = stack.enter_context((tmp_path / "client.log").open("ab"))
        client = Recorder(start_client(settings, ports[0].netns, log), transcript)
        stack.callback(client.close)
        found = walk(client, settings, ports, server=server)
    for name, sent in found.trials.items():
        ways = 2 if TRIALS[name].direction is Direction.BOTH else 1
        groups = sent.reading.groups
        assert sum(group.sent for group in groups) == TRIALS[name].intended_frames * ways, name
        assert all(group.received == group.sent == group.latency.frames for group in groups), name
    replay = Replay(iter(kept.read_text(encoding="utf-8").splitlines()))
    assert walk(replay, settings, ports, sleep=lambda _: None) == found
    assert replay.left == 0


@contextmanager
def routed(rate_kbit=None):
    """A namespace that routes between the two ports; with `rate_kbit` a policer on its way to port 1."""
    with bed.namespace("t") as space, bed.namespace("d") as dut:
        bed.inside(space, "ip", "link", "set", "lo", "up")
        bed.inside(dut, "sysctl", "-qw", "net.ipv4.ip_forward=1")
        for side in (0, 1):
            bed.veth((space, f"p{side}"), (dut, f"d{side}"))
            bed.inside(dut, "ip", "addr", "add", f"198.18.{side}.1/24", "dev", f"d{side}")
        if rate_kbit:
            limits = ["rate", f"{rate_kbit}kbit", "burst", "3000", "limit", "3000"]  # fifty frames of 64
            bed.inside(dut, "tc", "qdisc", "add", "dev", "d1", "root", "tbf", *limits)
        yield tuple(
            bed.port(side, space, f"p{side}", "af_packet", gateway_ipv4=f"198.18.{side}.1") for side in (0, 1)
        )


def test_a_router_between_the_ports_is_found_by_arp_and_carries_every_frame(tmp_path):
    with routed() as ports, TrexTraffic(config(tmp_path)) as tester:
        tester.attach(ports)
        tester.learn(SPEC)
        for direction in Direction:
            whole(undisturbed(tester, replace(SPEC, direction=direction)))
        whole(undisturbed(tester, replace(SPEC, duration_s=12.0), tries=1))  # the neighbour is asked again


def test_loss_of_a_policer_is_that_of_its_rate(tmp_path):
    with routed(rate_kbit=960) as ports, TrexTraffic(config(tmp_path)) as tester:  # 2,000 frames/s of 480 bit
        tester.attach(ports)
        tester.learn(SPEC)
        whole(valid(tester, replace(SPEC, load_fps=1_000, duration_s=1.0)))
        stream = valid(tester, replace(SPEC, load_fps=4_000, duration_s=1.0)).streams[0]
        assert stream.sent_frames == 4_000
        assert 2_000 <= stream.received_frames <= 2_000 + 2 * 50 + 40  # bucket, queue, two per cent
        assert stream.tester_dropped_frames == 0


def test_a_link_that_goes_down_is_loss_or_a_fault_and_the_next_trial_is_whole(tmp_path):
    with single() as ports, TrexTraffic(config(tmp_path)) as tester:
        tester.attach(ports)
        tester.learn(SPEC)
        space = Path(ports[0].netns).name
        down = threading.Timer(1.0, bed.inside, (space, "ip", "link", "set", "p1", "down"))
        down.start()
        result = tester.run(replace(SPEC, duration_s=2.0))
        down.join()
        assert result.fault or result.received_frames < result.streams[0].intended_frames
        verdict = assess(result, TrialPolicy())
        assert verdict.validity != "valid" or result.lost_frames > 0
        bed.inside(space, "ip", "link", "set", "p1", "up")
        time.sleep(0.5)
        whole(undisturbed(tester, SPEC))


def test_letting_go_twice_is_letting_go_once(tmp_path):
    with single() as ports, TrexTraffic(config(tmp_path)) as tester:
        tester.attach(ports)
        first = tester.server_pid
        tester.detach()
        tester.detach()
        assert tester.server_pid is None
        tester.attach(ports)
        assert tester.server_pid != first
        whole(undisturbed(tester, SPEC))
        second = tester.server_pid
    tester.__exit__(None, None, None)
    assert not Path(f"/proc/{first}").exists()
    assert not Path(f"/proc/{second}").exists()


def test_a_client_of_another_release_is_refused_by_its_version(tmp_path):
    other = tmp_path / "other"
    shutil.copytree(Path(FOLDER) / CLIENT, other / CLIENT)
    for part in ("external_libs", "_t-rex-64", "so", "stl", "cap2"):
        (other / part).symlink_to(Path(FOLDER) / part)
    source = other / CLIENT / "trex/stl/trex_stl_client.py"
    stated = source.read_text(encoding="utf-8")
    assert "'major': 5" in stated
    source.write_text(stated.replace("'major': 5", "'major': 4"), encoding="utf-8")
    with single() as ports:
        settings = replace(config(tmp_path), folder=other)
        with pytest.raises(TestbedError, match="TREX-13"), TrexTraffic(settings) as tester:
            tester.attach(ports)
