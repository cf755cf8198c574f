"""Frames of illegal size (RFC 2889 5.9), against switches of which each is known to filter or not."""

from dataclasses import dataclass, field, replace

import pytest

from bmwg.methodology.benchmarks import illegal_frames
from bmwg.methodology.measurements.measurement import Asked
from bmwg.methodology.measurements.registry import measurement
from bmwg.methodology.profiles import load_profile
from bmwg.methodology.records import (
    BAREMETAL,
    NOTHING,
    Cell,
    FrameFormat,
    OutcomeType,
    StreamCounts,
    TrialResult,
    Validity,
)
from bmwg.methodology.trial.capabilities import EVERYTHING, Capability, LackingError, refuse_beyond
from bmwg.methodology.trial.judging import JudgedTrial

OFFERED_FPS = 100_000


@dataclass
class Switch:
    """Forwards sizes from `least` to `most`; what it does with the others is counted as `way` says."""

    least: int = 64
    most: int = 1518
    way: str = "filtered"  # or received_frames, corrupt_frames, flooded_frames, returned
    egress_fps: int = 10**9
    dies_at: int = 10**9  # number of the first trial of which nothing comes
    trials: list[TrialResult] = field(default_factory=list)

    def run(self, spec):
        legal = self.least <= spec.frame_octets <= self.most
        sent = spec.intended_frames
        alive = len(self.trials) < self.dies_at
        passed = min(sent, int(self.egress_fps * spec.duration_s)) if alive else 0
        counts = {"received_frames": 0} | ({"received_frames": passed} if legal else {self.way: passed})
        returned = counts.pop("returned", 0)
        counts.pop("filtered", 0)
        stream = StreamCounts(intended_frames=sent, sent_frames=sent, **counts)
        self.trials.append(
            TrialResult(
                spec=spec,
                streams=(stream,) * spec.pattern.ports,
                wall_time_ns=1,
                auxiliary=(("p0.returned_frames", returned),),
            )
        )
        return self.trials[-1]


def asked(switch, pattern="undersize-4", octets=64, able=EVERYTHING, validity=None, **more):
    cell = Cell(
        path="switch",
        hosting=BAREMETAL,
        function="linux-bridge",
        network=NOTHING,
        frame_octets=octets,
        axes=(("pattern", pattern),),
        **more,
    )

    def take(spec, phase):
        legal = 64 <= spec.frame_octets <= 1518
        assert phase == (illegal_frames.LEGAL if legal else illegal_frames.ILLEGAL)
        said = validity(spec) if validity else Validity.VALID
        return JudgedTrial(seq=1 + len(switch.trials), result=switch.run(spec), validity=said)

    return Asked(
        profile=replace(load_profile("rfc2889-quick"), benchmarks={"illegal_frames": {"trial_s": 0.1}}),
        cell=cell,
        outcome_id="x",
        trial=take,
        max_load_fps=OFFERED_FPS,
        refuse=lambda spec: refuse_beyond(spec, able, "x"),
    )


def short_where(beyond):
    """Return what judges a trial: the tester sends less than asked for where `beyond` says so."""
    return lambda spec: Validity.SENT_SHORT if beyond(spec) else Validity.VALID


def answer(switch, *args, **more):
    (outcome,) = measurement("illegal_frames").measure(asked(switch, *args, **more)).outcomes
    assert outcome.trials == tuple(range(1, 1 + len(switch.trials)))
    return outcome, {one.metric: one.number for one in outcome.values}


SENT = 4 * 4 * (100 + 1_000)  # four ports, four sizes, 0.1 s at 1 and at 10 percent


def test_a_switch_that_filters_passes_and_every_size_is_sent_at_every_load():
    switch = Switch()
    outcome, told = answer(switch)
    assert outcome.type is OutcomeType.MEASURED
    assert told == {illegal_frames.METRIC: 0, illegal_frames.SENT: SENT, illegal_frames.CHANGED: 0}
    assert outcome.quality[0] == "pass: undersized frames are filtered"
    assert [(one.spec.load_fps, one.spec.frame_octets) for one in switch.trials] == [
        (load, octets) for load in (1_000, 10_000) for octets in (64, 60, 61, 62, 63, 64)
    ]
    assert outcome.requirements == ("RFC2889-5.9.2", "RFC2889-5.9.3-03")


@pytest.mark.parametrize("way", ["received_frames", "duplicate_frames", "corrupt_frames", "flooded_frames"])
def test_a_frame_that_comes_anywhere_in_any_form_is_forwarded(way):
    outcome, told = answer(Switch(way=way))
    assert told[illegal_frames.METRIC] == told[illegal_frames.SENT] == SENT
    assert told[illegal_frames.CHANGED] == (SENT if way == "corrupt_frames" else 0)
    assert outcome.quality[0] == "fail: undersized frames are forwarded"


def test_a_frame_that_comes_back_to_its_sender_is_forwarded_too():
    outcome, told = answer(Switch(way="returned"))
    assert told[illegal_frames.METRIC] == SENT // 4
    assert outcome.quality[0].startswith("fail")


def test_a_filter_that_begins_elsewhere_is_told_by_size():
    outcome, told = answer(Switch(least=62))
    assert told[illegal_frames.METRIC] == SENT // 2
    assert [one for one in outcome.quality if " octets: " in one] == [
        "60 octets: 0 came of 4400 sent",
        "61 octets: 0 came of 4400 sent",
        "62 octets: 4400 came of 4400 sent",
        "63 octets: 4400 came of 4400 sent",
    ]


def test_of_oversized_frames_the_size_of_the_cell_is_asked_about():
    switch = Switch()
    outcome, _ = answer(switch, "oversize-4", 1519)
    assert {one.spec.frame_octets for one in switch.trials} == {1518, 1519}
    assert outcome.quality[0] == "pass: oversized frames are filtered"
    assert outcome.requirements == ("RFC2889-5.9.2", "RFC2889-5.9.3-02")
    forwards, _ = answer(Switch(most=9_000), "oversize-4", 1519)
    assert forwards.quality[0].endswith("which RFC 2889 5.9.3 lets a switch do")


def test_where_legal_frames_are_lost_too_nothing_is_told_of_a_filter():
    outcome, told = answer(Switch(egress_fps=400))
    assert outcome.type is OutcomeType.UNSTABLE
    assert not told
    assert "legal size" in outcome.reason


@pytest.mark.parametrize(("dies_at", "told_of"), [(3, 0), (8, 1)])
def test_a_switch_that_stops_amid_illegal_frames_is_no_filter(dies_at, told_of):
    """It forwards them: where legal frames come no more, what did not come says nothing."""
    outcome, told = answer(Switch(way="received_frames", dies_at=dies_at))
    assert "pass" not in " ".join(outcome.quality)
    assert outcome.type is (OutcomeType.MEASURED if told_of else OutcomeType.UNSTABLE)
    assert told.get(illegal_frames.SENT, 0) == 4 * 4 * 100 * told_of


def test_a_load_at_which_legal_frames_are_lost_is_left_out_and_named():
    outcome, told = answer(Switch(egress_fps=4_000))
    assert told[illegal_frames.SENT] == 4 * 4 * 100
    assert "at 10000 frames/s a port lost most frames of legal size" in " ".join(outcome.quality)


def test_a_load_that_the_tester_cannot_send_is_left_out_and_named():
    outcome, told = answer(Switch(), validity=short_where(lambda spec: spec.load_fps >= 10_000))
    assert told[illegal_frames.SENT] == 4 * 4 * 100
    assert outcome.quality[-1] == "the tester could not send 10000 frames/s from each port"


def test_a_load_at_which_one_size_is_not_sent_tells_of_none():
    _, told = answer(
        Switch(), validity=short_where(lambda spec: (spec.load_fps, spec.frame_octets) == (10_000, 63))
    )
    assert told[illegal_frames.SENT] == 4 * 4 * 100


@pytest.mark.parametrize(
    ("validity", "kind"),
    [
        (Validity.TESTER_STALLED, OutcomeType.UNSTABLE),
        (Validity.FAULT, OutcomeType.INVALID),
        (Validity.SENT_SHORT, OutcomeType.TESTER_LIMITED),
    ],
)
def test_trials_that_are_never_valid_tell_of_no_filter(validity, kind):
    outcome, told = answer(Switch(), validity=lambda spec: validity)
    assert outcome.type is kind
    assert outcome.reason
    assert not told


def test_a_tester_that_sends_no_such_frames_sends_no_others_either():
    switch = Switch()
    answered = measurement("illegal_frames").measure(asked(switch, able=EVERYTHING - {Capability.UNDERSIZE}))
    assert isinstance(answered.error, LackingError)
    assert "frames below 64 octets" in str(answered.error)
    assert not switch.trials


@pytest.mark.parametrize(
    ("pattern", "octets", "more"),
    [
        ("oversize-4", 1518, {}),
        ("undersize-4", 1519, {}),
        ("undersize-4", 64, {"vlan_id": 7}),
        ("undersize-4", 128, {"frame_format": FrameFormat.IPV6_UDP}),
    ],
)
def test_a_cell_without_illegal_frames_is_not_assessed(pattern, octets, more):
    switch = Switch()
    outcome, _ = answer(switch, pattern, octets, **more)
    assert outcome.type is OutcomeType.NOT_ASSESSED
    assert outcome.reason
    assert not switch.trials
