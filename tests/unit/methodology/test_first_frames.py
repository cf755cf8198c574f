"""Latency of first frames of flows (LTD 3.2.2.2.1), against a switch whose table costs a known time."""

from dataclasses import dataclass, replace

import pytest
from vsperf_device import Device, ask, cell

from bmwg.methodology.benchmarks import first_frames
from bmwg.methodology.measurements.registry import measurement
from bmwg.methodology.profiles import load_profile
from bmwg.methodology.records import Direction, FrameFormat, OutcomeType

FLOWS, TIMED = 2_000, 512  # with an entry; of these in a trial
SWITCH = replace(cell("switch"), hosting="baremetal", function="ovs-netdev", network="none", flows=FLOWS)


@dataclass(kw_only=True)
class Table(Device):
    """A first frame takes 70,000 ns, another one 10,000 ns; `short_of` flows have no upcall."""

    short_of: int = 0
    more: int = 0
    failed: int = 0
    lossy: tuple[int, ...] = ()

    def trial(self, spec, phase):
        judged = super().trial(spec, phase)
        (stream,) = judged.result.streams
        tags = tuple(70_000 if frame < spec.flows else 10_000 for frame in spec.tag_frames)
        lost = int(len(self.trials) in self.lossy)
        stream = replace(
            stream,
            tagged_ns=tags,
            sent_frames=stream.sent_frames,
            received_frames=stream.received_frames - lost,
        )
        upcalls = spec.flows - self.short_of + self.more
        told = tuple(sorted({first_frames.UPCALLS: upcalls, first_frames.FAILED: self.failed}.items()))
        result = replace(judged.result, streams=(stream,), auxiliary=told)
        self.trials[-1] = replace(judged, result=result)
        return self.trials[-1]


def answer(device, **said):
    said = {"repetitions": 5, "load_fps": 4_000} | said
    return ask(device, "first_frames", wanted=SWITCH, throughput_fps=None, **said)


def test_first_and_later_frames_are_told_apart():
    """Known truth: 70 and 10 microseconds; each flow has two frames, first all first ones; all are timed."""
    device = Table()
    outcome, told = answer(device)
    assert outcome.type is OutcomeType.MEASURED
    assert told == {first_frames.METRIC: 70_000, first_frames.LATER: 10_000}
    assert outcome.requirements == ("LTD-3.2.2.2.1",)
    for trial in device.trials:
        assert trial.spec.modifier == f"first-frames-{FLOWS}"
        assert trial.spec.flows == TIMED
        assert trial.spec.tag_frames == tuple(range(2 * TIMED)) == tuple(range(trial.spec.intended_frames))


@pytest.mark.parametrize(
    ("device", "why"),
    [
        (Table(short_of=1), f"{TIMED - 1} upcalls for {TIMED} flows"),
        (Table(more=TIMED), f"{2 * TIMED} upcalls for {TIMED} flows"),
        (Table(failed=1), "1 upcalls failed"),
        (Table(lossy=(1, 2, 3)), "1 frames never came"),
    ],
)
def test_without_an_upcall_for_each_flow_there_is_no_number(device, why):
    outcome, told = answer(device)
    assert outcome.type is OutcomeType.UNSTABLE
    assert not told
    assert why in outcome.reason


def test_a_repetition_that_lost_a_frame_is_left_out_and_told():
    outcome, told = answer(Table(lossy=(1, 2)))
    assert told[first_frames.METRIC] == 70_000
    assert sum(said.startswith("left out") for said in outcome.quality) == 2
    assert answer(Table(more=TIMED // 50))[0].type is OutcomeType.MEASURED


def test_a_cell_of_few_flows_has_them_all_timed():
    device = Table()
    few = replace(SWITCH, flows=8)
    assert ask(device, "first_frames", wanted=few, throughput_fps=None)[0].type is OutcomeType.MEASURED
    assert {trial.spec.intended_frames for trial in device.trials} == {16}
    assert {trial.spec.tag_frames for trial in device.trials} == {tuple(range(16))}


def test_names_are_read_back_and_cells_need_a_table():
    assert first_frames.flows_of(first_frames.modifier(16_000)) == 16_000
    assert first_frames.flows_of("matched-flows-8") is None
    profile, kind = load_profile("vsperf"), measurement("first_frames")
    assert kind.applies(profile, SWITCH)
    for other in (
        replace(SWITCH, function="linux-bridge"),
        replace(SWITCH, direction=Direction.BOTH),
        replace(SWITCH, frame_format=FrameFormat.ETHERNET),
        replace(SWITCH, axes=(("pattern", "full-mesh-4"),)),
    ):
        assert not kind.applies(profile, other)
