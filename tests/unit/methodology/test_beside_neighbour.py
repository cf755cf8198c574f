"""Throughput beside a neighbour (LTD 3.2.2.6.1, 3.2.2.3.2), against a device that it costs its CPU."""

from dataclasses import dataclass, replace
from types import SimpleNamespace

import pytest
from vsperf_device import SEARCHING, Device, ask, cell

from bmwg.methodology.benchmarks import beside_neighbour
from bmwg.methodology.cells import axes, neighbours
from bmwg.methodology.measurements.registry import measurement
from bmwg.methodology.profiles import load_profile
from bmwg.methodology.records import OutcomeType, Validity
from bmwg.reports.verify.places import beside_what_is_named

SWITCH = replace(cell("switch"), hosting="baremetal", function="ovs-netdev", network="none")
NS = 1_000_000_000


def beside(name):
    return replace(SWITCH, axes=((neighbours.AXIS, name),))


@dataclass(kw_only=True)
class Shared(Device):
    """Carries 100,000 frames/s alone and 60,000 beside a neighbour, which has a quarter of two CPUs."""

    name: str
    idle: bool = False

    def trial(self, spec, phase):
        alone = self.name == neighbours.ALONE
        self.rate_fps = 100_000 if alone else 60_000
        judged = super().trial(spec, phase)
        took_ns = int(spec.duration_s * NS)
        counts = {
            neighbours.WORK: 1000,
            neighbours.WORK_NS: took_ns,
            neighbours.BEFORE: 500,
            neighbours.BEFORE_NS: NS,
            neighbours.CPU_NS: 0 if self.idle else took_ns // 2,
            neighbours.CPUS: 2,
        }
        told = () if alone else tuple(sorted(counts.items()))
        self.trials[-1] = replace(judged, result=replace(judged.result, auxiliary=told))
        return self.trials[-1]


@pytest.mark.parametrize(
    ("test", "name", "truth_fps"),
    [
        ("stress", "none", 100_000),
        ("stress", "cpu-on-dut", 60_000),
        ("stress", "memory-on-others", 60_000),
        ("memory_bandwidth", "none", 100_000),
        ("memory_bandwidth", "memory-on-dut", 60_000),
    ],
)
@pytest.mark.parametrize("profile", SEARCHING)
def test_the_throughput_alone_and_beside_a_neighbour_is_found(test, name, truth_fps, profile):
    asked = {"wanted": beside(name), "throughput_fps": None, "profile": profile}
    outcome, told = ask(Shared(name=name), test, **asked)
    assert outcome.type is OutcomeType.MEASURED
    assert outcome.metric == measurement(test).metric + SEARCHING[profile]
    assert 0.96 * truth_fps <= told[outcome.metric] <= truth_fps < outcome.upper.load_fps
    assert outcome.requirements[0] in ("LTD-3.2.2.6.1", "LTD-3.2.2.3.2-01")
    said = " ".join(outcome.quality)
    assert ("had 25% to 25% of its CPUs" in said) == (name != "none")
    assert ("GB/s" in said) == name.startswith("memory")


def test_a_neighbour_that_had_no_cpu_time_leaves_no_number():
    device = Shared(name="cpu-on-dut", idle=True)
    outcome, told = ask(device, "stress", wanted=beside("cpu-on-dut"), throughput_fps=None)
    assert outcome.type is OutcomeType.INVALID
    assert not told
    assert outcome.lower is outcome.upper is None
    assert "had no CPU time" in outcome.reason
    outcome, _ = ask(Shared(name="none"), "stress", wanted=beside("none"), throughput_fps=None)
    assert outcome.type is OutcomeType.MEASURED


def test_trials_that_were_set_aside_need_no_neighbour():
    class Sometimes(Shared):
        def trial(self, spec, phase):
            self.idle = len(self.trials) % 2 == 0
            return super().trial(spec, phase)

    def every_other(spec):
        return Validity.TESTER_STALLED if len(device.trials) % 2 == 0 else Validity.VALID

    device = Sometimes(name="cpu-on-dut", validity=every_other)
    outcome, _ = ask(device, "stress", wanted=beside("cpu-on-dut"), throughput_fps=None)
    assert outcome.type is OutcomeType.MEASURED


def test_a_cell_must_say_whether_it_has_a_neighbour_and_which():
    profile = load_profile("vsperf")
    assert not measurement("stress").applies(profile, SWITCH)
    assert not measurement("memory_bandwidth").applies(profile, beside("cpu-on-dut"))
    assert not measurement("stress").applies(profile, replace(beside("none"), path="wire"))
    for other in ("flow_changes_8_0", "flow_scale"):
        assert not measurement(other).applies(profile, beside("none"))
    for one in beside_neighbour.EACH:
        assert measurement(one.name).metric == one.metric


@pytest.mark.parametrize("name", ["disk-on-dut", "cpu-on-tester", "cpu", "cpu-on-", "", 3])
def test_a_neighbour_that_frames_do_not_have_is_refused(name):
    (found,) = axes.contradictions({neighbours.AXIS: ["none", name]}, ())
    assert found[0] == (neighbours.AXIS, 1)
    assert list(axes.contradictions({neighbours.AXIS: ["none", "cpu-on-others"]}, ())) == []


def test_bandwidth_is_what_was_read_and_written():
    counts = {neighbours.WORK: 1000, neighbours.WORK_NS: 2 * NS}
    assert neighbours.bandwidth_bps(counts) == 1000 * 2 * 2**20 * 8 / 2
    assert neighbours.bandwidth_bps({}) is None


def evidence(name, auxiliary, fault=False):
    trial = SimpleNamespace(
        cell_id=beside(name).cell_id,
        fault=fault,
        trial=SimpleNamespace(seq=1, result=SimpleNamespace(auxiliary=auxiliary)),
    )
    return SimpleNamespace(
        plan=[SimpleNamespace(cell=beside(name))], outcomes=[], executions=[], trials=[trial]
    )


def test_a_trial_without_its_neighbours_work_or_with_one_that_no_cell_names_is_found():
    every = tuple((count, 1) for count in neighbours.FRAMES_COUNTS)
    assert list(beside_what_is_named.check(evidence("none", ()))) == []
    assert list(beside_what_is_named.check(evidence("cpu-on-dut", every))) == []
    assert list(beside_what_is_named.check(evidence("cpu-on-dut", (), fault=True))) == []
    assert len(list(beside_what_is_named.check(evidence("cpu-on-dut", every[1:])))) == 1
    assert len(list(beside_what_is_named.check(evidence("none", every[:1])))) == 1
