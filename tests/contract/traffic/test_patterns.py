"""Trials between more ports than two: known truths on rings and behind a learning bridge."""

import pytest
import tester_bed as bed
from tests.contract.traffic.mesh_trials import (
    BLOCKING,
    MANY_TO_ONE,
    MESH,
    ONE_TO_MANY,
    PATTERNS,
    agrees,
    first,
    trial,
)
from tests.contract.trials_support import whole

from bmwg.drivers.traffic.embedded.driver import EmbeddedConfig, EmbeddedTraffic
from bmwg.drivers.traffic.embedded.lanes import DESCRIPTORS, memory_for
from bmwg.drivers.traffic.embedded.protocol import RefusalError
from bmwg.methodology.benchmarks import broadcast_latency
from bmwg.methodology.errors import ConfigError
from bmwg.methodology.records import BAREMETAL, NOTHING, Cell, Direction, FrameFormat, TrialSpec
from bmwg.methodology.trial.capabilities import LackingError
from bmwg.methodology.trial.judging import JudgedTrial, TrialPolicy, assess
from bmwg.methodology.trial.pattern import FIRST_SENT, PHASE_SEED, Pattern, between, full_mesh

pytestmark = pytest.mark.quiet


@pytest.fixture(scope="module")
def four(run_dir):
    """One tester process with memory for eight ports."""
    config = EmbeddedConfig(run_dir=run_dir, memory_mib=memory_for(1, DESCRIPTORS, 8), drain_quiet_s=0.2)
    with EmbeddedTraffic(config) as running:
        yield running


@pytest.mark.parametrize("name", PATTERNS)
def test_rings_bring_frames_to_the_wrong_ports_and_each_is_known(four, name):
    """0 and 1, 2 and 3 are joined: a frame that is for another port comes to the one that is joined."""
    pattern, joined = PATTERNS[name], (1, 0, 3, 2)
    ports = bed.ringed(("plain",) * 4)
    four.attach(ports)
    result = four.run(trial(pattern))
    four.detach()
    assert result.fault is None
    told = dict(result.auxiliary)
    sent = [told[f"{port.name}.sent_frames"] for port in ports]
    for port, stream in enumerate(result.streams):
        other = joined[port]
        alone = [sent[one] if one == other else 0 for one in range(4)]
        wanted = pattern.meant_for(port, alone)
        assert stream.sent_frames == pattern.meant_for(port, sent)
        assert stream.received_frames == wanted
        assert stream.flooded_frames == (sent[other] - wanted if pattern.to[other] else 0)
        assert stream.corrupt_frames == stream.foreign_frames == stream.duplicate_frames == 0
        assert stream.latency.frames == stream.received_frames
    assert sum(sent) > 0


@pytest.mark.parametrize("every", [1, 100])
def test_rings_that_lose_lose_exactly_so_many(four, every):
    ports = bed.ringed((f"drop={every}",) * 2)
    four.attach(ports)
    result = four.run(trial(Pattern(to=((1,), (0,))), load_fps=100_000))
    four.detach()
    for stream in result.streams:
        assert stream.lost_frames == stream.sent_frames // every
        assert stream.flooded_frames == 0


def test_a_late_frame_is_reordered(four):
    ports = bed.ringed(("late=7",) * 2)
    four.attach(ports)
    stream = four.run(trial(Pattern(to=((1,), ())))).streams[1]
    four.detach()
    after, waits = 0, False  # of every seven frames the last goes after the one behind it
    for number in range(1, stream.sent_frames + 1):
        after, waits = (after + 1, False) if waits else (after, number % 7 == 0)
    assert (stream.reordered_frames, stream.lost_frames) == (after, int(waits))


def test_one_broadcast_frame_has_a_latency_at_each_port(four):
    """One copy comes to each of three ports, and takes no longer than the trial was listened to."""
    axes = (("pattern", "broadcast-4"),)
    cell = Cell(
        path="switch",
        hosting=BAREMETAL,
        function="linux-bridge",
        network=NOTHING,
        frame_octets=64,
        axes=axes,
    )
    spec = broadcast_latency.BroadcastLatencyGoal(cell=cell).spec()
    with bed.switch("af_packet", 4) as (ports, _):
        four.attach(ports)
        four.learn(spec)
        result = whole(four, spec)
        four.detach()
    agrees(result, ports)
    judged = JudgedTrial(seq=1, result=result, validity=assess(result, TrialPolicy()).validity)
    assert judged.valid
    assert broadcast_latency.contradiction(judged) == ""
    took = broadcast_latency.latencies_ns(judged)
    assert set(took) == {1, 2, 3}
    assert all(0 < one < result.wall_time_ns for one in took.values())


@pytest.mark.parametrize(("io", "name"), [*(("af_packet", name) for name in PATTERNS), ("af_xdp", "mesh")])
def test_a_learning_bridge_brings_every_frame_to_its_port(four, io, name):
    pattern = PATTERNS[name]
    with bed.switch(io, 4) as (ports, _):
        four.attach(ports)
        spec = trial(pattern, load_fps=5_000)
        four.learn(spec)
        result = whole(four, spec)
        four.detach()
    assert result.fault is None
    told = agrees(result, ports)
    sent = [told[f"{port.name}.sent_frames"] for port in ports]
    for port, stream in enumerate(result.streams):
        assert stream.received_frames == stream.sent_frames == pattern.meant_for(port, sent)
        assert stream.flooded_frames == stream.duplicate_frames == stream.corrupt_frames == 0
    if all(one.sent_frames == one.intended_frames for one in result.streams):
        assert assess(result, TrialPolicy(max_stall_ns=10**9)).validity == "valid"


def test_each_sender_tells_when_it_began_and_no_listener_does(four):
    """Frame 0 is due within one interval of the trial's start, in each sender's own rhythm (ADR 0563)."""
    ports = bed.ringed(("plain",) * 4)
    four.attach(ports)
    result = four.run(trial(MANY_TO_ONE, load_fps=1_000))
    four.detach()
    told = dict(result.auxiliary)
    began = [told.get(f"{port.name}{FIRST_SENT}") for port in ports]
    assert began[3] is None
    assert min(began[:3]) >= 0
    assert len(set(began[:3])) == 3  # three rhythms


@pytest.mark.parametrize("name", ["mesh", "many to one", "broadcast"])
def test_bursts_of_a_pattern_are_whole_and_all_come(four, name):
    """8 bursts of 16 frames of each sender, 100,000 frames/s within a burst, 4,000 in the mean."""
    pattern = PATTERNS[name]
    with bed.switch("af_packet", 4) as (ports, _):
        four.attach(ports)
        spec = trial(pattern, load_fps=4_000, duration_s=0.032, burst_frames=16, burst_fps=100_000)
        four.learn(spec)
        result = whole(four, spec)
        four.detach()
    assert result.fault is None
    assert spec.bursts == 8
    told = agrees(result, ports)
    sent = [told[f"{port.name}.sent_frames"] for port in ports]
    assert [sent[port] for port in pattern.senders] == [128] * len(pattern.senders)
    for port, stream in enumerate(result.streams):
        assert stream.received_frames == stream.sent_frames == pattern.meant_for(port, sent)
        if not pattern.senders_to(port):
            assert stream.bursts is None
            continue
        assert stream.bursts.bursts == 8
        assert stream.bursts.intervals_ns > 7 * 1_000_000  # 4 ms from begin to begin, 0.15 ms of it sending


@pytest.mark.parametrize("step", [1, 4_097])
def test_numbered_addresses_are_a_step_apart(run_dir, step):
    config = EmbeddedConfig(
        run_dir=run_dir, memory_mib=memory_for(1, DESCRIPTORS, 4), drain_quiet_s=0.2, mac_step=step
    )
    with EmbeddedTraffic(config) as running, bed.switch("af_packet", 4) as (ports, dut):
        running.attach(ports)
        pattern = Pattern(to=((1,), (), (), ()), sources=50, unprepared=True)
        whole(running, trial(pattern, load_fps=1_000, duration_s=0.05))
        told = running.describe()["patterns"]
        numbers = [number * step for number in range(50)]
        wanted = {f"02:b6:00:{n >> 16 & 255:02x}:{n >> 8 & 255:02x}:{n & 255:02x}" for n in numbers}
        known = bed.inside(dut, "bridge", "fdb", "show", "br", "br")
        running.detach()
    found = {line.split()[0] for line in known.splitlines() if line.startswith("02:b6:00")}
    assert found == wanted
    assert str(told["mac_format"]).endswith(f"times {step}")


def test_a_broadcast_frame_comes_to_all_others_once(four):
    every = Pattern(to=between(range(4), range(4), ports=4), broadcast=True)
    with bed.switch("af_packet", 4) as (ports, _):
        four.attach(ports)
        result = whole(four, trial(every, load_fps=2_000))
        four.detach()
    told = agrees(result, ports)
    sent = sum(told[f"{port.name}.sent_frames"] for port in ports)
    assert sum(stream.received_frames for stream in result.streams) == 3 * sent > 0
    assert all(stream.duplicate_frames == 0 for stream in result.streams)


def test_a_bridge_that_learned_nothing_floods_to_every_port(four):
    """Frames to one port whose address nobody told: two other ports get each of them."""
    pattern = Pattern(to=((1,), (), (), ()))
    with bed.switch("af_packet", 4) as (ports, _):
        four.attach(ports)
        result = whole(four, trial(pattern))
        four.detach()
    agrees(result, ports)
    sent = result.streams[1].sent_frames
    assert [stream.received_frames for stream in result.streams] == [0, sent, 0, 0]
    assert [stream.flooded_frames for stream in result.streams] == [0, 0, sent, sent]


def test_only_addresses_that_were_told_are_known(four):
    """Port 1 sends from 40 addresses; of frames to 100 of its addresses those to the other 60 are flooded."""
    with bed.switch("af_packet", 3) as (ports, dut):
        four.attach(ports)
        told = whole(four, trial(Pattern(to=((), (0,), ()), sources=40), load_fps=400, duration_s=0.1))
        assert told.streams[0].sent_frames == 40
        asked = trial(Pattern(to=((1,), (), ()), destinations=100), load_fps=10_000, duration_s=0.1)
        result = whole(four, asked)
        four.detach()
        known = bed.inside(dut, "bridge", "fdb", "show", "br", "br")
    sent = result.streams[1].sent_frames
    assert sent == 1000
    assert result.streams[1].received_frames == sent
    assert result.streams[2].flooded_frames == sent * 60 // 100
    assert known.count("02:b6:01:") == 40


def test_learning_tells_every_address_of_a_pattern(four):
    spec = trial(Pattern(to=((1, 2), (), ()), sources=50, destinations=200))
    with bed.switch("af_packet", 3) as (ports, _):
        four.attach(ports)
        four.learn(spec)
        result = whole(four, spec)
        four.detach()
    assert [stream.flooded_frames for stream in result.streams] == [0, 0, 0]
    assert all(stream.lost_frames == 0 for stream in result.streams)


def test_formats_flows_and_tags_of_a_mesh(four):
    shapes = [(frame_format, 1) for frame_format in FrameFormat] + [(FrameFormat.IPV4_UDP, 8)]
    with bed.switch("af_packet", 3) as (ports, _):
        four.attach(ports)
        for frame_format, flows in shapes:
            spec = trial(
                full_mesh(3),
                load_fps=3_000,
                duration_s=0.1,
                frame_octets=128,
                frame_format=frame_format,
                flows=flows,
                vlan_id=7,
            )
            four.learn(spec)
            result = whole(four, spec)
            assert all(stream.received_frames == stream.sent_frames > 0 for stream in result.streams)
            assert [(one.flooded_frames, one.foreign_frames) for one in result.streams] == [(0, 0)] * 3
        four.detach()


def test_two_ports_of_more_are_a_pair_as_ever(four):
    with bed.switch("af_packet", 3) as (ports, _):
        four.attach(ports)
        spec = TrialSpec(frame_octets=64, load_fps=5_000, duration_s=0.1, direction=Direction.BOTH)
        four.learn(spec)
        result = whole(four, spec)
        four.detach()
    assert len(result.streams) == 2
    assert all(stream.lost_frames == 0 for stream in result.streams)


@pytest.mark.slow
def test_eight_ports_in_a_mesh(four):
    with bed.switch("af_packet", 8) as (ports, _):
        four.attach(ports)
        spec = trial(full_mesh(8), load_fps=1_400, duration_s=0.1)
        four.learn(spec)
        result = whole(four, spec)
        four.detach()
    agrees(result, ports)
    assert len(result.streams) == 8
    assert all(stream.lost_frames == stream.flooded_frames == 0 for stream in result.streams)


def test_what_cannot_send_a_pattern_says_so(four, two_lanes):
    with bed.switch("xdp", 3) as (ports, _), pytest.raises(ConfigError, match="TST-28"):
        four.attach(ports)
    with bed.direct("xdp") as ports:
        four.attach(ports)
        with pytest.raises(LackingError, match="CAP-01"):
            four.run(trial(full_mesh(2)))
        four.detach()
    two_lanes.attach(bed.linked("ring", ("plain", "plain")))
    with pytest.raises(LackingError, match="CAP-01"):
        two_lanes.run(trial(full_mesh(2)))
    two_lanes.detach()
    four.attach(bed.ringed(("plain",) * 2))
    with pytest.raises(ConfigError, match="TST-17"):
        four.run(trial(MESH))
    four.detach()
    with pytest.raises(ConfigError, match="LOAD-01"):
        four.attach(bed.ringed(("plain",) * 4) + bed.ringed(("plain",) * 5))


@pytest.mark.parametrize(
    "wrong",
    [
        {"receivers": [[1]]},
        {"receivers": [[0], []]},
        {"receivers": [[1, 1], []]},
        {"receivers": [[2], []]},
        {"receivers": [[], []]},
        {"receivers": [["1"], []]},
        {"sources": 0},
        {"destinations": 2**21},
        {"seed": -1},
    ],
)
def test_the_tester_itself_refuses_what_no_pattern_is(four, wrong):
    four.attach(bed.ringed(("plain",) * 2))
    order = four._order(trial(Pattern(to=((1,), ()))), 10, 1000.0, Direction.FORWARD)
    order["pattern"] = order["pattern"] | wrong
    with pytest.raises(RefusalError, match="protocol"):
        four._process.request("trial", order, deadline_s=30.0)
    four.detach()


RATE_MBIT = 16
OCTETS = 512
POLICED_FPS = RATE_MBIT * 1_000_000 / 8 / (OCTETS - 4)  # the kernel counts a frame without its FCS
FORK = Pattern(to=((3,), (2, 3), (), ()))
FORKS = (FORK, BLOCKING)  # the port that sends to two is the later one, or the earlier one


def at(four, pattern, share, duration_s=2.0):
    """Run a trial at a share of what a policer lets through to each port; None: the tester was held up."""
    parts = sum(1 / len(pattern.to[sender]) for sender in pattern.senders_to(3))  # of a load, at port 3
    load_fps = round(share * POLICED_FPS / parts)
    spec = trial(pattern, load_fps=load_fps, duration_s=duration_s, frame_octets=OCTETS)
    four.learn(spec)
    result = four.run(spec)
    return result if all(one.sent_frames == one.intended_frames for one in result.streams) else None


def test_a_mesh_at_a_policed_rate_loses_nothing_below_and_something_above(four):
    """Known truth: the rate at each egress; within 0.5 % of it. A stall of the tester fills a queue."""
    with bed.switch("af_packet", 4) as (ports, dut):
        for side in range(4):
            bed.police(dut, f"s{side}", rate_mbit=RATE_MBIT, burst_octets=6_000, limit_octets=10_000)
        four.attach(ports)
        below = first(lambda: at(four, MESH, 0.995), lambda result: result.lost_frames == 0)
        above = first(lambda: at(four, MESH, 1.005, duration_s=4.0), bool)
        four.detach()
    if not below or not above:
        pytest.skip("needs CPUs that are not taken away")
    assert all(stream.lost_frames > 0 for stream in above.streams)


def test_where_each_egress_has_its_queue_a_busy_port_blocks_no_other(four):
    """RFC 2889 5.5: half of port 1's frames go where port 0 sends as well, and more than comes through."""
    with bed.switch("af_packet", 4) as (ports, dut):
        for side in (2, 3):
            bed.police(dut, f"s{side}", rate_mbit=RATE_MBIT, burst_octets=6_000, limit_octets=60_000)
        four.attach(ports)
        found = first(
            lambda: at(four, FORK, 1.5, duration_s=1.0), lambda result: result.streams[2].lost_frames == 0
        )
        four.detach()
    if not found:
        pytest.skip("needs CPUs that are not taken away")
    assert found.streams[3].lost_frames > 0.2 * found.streams[3].sent_frames


@pytest.mark.slow
@pytest.mark.parametrize("pattern", FORKS)
def test_where_one_queue_precedes_the_fork_a_busy_port_blocks_the_other(four, pattern):
    """Two bridges joined by one policed link: what waits for port 3 takes the room of what is for port 2."""
    with bed.switch("af_packet", 4) as (ports, dut):
        bed.inside(dut, "ip", "link", "add", "name", "far", "type", "bridge", "mcast_snooping", "0")
        bed.inside(dut, "ip", "link", "add", "x0", "type", "veth", "peer", "name", "x1")
        for name, master in (("x0", "br"), ("x1", "far"), ("s2", "far"), ("s3", "far")):
            bed.inside(dut, "ip", "link", "set", "dev", name, "master", master, "up")
        bed.inside(dut, "ip", "link", "set", "dev", "far", "up")
        bed.police(dut, "x0", rate_mbit=RATE_MBIT, burst_octets=6_000, limit_octets=60_000)
        four.attach(ports)
        found = first(lambda: at(four, pattern, 1.5, duration_s=1.0), bool)
        four.detach()
    if not found:
        pytest.skip("needs CPUs that are not taken away")
    assert found.streams[2].lost_frames > 0.1 * found.streams[2].sent_frames


def test_of_several_senders_each_trial_tells_by_what_their_rhythms_moved(four):
    four.attach(bed.ringed(("plain",) * 4))
    told = [dict(four.run(trial(pattern)).auxiliary) for pattern in (MESH, MESH, ONE_TO_MANY)]
    four.detach()
    assert told[0][PHASE_SEED] != told[1][PHASE_SEED]
    assert PHASE_SEED not in told[2]  # one sender's rhythm is even
