"""Deviations that follow from the numbers of a profile, so that no text can tell other numbers.

A file may leave out what it does otherwise (`what`) of these; whatever it says of it is not taken.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bmwg.methodology.requirements.rows import catalogue
from bmwg.methodology.trial.judging import Learning, StallEvidence

Data = Mapping[str, Any]

WHY = "the profile is shorter than the document asks for"
_STANDARD_OCTETS = (64, 128, 256, 512, 1024, 1280, 1518)  # rfc2544-9.1
_LEAST_SIZES = 5  # rfc2544-9
_TRIAL_S = 60.0  # rfc2544-24
_SETTLE_S = _LEARNING_S = _DRAIN_S = 2.0  # rfc2544-23
_RESTABILIZE_S = 5.0  # rfc2544-23
_LATENCY_S, _LATENCY_STREAMS = 120.0, 20  # rfc2544-26.2
_DELAY_VARIATION_S = 60.0  # rfc8219-7.3
_BURST_SEARCHES = 50  # rfc2544-26.4
_AFTER_BURST_S = 2.0  # rfc9004-6.2
_OVERLOAD_S = 60.0  # rfc2544-26.5
_LEAST_SWITCH_TRIAL_S, _SWITCH_TRIAL_S = 1.0, 30.0  # rfc2889-5.1.2
_SWITCH_TESTS = ("forwarding_rate", "congestion_control", "illegal_frames")
_BROADCAST = ("broadcast-",)
_LOADED = ("full-mesh-", "one-to-many-", "many-to-one-", "one-way-mesh-")  # patterns with a throughput
_MS = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Shortened:
    """How a profile falls short of one requirement: `words` is empty where it does not.

    One that is not `added` is worded only where the file declares it: its author is to know of it.
    """

    requirement: str
    words: Callable[[Data], str]
    added: bool = True


def declared(data: Data) -> dict[str, Any]:
    """Return a profile's data with the deviations that its numbers give.

    What the file declares keeps its place and its reason; what no longer holds is left out.
    """
    by_numbers = {shortened.requirement: shortened.words(data) for shortened in SHORTENED}
    kept = []
    for said in data["deviations"]:
        words = by_numbers.get(said["requirement"])
        if words is None:
            kept.append(said)
        elif words:
            kept.append({**said, "what": words})
    known = {said["requirement"] for said in kept}
    more = [
        {"requirement": one.requirement, "what": by_numbers[one.requirement], "why": WHY}
        for one in SHORTENED
        if one.added and by_numbers[one.requirement] and one.requirement not in known
    ]
    return {**data, "deviations": [*kept, *more]}


def with_words(data: Data) -> dict[str, Any]:
    """Return a file's data in which each deviation that is worded by numbers has some words, for its schema.

    So has one from a requirement that nobody knows: that is what is wrong with it.
    """
    known = set(catalogue()) - {shortened.requirement for shortened in SHORTENED}
    said = data.get("deviations")
    if not isinstance(said, list):
        return dict(data)
    filled = [
        {"what": "as its numbers say", **one}
        if isinstance(one, Mapping) and str(one.get("requirement")) not in known
        else one
        for one in said
    ]
    return {**data, "deviations": filled}


def _durations(data: Data) -> tuple[list[float], float]:
    """Return the full lengths of the trials of goals, without double ones, and of bisections' trials."""
    search = data["search"]
    goals = search.get("goals", ()) if search.get("algorithm") == "mlrsearch" else ()
    lengths = {float(goal["goal_final_trial_duration_s"]) for goal in goals}
    return sorted(lengths), float(data["trial"]["duration_s"])


def _of_trials(data: Data) -> str:
    goals, own_s = _durations(data)
    if min([*goals, own_s]) >= _TRIAL_S:
        return ""
    if goals in ([], [own_s]):
        return f"{own_s:g} s"
    return f"{_range(goals)} s, those of a bisection for {own_s:g} s"


def _each_trial(data: Data) -> str:
    said = _of_trials(data)
    return f"each trial sends for {said}, not for at least 60 s" if said else ""


def _final_trials(data: Data) -> str:
    said = _of_trials(data)
    more = f"{data['search']['verification_trials']} more at each bound"
    return f"the final determination uses trials of the same length ({said}), {more}" if said else ""


def _lines(data: Data) -> Iterable[Data]:
    yield from data["paths"]
    for suite in data.get("suites", {}).values():
        yield from suite["paths"]


def _sizes_by_path(data: Data) -> dict[str, set[int]]:
    found: dict[str, set[int]] = {}
    for line in _lines(data):
        found.setdefault(line["path"], set()).update(map(int, line["frame_octets"]))
    return found


def _few_sizes(data: Data) -> str:
    counts = sorted(len(sizes) for sizes in _sizes_by_path(data).values())
    if not counts or counts[0] >= _LEAST_SIZES:
        return ""
    return f"{_range([float(counts[0]), float(counts[-1])])} frame sizes on a path, not at least 5"


def _which_sizes(data: Data) -> str:
    sizes = set().union(*_sizes_by_path(data).values())
    if sizes.issuperset(_STANDARD_OCTETS):
        return ""
    return f"{_listed(sorted(sizes))} octets only"


def _settle(data: Data) -> str:
    wait_s = float(data["trial"]["settle_s"])
    said = f"{wait_s:g} s between the routes of a deployment and its first frame, not 2 s"
    return said if wait_s < _SETTLE_S else ""


def _learning(data: Data) -> str:
    trial = data["trial"]
    wait_s = float(trial["learning_wait_s"])
    match Learning(trial["learning"]):
        case Learning.NONE:
            return "no learning frames are sent"
        case Learning.DEPLOYMENT:
            after = f"followed by {wait_s:g} s, not before each trial with 2 s"
            return f"learning frames are sent once a deployment, {after}"
        case Learning.TRIAL:
            short = wait_s < _LEARNING_S
            return f"{wait_s:g} s follow the learning frames of each trial, not 2 s" if short else ""


def _drain(data: Data) -> str:
    wait_s = float(data["trial"]["drain_s"])
    return (
        f"{wait_s:g} s without a frame ends the wait for residual frames, not 2 s"
        if wait_s < _DRAIN_S
        else ""
    )


def _restabilize(data: Data) -> str:
    wait_s = float(data["trial"]["restabilize_s"])
    return f"{wait_s:g} s for restabilization, not at least 5 s" if wait_s < _RESTABILIZE_S else ""


def _sent_ratio(data: Data) -> str:
    ratio = data["trial"]["min_sent_ratio"]
    counts = f"a trial counts when {ratio:g} of the intended frames were sent (min_sent_ratio)"
    return f"{counts}, not only when all were" if ratio < 1 else ""


def _set_aside(data: Data) -> str:
    trial = data["trial"]
    limit = f"{trial['max_stall_ns'] / _MS:g} ms"
    by_watch = trial.get("stall_evidence", StallEvidence.CPU.value) == StallEvidence.CPU.value
    why = [
        f"a watchdog saw the tester's CPU gone for more than {limit}"
        if by_watch
        else f"the tester stalled for {limit}"
    ]
    if frames := trial.get("max_stall_frames", 0):
        why[0] += f" (longer while it held back at most {frames} frames)"
    if trial["set_aside_host_stalls"]:
        why.append(f"the SUT's host lost a CPU for more than {trial['max_host_stall_ns'] / _MS:g} ms")
    if trial["min_sent_ratio"] < 1:
        why.append("too little was sent")
    tries = f"a trial is set aside and repeated, at most {trial['max_repeats']} times a load"
    share = trial.get("most_set_aside_ratio")
    most = "" if share is None else f"; of the longer trials of an answer at most {share * 100:g} %"
    return f"{tries}, when {', or when '.join(why)}{most}; loss never causes it"


def _latency_length(data: Data) -> str:
    latency = data["latency"]
    if float(latency["duration_s"]) >= _LATENCY_S:
        return ""
    length = f"each latency stream lasts {float(latency['duration_s']):g} s, not at least 120 s"
    sizes = latency["frame_octets"]
    return f"{length}, and runs at {_listed(sizes)} octets only" if sizes else length


def _latency_streams(data: Data) -> str:
    all_frames = data["latency"].get("streams", 1)
    tagged = _setting(data, "tagged_latency", "streams", _LATENCY_STREAMS)
    if min(all_frames, tagged) >= _LATENCY_STREAMS:
        return ""
    return (
        f"streams of latency: {all_frames:g} in testcases/containerized, with percentiles over all frames,"
        f" and {tagged:g} with tagged frames in testcases/rfc2544; at least 20 are asked for"
    )


def _tagged_length(data: Data) -> str:
    stream_s = _setting(data, "tagged_latency", "stream_s", _LATENCY_S)
    return f"the streams last {stream_s:g} s, not at least 120 s" if stream_s < _LATENCY_S else ""


def _tagged_when(data: Data) -> str:
    stream_s = _setting(data, "tagged_latency", "stream_s", _LATENCY_S)
    return (
        f"tagged frames begin in the middle of {stream_s:g} s, not after 60 s"
        if stream_s < _LATENCY_S
        else ""
    )


def _tagged_count(data: Data) -> str:
    return _streams(_setting(data, "tagged_latency", "streams", _LATENCY_STREAMS))


def _variation_length(data: Data) -> str:
    stream_s = _setting(data, "delay_variation", "stream_s", _DELAY_VARIATION_S)
    return f"the streams last {stream_s:g} s, not at least 60 s" if stream_s < _DELAY_VARIATION_S else ""


def _variation_frames(data: Data) -> str:
    said = _variation_length(data)
    return f"{said}, and the differences are those of their last 1,024 frames" if said else ""


def _variation_count(data: Data) -> str:
    return _streams(_setting(data, "delay_variation", "streams", _LATENCY_STREAMS))


def _streams(count: float) -> str:
    return f"{count:g} streams, not at least 20" if count < _LATENCY_STREAMS else ""


def _burst_searches(data: Data) -> str:
    count = _setting(data, "back_to_back", "repetitions", _BURST_SEARCHES)
    if count >= _BURST_SEARCHES:
        return ""
    said = data["benchmarks"]["back_to_back"]
    steps = f", in steps of {said['step_frames']} frames" if "step_frames" in said else ""
    longest = f", of bursts up to {float(said['max_burst_s']):g} s" if "max_burst_s" in said else ""
    return f"{count:g} searches for back-to-back frames, not 50{steps}{longest}"


def _after_burst(data: Data) -> str:
    wait_s = float(data["trial"]["drain_s"]) + float(data["trial"]["restabilize_s"])
    return f"{wait_s:g} s without a frame follow a burst, not at least 2 s" if wait_s < _AFTER_BURST_S else ""


def _recovery(data: Data) -> str:
    overload_s = _setting(data, "recovery", "overload_s", _OVERLOAD_S)
    reduced_s = _setting(data, "recovery", "reduced_s", _OVERLOAD_S)
    if min(overload_s, reduced_s) >= _OVERLOAD_S:
        return ""
    said = f"overload lasts {overload_s:g} s and reduced load {reduced_s:g} s, not 60 s each"
    count = data["benchmarks"]["recovery"].get("repetitions")
    return f"{said}; the average is of {count}" if count else said


def _patterns(data: Data) -> dict[str, set[int]]:
    """Return the frame sizes of each pattern of ports that the profile names (RFC 2889)."""
    found: dict[str, set[int]] = {}
    for line in _lines(data):
        for pattern in line.get("axes", {}).get("pattern", ()):
            found.setdefault(str(pattern), set()).update(map(int, line["frame_octets"]))
    return found


def _switch_trials(data: Data) -> str:
    if not _patterns(data):
        return ""
    goals, own_s = _durations(data)
    named = [_setting(data, name, "trial_s", _SWITCH_TRIAL_S) for name in _SWITCH_TESTS]
    short = sorted({one for one in (*goals, own_s, *named) if one < _LEAST_SWITCH_TRIAL_S})
    return f"trials between several ports send for {_range(short)} s, not for at least 1 s" if short else ""


def _switch_throughput(data: Data) -> str:
    """Say by which goals a throughput of patterns is found that RFC 2889 does not know: trials may lose."""
    search = data["search"]
    if not _patterns(data) or search.get("algorithm") != "mlrsearch":
        return ""
    lossy = [goal["name"] for goal in search.get("goals", ()) if _forgiving(goal)]
    said = f"a throughput of several ports by the goal {_worded(lossy)} of RFC 9971 is one at which trials"
    return f"{said} may lose frames, not one without loss" if lossy else ""


def _forgiving(goal: Data) -> bool:
    return bool(goal["goal_loss_ratio"] or goal["goal_exceed_ratio"])


def _one_size(data: Data, *, broadcast: bool) -> str:
    mine = _BROADCAST if broadcast else _LOADED
    found = _patterns(data).items()
    single = sorted(name for name, sizes in found if name.startswith(mine) and len(sizes) == 1)
    return f"one frame size of {_worded(single)}, so no graph over the sizes" if single else ""


def _switch_graphs(data: Data) -> str:
    return _one_size(data, broadcast=False)


def _broadcast_graphs(data: Data) -> str:
    return _one_size(data, broadcast=True)


def _worded(names: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))


def _setting(data: Data, measurement: str, name: str, otherwise: float) -> float:
    """Return a setting of a measurement; without one it is as its document has it."""
    return float(data.get("benchmarks", {}).get(measurement, {}).get(name, otherwise))


def _range(values: Sequence[float]) -> str:
    least, most = min(values), max(values)
    return f"{least:g}" if least == most else f"{least:g} to {most:g}"


def _listed(numbers: Sequence[int]) -> str:
    return _worded([str(number) for number in numbers])


SHORTENED = (
    Shortened(requirement="RFC2544-24-01", words=_each_trial),
    Shortened(requirement="RFC2544-24-03", words=_final_trials),
    Shortened(requirement="RFC2544-9-02", words=_few_sizes),
    Shortened(requirement="RFC2544-9.1", words=_which_sizes),
    Shortened(requirement="RFC2544-23-01", words=_settle),
    Shortened(requirement="RFC2544-23-02", words=_learning),
    Shortened(requirement="RFC2544-23-03", words=_sent_ratio, added=False),
    Shortened(requirement="RFC2544-23-04", words=_drain),
    Shortened(requirement="RFC2544-23-05", words=_restabilize),
    Shortened(requirement="RFC2544-4", words=_set_aside, added=False),
    Shortened(requirement="RFC2544-26.2-02", words=_latency_length),
    Shortened(requirement="RFC2544-26.2-06", words=_latency_streams),
    Shortened(requirement="RFC8219-7.2-02", words=_tagged_length),
    Shortened(requirement="RFC8219-7.2-03", words=_tagged_when),
    Shortened(requirement="RFC8219-7.2-08", words=_tagged_count),
    Shortened(requirement="RFC8219-7.3.1-02", words=_variation_length),
    Shortened(requirement="RFC8219-7.3.1-05", words=_variation_count),
    Shortened(requirement="RFC8219-7.3.2-01", words=_variation_frames),
    Shortened(requirement="RFC8219-7.3.2-04", words=_variation_count),
    Shortened(requirement="RFC2544-26.4-03", words=_burst_searches),
    Shortened(requirement="RFC9004-6.2-02", words=_after_burst),
    Shortened(requirement="RFC2544-26.5-01", words=_recovery),
    Shortened(requirement="RFC2889-5.1.4.1", words=_switch_throughput),
    Shortened(requirement="RFC2889-5.1.2-05", words=_switch_trials),
    Shortened(requirement="RFC2889-5.1.5-01", words=_switch_graphs),
    Shortened(requirement="RFC2889-5.10.5", words=_broadcast_graphs),
)
