import io
import time

import pytest
from rich.console import Console

from bmwg.methodology.records import StreamCounts, TrialResult, TrialSpec, Validity
from bmwg.methodology.trial.judging import JudgedTrial
from bmwg.resources.kinds.frames.search_lines import Bounds, trial_text
from bmwg.resources.run import progress
from bmwg.resources.run.progress import (
    Estimate,
    LineDisplay,
    LiveDisplay,
    clock_text,
)

SPEC = TrialSpec(frame_octets=64, load_fps=1000, duration_s=1.0)


class Clock:
    def __init__(self):
        self.now_s = 100.0

    def __call__(self):
        return self.now_s


def result(received: int) -> TrialResult:
    stream = StreamCounts(intended_frames=1000, sent_frames=1000, received_frames=received)
    return TrialResult(spec=SPEC, streams=(stream,), wall_time_ns=10**9)


@pytest.mark.parametrize(("seconds", "text"), [(0, "0:00"), (59.6, "1:00"), (3725, "1:02:05"), (-3, "0:00")])
def test_clock_text(seconds, text):
    assert clock_text(seconds) == text


def test_a_trial_that_is_not_used_says_so_and_why():
    text = trial_text(SPEC, result(990), Validity.TESTER_STALLED)
    assert "lost 10 of 1,000 (1.0000%)" in text
    assert text.endswith("not used: tester_stalled")


def test_the_estimate_follows_the_pace_so_far():
    clock = Clock()
    estimate = Estimate(clock)
    estimate.expect({("a", "one"): 20.0, ("a", "two"): 80.0})
    assert "about ?" in str(estimate)
    clock.now_s += 12.0
    estimate.sent("one", 10.0)
    assert estimate.total_s == pytest.approx(12.0 + 90.0 * 1.2)
    assert str(estimate) == "[ 10%  0:12 of about 2:00]"


def test_of_little_that_is_behind_no_estimate_is_made_unless_it_took_minutes():
    clock = Clock()
    estimate = Estimate(clock)
    estimate.expect({("a", "one"): 20.0, ("a", "two"): 980.0})
    clock.now_s += 36.0
    estimate.sent("one", 16.0)
    assert str(estimate) == "[  2%  0:36 of about ?]"
    clock.now_s += 284.0
    assert str(estimate) == "[  2%  5:20 of about 5:33:20]"


def test_an_answer_counts_as_a_whole_whatever_its_traffic_was():
    estimate = Estimate(Clock())
    estimate.expect({("a", "one"): 20.0, ("a", "two"): 80.0})
    estimate.sent("one", 500.0)
    assert estimate.share == pytest.approx(0.2)
    estimate.answered("a", "one")
    assert estimate.share == pytest.approx(0.2)
    estimate.sent("two", 1.0)
    estimate.answered("a", "two")
    assert estimate.share == 1.0


def test_how_far_a_run_is_never_goes_back():
    estimate = Estimate(Clock())
    estimate.expect({("a", "one"): 50.0, ("b", "one"): 30.0})
    estimate.sent("one", 40.0)
    assert estimate.share == pytest.approx(0.5)
    estimate.answered("b", "one")
    assert estimate.share == pytest.approx(0.5)


def test_when_asked_each_trial_gives_a_line_with_load_loss_and_bounds():
    stream = io.StringIO()
    display = LineDisplay(stream, verbose=True)
    with display.trial("cell", "search", SPEC):
        pass
    display.result("cell", "search", 7, trial_text(SPEC, result(1000), Validity.VALID), "1,000..? fps")
    assert "cell: trial 7 search" in stream.getvalue()
    assert "bounds 1,000..? fps" in stream.getvalue()


def test_a_long_trial_is_never_silent(monkeypatch):
    monkeypatch.setattr(progress, "HEARTBEAT_S", 0.05)
    stream = io.StringIO()
    display = LineDisplay(stream)
    with display.trial("cell", "soak", SPEC):
        until = time.monotonic() + 30  # a busy machine may let the other thread wait
        while not stream.getvalue() and time.monotonic() < until:
            time.sleep(0.02)
    assert "cell: soak at 1,000 frames/s" in stream.getvalue()


def bounds_after(*trials: tuple[int, int, Validity]) -> str:
    bounds = Bounds()
    for seq, (load_fps, received, validity) in enumerate(trials):
        spec = TrialSpec(frame_octets=64, load_fps=load_fps, duration_s=1.0)
        counts = StreamCounts(intended_frames=1000, sent_frames=1000, received_frames=received)
        found = TrialResult(spec=spec, streams=(counts,), wall_time_ns=10**9)
        bounds.note(JudgedTrial(seq=seq, result=found, validity=validity, reason=""))
    return bounds.text


def test_bounds_never_cross_and_what_a_load_contradicts_is_unknown():
    held, lost = [(received, Validity.VALID) for received in (1000, 990)]
    assert bounds_after() == "?..? fps"
    assert bounds_after((2000, *lost)) == "?..2,000 fps"
    assert bounds_after((500, *held)) == "500..? fps"
    assert bounds_after((500, *held), (900, *lost)) == "500..900 fps"
    assert bounds_after((500, *held), (900, *lost), (400, *lost)) == "?..400 fps"
    assert bounds_after((400, *lost), (300, *held)) == "300..400 fps"
    assert bounds_after((400, *lost), (300, *held), (400, *held)) == "400..? fps"


def test_a_trial_that_is_set_aside_moves_no_bound():
    assert bounds_after((500, 990, Validity.TESTER_STALLED)) == "?..? fps"
    assert bounds_after((500, 990, Validity.SENT_SHORT)) == "?..500 fps"


def shown(display, stream, clock, seconds):
    """Let one trial a second end; return the lines."""
    for number in range(seconds):
        clock.now_s += 1.0
        with display.trial("cell", "search", SPEC):
            pass
        display.result("cell", "search", number, "text", "1,000..2,000 fps")
    return [line for line in stream.getvalue().splitlines() if line]


def test_short_trials_give_a_heartbeat_and_no_line_each():
    stream, clock = io.StringIO(), Clock()
    lines = shown(LineDisplay(stream, Estimate(clock), clock=clock), stream, clock, 35)
    assert len(lines) == 3
    assert all("cell: search, trial" in line and "bounds 1,000..2,000 fps" in line for line in lines)


def test_a_cells_line_is_a_sign_of_life_too():
    stream, clock = io.StringIO(), Clock()
    display = LineDisplay(stream, Estimate(clock), clock=clock)
    for _ in range(5):
        shown(display, stream, clock, 8)
        display.note("an answer")
    assert [line.strip() for line in stream.getvalue().splitlines() if line] == ["an answer"] * 5


def test_the_live_display_has_a_bar_and_prints_trials_only_when_asked(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")  # a dumb one draws no bar
    for verbose in (False, True):
        stream = io.StringIO()
        console = Console(file=stream, force_terminal=True, width=80)
        display = LiveDisplay(console, Estimate(Clock()), verbose=verbose)
        with display.trial("cell", "search", SPEC):
            pass
        display.result("cell", "search", 7, "text", "1,000..2,000 fps")
        display.note("an answer")
        display.close()
        assert ("trial 7 search" in stream.getvalue()) == verbose
        assert "an answer" in stream.getvalue()
        shown = [line for line in stream.getvalue().splitlines() if "search at" in line]
        assert shown
        assert all("\u2501" in line and line.count("%") == 1 for line in shown)  # the bar, and one percentage
