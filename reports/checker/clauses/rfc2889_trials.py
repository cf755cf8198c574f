"""RFC 2889 as rules: how trials between several ports are set up, sent and counted (3 to 5.1.4, B)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bmwg.methodology.benchmarks import broadcast_latency, caching_capacity, frame_loss
from bmwg.methodology.benchmarks import forwarding_rate as rates
from bmwg.methodology.cells import patterns
from bmwg.methodology.records import FrameFormat, Outcome, Validity
from bmwg.methodology.trial.appendix_c import UDP_DATA
from bmwg.methodology.trial.pattern import FIRST_SENT, KNOWN_BEFORE
from bmwg.reports.checker.between_ports import (
    NO_PATTERN,
    ages_later,
    each_trial,
    learned,
    measured,
    number_of,
    of_metric,
    pattern_of,
    prepared,
)
from bmwg.reports.checker.clauses.tester import told
from bmwg.reports.checker.evidence import Trial
from bmwg.reports.checker.proof import close, none_wrong, per_interface, taken
from bmwg.reports.checker.verdicts import (
    Answer,
    Scope,
    clause,
    held,
    not_applicable,
    not_assessed,
)

LOAD_MODES = ("frame-based", "time-based")  # rfc2889-B
DUPLEX = ("full", "half")
BURST_FRAMES = (1, 930)  # rfc2889-5.1.2; 1 is a constant load
DURATION_S = (1.0, 300.0)  # rfc2889-5.1.2
START_SHARE = 0.01  # rfc2889-5.1.3: of the trial's duration
_NS = 1_000_000_000


def _patterned(scope: Scope) -> list[Trial]:
    return [one for one in scope.trials if pattern_of(one) is not None]


def _loaded(scope: Scope) -> list[Trial]:
    """Return the trials of patterns whose load is what is asked for (5.1, 5.2, 5.4, 5.10)."""
    cells = {one.cell.cell_id for one in scope.evidence.plan if patterns.has_load(one.cell.axes)}
    return [one for one in _patterned(scope) if one.cell_id in cells]


def _said(scope: Scope, key: str) -> list[object]:
    """Return what testers say under a key of what they tell of patterns; none where one is silent."""
    found = [one.get(key) if isinstance(one, Mapping) else None for one in told(scope, "patterns")]
    return [] if None in found else found


def stated(scope: Scope, trials: Sequence[Trial], *, burst: bool, without: str) -> Answer:
    """Hold what the tester states of every trial; what a trial itself has is in its spec.

    A spec cannot be without size, load, duration and addresses. Duplex mode and gap are not in it: the first
    is the tester's word, the second follows from the burst's load.
    """
    if not trials:
        return not_applicable(without)
    expected = f"size, load, duration{', gap, burst, addresses' * burst} and duplex mode of each trial"
    modes = told(scope, "duplex")
    if not modes or any(one not in DUPLEX for one in modes):
        return held(False, expected, "the tester does not state its duplex mode")
    return held(True, expected, f"in {len(trials)} trials, {', '.join(map(str, modes))} duplex")


@clause("RFC2889-3-02")
def learning_verified(scope: Scope) -> Answer:
    """Between learning frames and trial the switch was asked how many addresses it knows: all of them."""
    mine = prepared(scope)
    if not mine:
        return not_applicable(NO_PATTERN)
    known = [dict(one.trial.result.auxiliary).get(KNOWN_BEFORE) for one, _ in mine]
    if None in known:
        return not_assessed(f"no table was looked at before {known.count(None)} of {len(mine)} trials")
    pairs = zip(mine, known, strict=True)
    wrong = [one.trial.seq for (one, found), count in pairs if (count or 0) < found.told_before]
    return none_wrong(wrong, len(mine), "all addresses in the table before the trial", "trials")


@clause("RFC2889-3-03")
def ages_after(scope: Scope) -> Answer:
    """What was told by learning frames is known until the trial ends."""

    def needed_s(one: Trial) -> float:
        times = one.times
        if times is None or times.learning_ns is None:
            return one.trial.result.spec.total_s
        return (times.ended_ns - times.learning_ns) / _NS

    mine = [one for one, _ in prepared(scope)]
    return ages_later(scope, mine, needed_s) if mine else not_applicable(NO_PATTERN)


@clause("RFC2889-3-05")
def address_format(scope: Scope) -> Answer:
    """The tester states the format of its ports' numbered addresses; the testbed file sets it."""
    if not _patterned(scope):
        return not_applicable(NO_PATTERN)
    said = _said(scope, "mac_format")
    return held(bool(said), "the format of addresses", "; ".join(map(str, said)) or "no tester states it")


@clause("RFC2889-4-01")
def signature(scope: Scope) -> Answer:
    """Every frame has a signature in its UDP data, by which the tester knows it."""
    mine = _patterned(scope)
    if not mine:
        return not_applicable(NO_PATTERN)
    expected = "a signature in the UDP data of every frame"
    bare = [one.trial.seq for one in mine if one.trial.result.spec.frame_format is FrameFormat.ETHERNET]
    if bare:
        return none_wrong(bare, len(mine), expected, "trials")
    frames, verified = told(scope, "test_frame"), told(scope, "verifies")
    if not frames or not all(_in_data(one) for one in frames):
        return held(False, expected, "the tester's frame has none there")
    known = bool(verified) and all(isinstance(one, list) and "signature" in one for one in verified)
    return held(known, expected, "compared" if known else "the tester does not compare it")


def _in_data(frame: object) -> bool:
    if not isinstance(frame, Mapping):
        return False
    octets, place = frame.get("octets"), frame.get("signature")
    if not isinstance(octets, list) or not isinstance(place, list) or len(place) != 2:  # first, length
        return False
    first, length = int(place[0]), int(place[1])
    return UDP_DATA <= first < first + length <= len(octets)


@clause("RFC2889-5.1.2-01")
def parameters(scope: Scope) -> Answer:
    """Frame size, gap, duplex mode, load, burst size, addresses of a port and duration are stated."""
    return stated(scope, _loaded(scope), burst=True, without=NO_PATTERN)


def _bursts(scope: Scope) -> list[Trial]:
    return [one for one in _patterned(scope) if one.trial.result.spec.burst_frames is not None]


@clause("RFC2889-5.1.2-02")
def burst_gap(scope: Scope) -> Answer:
    """Within bursts frames have the least gap of the medium: their load there is its theoretical rate."""
    mine = _bursts(scope)
    if not mine:
        return not_applicable("no trial of bursts between several ports")
    cells = {one.cell.cell_id: one.cell for one in scope.evidence.plan}
    theoretical = {one.cell_id: scope.evidence.medium_fps(cells[one.cell_id]) for one in mine}
    if None in theoretical.values():
        return not_assessed("the medium has no rate, so that no gap is its least")
    wrong = [one.trial.seq for one in mine if one.trial.result.spec.burst_fps != theoretical[one.cell_id]]
    return none_wrong(wrong, len(mine), "the medium's theoretical rate within bursts", "trials")


@clause("RFC2889-5.1.2-03")
def burst_size(scope: Scope) -> Answer:
    """A burst has 1 to 930 frames."""
    least, most = BURST_FRAMES
    return each_trial(
        _loaded(scope),
        f"bursts of {least} to {most} frames",
        lambda one: least <= (one.trial.result.spec.burst_frames or 1) <= most,
        without=NO_PATTERN,
    )


@clause("RFC2889-5.1.2-04")
def addresses(scope: Scope) -> Answer:
    """A port has a number of addresses that is a power of two."""

    def right(one: Trial) -> bool:
        found = pattern_of(one)
        return found is not None and all(
            count & (count - 1) == 0 for count in (found.sources, found.destinations)
        )

    return each_trial(_loaded(scope), "a power of two of addresses", right, without=NO_PATTERN)


@clause("RFC2889-5.1.2-05")
def duration(scope: Scope) -> Answer:
    """A trial lasts 1 to 300 s; one of a single frame, whose latency is asked for, has no duration."""
    least_s, most_s = DURATION_S
    return each_trial(
        [one for one in _patterned_prepared(scope) if one.metric != broadcast_latency.METRIC],
        f"trials of {least_s:g} to {most_s:g} s",
        lambda one: least_s <= one.trial.result.spec.total_s <= most_s,
        without=NO_PATTERN,
    )


def _patterned_prepared(scope: Scope) -> list[Trial]:
    return [one for one, _ in prepared(scope)]


def _load_mode(scope: Scope) -> Answer:
    if not _patterned(scope):
        return not_applicable(NO_PATTERN)
    modes = told(scope, "load_mode")
    known = bool(modes) and all(one in LOAD_MODES for one in modes)
    return held(known, " or ".join(LOAD_MODES), ", ".join(map(str, modes)) or "no tester states it")


@clause("RFC2889-5.1.3-01")
def transmits(scope: Scope) -> Answer:
    """Ports transmit by number of frames or by time, as the tester states."""
    return _load_mode(scope)


@clause("RFC2889-B")
def mode_stated(scope: Scope) -> Answer:
    """The tester states by which of the two modes it sends."""
    return _load_mode(scope)


@clause("RFC2889-5.1.3-02")
def start_together(scope: Scope) -> Answer:
    """All sending ports begin within 1 % of the trial's duration."""
    mine = [one for one, found in prepared(scope) if one.trial.valid and len(found.senders) > 1]
    if not mine:
        return not_applicable("no valid trial of several senders")
    begins = {
        one.trial.seq: [ns for name, ns in one.trial.result.auxiliary if name.endswith(FIRST_SENT)]
        for one in mine
    }
    if any(not found for found in begins.values()):
        return not_assessed("the tester does not tell when each port began")

    def right(one: Trial) -> bool:
        found, pattern = begins[one.trial.seq], pattern_of(one)
        most_ns = START_SHARE * one.trial.result.spec.total_s * _NS
        return (
            pattern is not None and len(found) >= len(pattern.senders) and max(found) - min(found) <= most_ns
        )

    return each_trial(mine, "begins of all ports within 1 % of the duration", right, without=NO_PATTERN)


@clause("RFC2889-5.1.3-05")
def every_address_learned(scope: Scope) -> Answer:
    """Learning frames go from every address; a trial that teaches sends one from each of its own."""
    mine = _patterned_prepared(scope)
    teaching = [one for one in _patterned(scope) if (found := pattern_of(one)) and found.sources > 1]
    few = [
        one.trial.seq
        for one in teaching
        if one.trial.valid and (found := pattern_of(one)) and one.trial.result.spec.intended < found.sources
    ]
    expected = "learning frames from every address"
    if not mine and not teaching:
        return not_applicable(NO_PATTERN)
    if few:
        return none_wrong(few, len(teaching), expected, "trials")
    if not mine:
        return held(True, expected, f"{len(teaching)} trials tell their own addresses")
    if any(one.times is None for one in mine):
        return not_assessed("the journal has no times of its trials")
    if not _said(scope, "learning_frames"):
        return held(False, expected, "the tester does not state what it sends for learning")
    return learned(mine)


def _told_apart(scope: Scope, trials: Sequence[Trial], *by: str) -> Answer:
    """Hold that a frame counts as received by these marks alone, and that no trial's counts contradict it."""
    if not trials:
        return not_applicable("no trial of it")
    expected = f"frames received by {' and '.join(by)}, all others counted apart"
    said = _said(scope, "received_by")
    if not said or not all(isinstance(one, list) and set(by) <= set(one) for one in said):
        return held(False, expected, "the tester does not state it")
    return each_trial(
        trials, expected, lambda one: one.trial.validity is not Validity.INCONSISTENT, without=NO_PATTERN
    )


@clause("RFC2889-5.1.4-01")
def classified(scope: Scope) -> Answer:
    """A frame is received at the port of its destination address, and flooded at any other."""
    return _told_apart(scope, _loaded(scope), "destination address", "signature")


@clause("RFC2889-5.1.4-02")
def own_frames_apart(scope: Scope) -> Answer:
    """Frames that the switch itself sends have no signature, and count as foreign."""
    return _told_apart(scope, _loaded(scope), "signature")


@clause("RFC2889-5.6.4")
def rates_classified(scope: Scope) -> Answer:
    """Of forwarding rates too: received or flooded, and nothing of the switch's own."""
    return _told_apart(scope, of_metric(scope, rates.METRIC), "destination address", "signature")


@clause("RFC2889-5.7.3-05")
def flooded_by_tests(scope: Scope) -> Answer:
    """As flooded count test frames alone, not what protocols of the switch send."""
    return _told_apart(scope, of_metric(scope, caching_capacity.METRIC), "signature")


@clause("RFC2889-5.7.5-02")
def right_addresses(scope: Scope) -> Answer:
    """A frame that counts as received has the destination address that it was sent with."""
    return _told_apart(scope, of_metric(scope, caching_capacity.METRIC), "destination address")


@clause("RFC2889-5.1.4-03")
def loss_rate(scope: Scope) -> Answer:
    """Each frame loss rate of a pattern is that of a valid trial at its load, over all ports."""
    mine = [one for one in measured(scope, frame_loss.METRIC) if patterns.of(one.cell.axes)]
    if not mine:
        return not_applicable("no frame loss rate of a pattern")
    wrong = []
    for one in mine:
        found = {t.trial.load: t.trial.result.loss_ratio for t in taken(scope, one) if t.trial.valid}
        if not all(close(value.number, found.get(frame_loss.load_of(value))) for value in one.values):
            wrong.append(one.outcome_id)
    return none_wrong(wrong, len(mine), "the loss of a valid trial at each load", "answers")


@clause("RFC2889-5.10.2")
def broadcast_parameters(scope: Scope) -> Answer:
    """Frame size, duplex mode, load and duration of broadcast frames are stated."""
    mine = [one for one, found in prepared(scope) if found.broadcast]
    return stated(scope, mine, burst=False, without="no trial of broadcast frames")


@clause("RFC2889-B.1")
def frames_of_each_port(scope: Scope) -> Answer:
    """By the frame-based mode each port has a number of frames; the load of the SUT is their sum."""
    if "frame-based" not in told(scope, "load_mode"):
        return not_applicable("no tester says that it sends by number of frames")
    mine = _loaded(scope)
    if not mine:
        return not_applicable(NO_PATTERN)
    wrong = [one.trial.seq for one in mine if not per_interface(one.trial.result)]
    answer = none_wrong(wrong, len(mine), "so many frames of each port, and the sum over ports", "trials")
    sums = {
        one.outcome_id: max((rates.point(t.trial.result).offered_fps for t in _valid(scope, one)), default=0)
        for one in measured(scope, rates.METRIC)
    }
    unlike = [
        one.outcome_id
        for one in measured(scope, rates.METRIC)
        if not close(number_of(one, rates.MAXIMUM), sums[one.outcome_id])
    ]
    return none_wrong(unlike, len(sums), answer.expected, "offered loads") if unlike else answer


def _valid(scope: Scope, one: Outcome) -> list[Trial]:
    return [trial for trial in taken(scope, one) if trial.trial.valid]
