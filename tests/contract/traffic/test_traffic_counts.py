"""What every traffic driver owes: counts that hold together, on each frame size, format and direction."""

import dataclasses
from contextlib import nullcontext
from pathlib import Path

import pytest
import tester_bed as bed
from tests.needs import real_time_allowed

from bmwg.drivers.api.protocols import TesterPort, TrafficDriver
from bmwg.drivers.traffic.simulated import SimulatedConfig, SimulatedTraffic
from bmwg.methodology.errors import ConfigError, DriverError
from bmwg.methodology.records import RESIDUAL_WAIT, Direction, FrameFormat, TrialSpec

pytestmark = pytest.mark.quiet

LOAD_FPS = 20_000
ENDS_ALONE = ("af_packet", "2 vhost", "2 af_packet")  # carry what the programs of other port kinds make too


def spec(**changes):
    return TrialSpec(**({"frame_octets": 64, "load_fps": LOAD_FPS, "duration_s": 0.25} | changes))


def lanes_bed(kind, run_dir):
    if kind == "af_packet":
        return bed.direct(kind)
    device = "plain" if kind == "ring" else str(run_dir / "lanes.sock")
    return nullcontext(bed.linked(kind, (device, device)))


@pytest.fixture(scope="module")
def simulated():
    with SimulatedTraffic(SimulatedConfig()) as driver:
        ports = tuple(TesterPort(name=f"p{side}", io="none", device=f"p{side}") for side in (0, 1))
        driver.attach(ports)
        yield driver


@pytest.fixture(
    scope="module", params=["simulated", "xdp", "af_xdp", "af_packet", "2 ring", "2 vhost", "2 af_packet"]
)
def driver(request, run_dir):
    """Every driver, attached; the embedded one on its port kinds, with one lane and with two.

    The tests of one stand together. The last one is attached until the module ends, and has a tester of its
    own: that of one lane is free then.
    """
    if request.param == "simulated":
        yield request.getfixturevalue("simulated")
        return
    if request.param.startswith("2 "):
        running = request.getfixturevalue("two_lanes")
        with lanes_bed(request.param[2:], run_dir) as ports:
            running.attach(ports)
            yield running
            running.detach()
        return
    running = request.getfixturevalue("tester")
    with bed.direct(request.param) as ports:
        running.attach(ports)
        yield running
        running.detach()


def undisturbed(driver, wanted, attempts=20):
    """A trial in which the tester itself was not stalled at its end; whatever it lost stands."""
    for _ in range(attempts):
        result = driver.run(wanted)
        if all(stream.sent_frames == stream.intended_frames for stream in result.streams):
            return result
    pytest.fail(f"the machine was too busy to offer {wanted} in {attempts} trials")


def whole_and_clean(result, directions=1):
    assert result.fault is None
    assert len(result.streams) == directions
    for stream in result.streams:
        assert stream.sent_frames == stream.intended_frames == result.spec.intended_frames
        assert stream.received_frames == stream.sent_frames, result.auxiliary
        assert stream.latency.frames == stream.received_frames
        assert stream.duplicate_frames == stream.reordered_frames == stream.corrupt_frames == 0
        histogram = stream.latency
        assert histogram.min_ns * histogram.frames <= histogram.sum_ns <= histogram.max_ns * histogram.frames
        assert histogram.buckets[0][0] <= histogram.min_ns <= histogram.buckets[0][1]
        assert histogram.buckets[-1][0] <= histogram.max_ns <= histogram.buckets[-1][1]


def test_driver_has_the_protocol(driver):
    assert isinstance(driver, TrafficDriver)
    description = driver.describe()
    assert description["simulated"] is (description["driver"] == "simulated")


@pytest.mark.parametrize("direction", list(Direction))
def test_directions(driver, direction):
    driver.learn(spec())
    result = undisturbed(driver, spec(direction=direction))
    whole_and_clean(result, 2 if direction is Direction.BOTH else 1)
    assert result.sent_frames == result.received_frames


def test_frame_sizes(driver, request):
    """Each size where frames are made by a program of its own: model, kernel, DPDK with one lane, with two.

    Other port kinds carry what the same programs make: the least size, an odd one and the largest.
    """
    ends_alone = request.node.callspec.params["driver"] in ENDS_ALONE
    for octets in (64, 65, 1518) if ends_alone else (64, 65, 128, 132, 133, 256, 512, 1024, 1280, 1518):
        whole_and_clean(undisturbed(driver, spec(frame_octets=octets, duration_s=0.1)))


def test_formats(driver, request):
    """Each format with and without a tag where a program makes its own frames, as for sizes.

    Other port kinds carry each format, and frames with a tag and without one.
    """
    shapes = [(one, tag) for one in FrameFormat for tag in (None, 100)]
    if request.node.callspec.params["driver"] in ENDS_ALONE:
        shapes = [(one, 100 if number % 2 else None) for number, one in enumerate(FrameFormat)]
    for frame_format, vlan_id in shapes:
        octets = 84 if frame_format is FrameFormat.IPV6_UDP else 64
        wanted = spec(
            frame_octets=octets,
            frame_format=frame_format,
            vlan_id=vlan_id,
            direction=Direction.BOTH,
            duration_s=0.1,
        )
        whole_and_clean(undisturbed(driver, wanted), 2)


def test_flows(driver):
    whole_and_clean(undisturbed(driver, spec(flows=256, frame_octets=128)))


def test_effective_duration_and_pace(wire, tester):
    result = undisturbed(tester, spec(load_fps=10_000, duration_s=0.5))
    whole_and_clean(result)
    stream = result.streams[0]
    gap_ns = max(stream.largest_lateness_ns, 1_000_000)
    assert abs(stream.effective_duration_ns - 4_999 * 100_000) <= gap_ns


def test_nothing_attached_is_said(run_dir, tester):
    with pytest.raises(DriverError, match="TST-15"):
        tester.run(spec())


TOO_LARGE_OR_SMALL = (
    {"frame_octets": 1519},
    {"frame_octets": 9216},
    {"frame_octets": 79, "frame_format": FrameFormat.IPV6_UDP},
    {"frame_octets": 83, "frame_format": FrameFormat.IPV6_UDP, "vlan_id": 7},
)


def test_frame_size_refused_by_name(wire, tester):
    def sent_packets():
        lines = bed.inside(Path(wire[0].netns).name, "cat", "/proc/net/dev").splitlines()
        return next(int(line.split()[10]) for line in lines if line.strip().startswith(f"{wire[0].device}:"))

    before = sent_packets()
    for changes in TOO_LARGE_OR_SMALL:
        with pytest.raises(ConfigError, match="TST-16") as raised:
            tester.run(spec(**changes))
        assert str(changes["frame_octets"]) in str(raised.value)
        assert sent_packets() == before  # the refused trial sent nothing


def test_flows_refused_by_name(wire, tester):
    for changes in ({"flows": 64 * 16_352 + 1}, {"flows": 2, "frame_format": FrameFormat.ETHERNET}):
        with pytest.raises(ConfigError, match="TST-17"):
            tester.run(spec(**changes))


def test_simulated_is_deterministic_and_knows_its_knee():
    def answers():
        with SimulatedTraffic(SimulatedConfig(knee_fps=50_000, random_loss_ratio=1e-3, seed=7)) as driver:
            driver.attach(tuple(TesterPort(name=f"p{side}", io="none", device="x") for side in (0, 1)))
            return [driver.run(spec(load_fps=load, duration_s=1.0)) for load in (40_000, 60_000, 100_000)]

    first, second = answers(), answers()
    assert first == second
    assert 0 < first[0].lost_frames < 200
    assert first[2].loss_ratio == pytest.approx(0.5, abs=0.01)


def test_largest_frames_on_a_jumbo_wire(tester):
    with bed.direct("af_packet", mtu=9198) as ports:
        limits = tester.attach(ports)
        assert limits.max_frame_octets == 9216
        for octets in (64, 1900, 1901, 9216):
            whole_and_clean(undisturbed(tester, spec(frame_octets=octets, load_fps=2_000, duration_s=0.1)))
        tester.detach()


@pytest.mark.parametrize("kind", ["xdp", "af_xdp"])
def test_two_addresses_families_needed(tester, kind):
    with bed.direct(kind) as ports:
        tester.attach(tuple(dataclasses.replace(port, ipv6=None) for port in ports))
        with pytest.raises(ConfigError, match="TST-17"):
            tester.run(spec(frame_octets=128, frame_format=FrameFormat.IPV6_UDP))
        tester.detach()


@pytest.mark.parametrize("kind", ["xdp", "af_xdp"])
def test_short_trials_have_real_time_priority_and_long_ones_do_not(tester, kind):
    """The kernel holds real-time threads back once a second: a long trial would be stalled by it."""
    with bed.direct(kind) as ports:
        tester.attach(ports)
        taken = [
            dict(tester.run(spec(load_fps=1_000, duration_s=seconds)).auxiliary)["tester_real_time"]
            for seconds in (0.2, 1.0, 0.2)
        ]
    assert taken == ([1, 0, 1] if real_time_allowed() else [0, 0, 0])


def test_the_embedded_tester_tells_how_long_it_went_on_receiving(tester):
    with bed.direct("af_packet") as ports:
        tester.attach(ports)
        told = dict(tester.run(spec()).auxiliary)[RESIDUAL_WAIT]
        tester.detach()
    assert told >= round(tester.config.drain_quiet_s * 1e9)
