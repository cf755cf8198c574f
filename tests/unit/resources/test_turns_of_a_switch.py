"""Trials of a turn: nothing goes before them; a new switch is told what an old one knew."""

from types import SimpleNamespace
from unittest.mock import MagicMock

import pytest

from bmwg.methodology.records import BAREMETAL, NOTHING, Cell, StreamCounts, TrialResult, TrialSpec
from bmwg.methodology.trial.judging import Learning, TrialPolicy
from bmwg.methodology.trial.pattern import Pattern, full_mesh
from bmwg.reports.store.frame_codec import spec_from_json, spec_to_json
from bmwg.resources.kinds.frames.frames_continued import Recorded
from bmwg.resources.kinds.frames.learning import LearningFrames
from bmwg.resources.kinds.frames.measure import CellMeasurement

CELL = Cell(path="switch", hosting=BAREMETAL, function="linux-bridge", network=NOTHING, frame_octets=64)
TEACH = TrialSpec(
    frame_octets=64,
    load_fps=100,
    duration_s=0.5,
    pattern=Pattern(to=((), (0,), ()), sources=50, unprepared=True),
)
ASK = TrialSpec(
    frame_octets=64,
    load_fps=100,
    duration_s=0.5,
    pattern=Pattern(to=((1,), (), ()), destinations=50, unprepared=True),
)
MESH = TrialSpec(frame_octets=64, load_fps=100, duration_s=0.5, pattern=full_mesh(3))


class Sender:
    def __init__(self):
        self.done = []

    def learn(self, spec):
        self.done.append(("learn", spec))

    def run(self, spec):
        self.done.append(("run", spec))
        meant = spec.pattern.meant_for
        sent = [spec.intended_frames if to else 0 for to in spec.pattern.to]
        streams = [
            StreamCounts(
                intended_frames=meant(port, sent),
                sent_frames=meant(port, sent),
                received_frames=meant(port, sent),
            )
            for port in range(3)
        ]
        return TrialResult(spec=spec, streams=tuple(streams), wall_time_ns=1)


class Clock:
    now_ns = 0

    def monotonic_ns(self):
        return self.now_ns

    def sleep(self, seconds):
        self.now_ns += round(seconds * 1e9)


def measuring(tester, recorded=(), clock=None, learning=Learning.DEPLOYMENT):
    lines = [
        SimpleNamespace(
            seq=1,
            spec=spec,
            phase=phase,
            result=result,
            deployment_id="a",
            validity="valid",
            reason="",
        )
        for spec, phase, result in recorded
    ]
    switch = MagicMock(ageing_s=10.0)
    return CellMeasurement(
        planned=SimpleNamespace(cell=CELL, test_id="t"),
        metric="m",
        deployment_id="b",
        traffic=tester,
        limits=SimpleNamespace(capabilities=MagicMock()),
        tester="embedded",
        store=MagicMock(),
        policy=TrialPolicy(max_stall_ns=10**9, learning=learning),
        display=MagicMock(),
        recorded=Recorded(lines),
        clock=clock or Clock(),
        switch=switch,
    ), switch


def test_no_learning_frames_go_before_what_teaches_and_asks(monkeypatch):
    tester = Sender()
    trials, _ = measuring(tester, learning=Learning.TRIAL)
    monkeypatch.setattr(CellMeasurement, "refuse", lambda *_: None)
    for spec in (TEACH, ASK, MESH):
        trials.trial(spec, "x")
    assert [what for what, _ in tester.done] == ["run", "run", "learn", "run"]


def test_learning_frames_go_again_before_a_switch_forgets(monkeypatch):
    tester, clock = Sender(), Clock()
    trials, _ = measuring(tester, clock=clock)
    monkeypatch.setattr(CellMeasurement, "refuse", lambda *_: None)
    for wait_s in (0.0, 1.0, 9.0, 1.0):
        clock.sleep(wait_s)
        trials.trial(MESH, "x")
    assert [what for what, _ in tester.done] == ["learn", "run", "run", "learn", "run", "run"]


@pytest.mark.parametrize(("since_s", "again"), [(8.4, False), (8.6, True)])
def test_a_trial_has_to_end_before_a_switch_forgets(since_s, again):
    """Nine tenths of its ageing time of 10 s, less the half second that the trial takes."""
    tester, clock = Sender(), Clock()
    policy = TrialPolicy(max_stall_ns=10**9, learning=Learning.DEPLOYMENT, learning_wait_s=0.0)
    learning = LearningFrames(tester, policy, clock, MagicMock(ageing_s=10.0))
    assert MESH.total_s == 0.5
    learning.before(MESH)
    clock.sleep(since_s)
    assert learning.before(MESH) == ((clock.now_ns, clock.now_ns) if again else (None, None))
    assert len(tester.done) == 1 + again


def test_a_run_that_goes_on_tells_the_new_switch_what_the_old_one_knew(monkeypatch):
    tester = Sender()
    trials, switch = measuring(tester, recorded=[(TEACH, "learning", Sender().run(TEACH))])
    monkeypatch.setattr(CellMeasurement, "refuse", lambda *_: None)
    trials.forget()
    assert not switch.forget.called  # the turn is one of the record: its switch is gone
    trials.trial(TEACH, "learning")
    assert tester.done == []
    trials.trial(ASK, "test")
    assert tester.done == [("run", TEACH), ("run", ASK)]
    trials.trial(ASK, "test")
    assert tester.done[2:] == [("run", ASK)]  # it was told once
    trials.forget()
    assert switch.forget.called
    trials.trial(ASK, "test")
    assert tester.done[3:] == [("run", ASK)]


def test_the_journal_says_that_a_trial_was_unprepared():
    for spec in (TEACH, MESH):
        assert spec_from_json(spec_to_json(spec)) == spec
    assert spec_to_json(TEACH)["pattern"]["unprepared"] is True
    assert "unprepared" not in spec_to_json(MESH)["pattern"]
