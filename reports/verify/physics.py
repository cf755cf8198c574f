"""What no run of real frames can show: trials shorter than their time, frames that no interface counted.

Each rule reads a run's own numbers and holds them against each other; none compares two clocks. A simulated
run, which says so, has no time and no interface, and only says when it began. What an honest machine can
bring about as well (a clock that was set, a run that went on after a break) is a question, not a finding:
`questions` asks it beside the verdict (docs/adr/0255).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any

from bmwg.methodology.medium import ethernet_fps
from bmwg.methodology.records import Direction, TrialResult
from bmwg.reports.checker.evidence import Evidence, Trial
from bmwg.reports.checker.findings import Rule, Shortfall, rule

FORWARD, REVERSE = (0, 1), (1, 0)  # which of the two ports sends, which receives
_CLOCK_ERROR_RATIO = 1e-3  # choice: twice what the kernel slews a clock by (500 ppm)
_CLOCK_ERROR_S = 1e-3  # choice: the stamp of a line is taken after its trial, by another clock
_TESTER_CLOCK_RATIO = 1e-3  # choice: a tester's clock against the machine's
_RATE_RATIO = 1e-3  # choice: rounding of a load, and the ends of a short trial
_CLOCK_SET_RATIO = 0.01  # choice: share of lines that a clock that was set back may have shortened
_EARLIEST = datetime.fromisoformat("2026-01-01T00:00:00+00:00")  # before the first commit of the toolkit
_NAMED = 6  # tests that are named of those left out
_INTERFACES = ("xdp", "af_xdp", "af_packet", "auto")  # kinds of ports whose interfaces the kernel counts


def _real(evidence: Evidence) -> bool:
    return evidence.run is not None and not evidence.run["simulated"] and evidence.of_frames


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text)


def _hurried(evidence: Evidence) -> list[tuple[Trial, float, float]]:
    """Return the trials that lasted longer than the time between their line and the one before, in s."""
    if evidence.run is None or not _real(evidence):
        return []
    found = []
    before = _moment(evidence.run["started_at"])
    for trial in evidence.trials:
        at = _moment(trial.at)
        passed_s = (at - before).total_seconds()
        wall_s = trial.trial.result.wall_time_ns / 1e9
        if wall_s > passed_s * (1 + _CLOCK_ERROR_RATIO) + _CLOCK_ERROR_S:
            found.append((trial, wall_s, passed_s))
        before = at
    return found


def _clock_was_set(evidence: Evidence, hurried: int) -> bool:
    """Whether so few lines are too close that a clock that was set back explains them."""
    return hurried <= max(1, int(len(evidence.lines) * _CLOCK_SET_RATIO))


@rule("VER-30", "", "a trial fits into the time between its line and the one before", exit_code=2)
def lines_apart(evidence: Evidence) -> Iterator[Shortfall]:
    """Between two lines lies at least the trial's wall time; monotonic readings hold with no excuse."""
    hurried = _hurried(evidence)
    if not _clock_was_set(evidence, len(hurried)):
        for trial, wall_s, passed_s in hurried:
            yield (
                f"trial {trial.trial.seq}",
                f"{wall_s:.6g} s of trial between its line and the one before",
                f"{passed_s:.6g} s",
            )
    if not _real(evidence):
        return
    for trial in evidence.trials:
        times = getattr(trial, "times", None)  # of lines that hold monotonic readings
        if times is None:
            continue
        span_ns = times.ended_ns - times.began_ns
        wall_ns = trial.trial.result.wall_time_ns
        if not trial.fault and wall_ns > span_ns * (1 + _TESTER_CLOCK_RATIO) + _CLOCK_ERROR_S * 1e9:
            yield (
                f"trial {trial.trial.seq}",
                f"{wall_ns / 1e9:.6g} s between its monotonic readings",
                f"{span_ns / 1e9:.6g} s",
            )


@rule("VER-31", "", "a trial takes at least the time that its frames were to be sent for", exit_code=2)
def trials_last(evidence: Evidence) -> Iterator[Shortfall]:
    """The wall time of a trial without fault is not below its duration, nor below what it sent for."""
    if not _real(evidence):
        return
    for trial in evidence.trials:
        result = trial.trial.result
        if trial.fault:
            continue
        sending_ns = max((stream.effective_duration_ns for stream in result.streams), default=0)
        for name, needed_ns in (
            ("of sending, as its spec says", 0 if result.spec.burst else result.spec.total_s * 1e9),
            ("between its first and last frame", sending_ns),
        ):
            if result.wall_time_ns < needed_ns * (1 - _TESTER_CLOCK_RATIO):
                yield (
                    f"trial {trial.trial.seq}: wall_time_ns",
                    f"at least {needed_ns / 1e9:.6g} s {name}",
                    f"{result.wall_time_ns / 1e9:.6g} s",
                )


@rule("VER-32", "", "no load above what the medium can carry", exit_code=2)
def within_line_rate(evidence: Evidence) -> Iterator[Shortfall]:
    """No trial asks for a higher load, or sends more frames, than fit on the medium at its declared rate."""
    run = evidence.run
    if run is None or run["medium"]["line_rate_bps"] is None:
        return
    for trial in evidence.trials:
        result = trial.trial.result
        octets = min(result.spec.mix_octets or (result.spec.frame_octets,))  # a tag counts within
        limit = ethernet_fps(run["medium"]["line_rate_bps"], octets)
        if (asked := max(result.spec.load_fps, result.spec.then_load_fps or 0)) > limit * (
            1 + _RATE_RATIO
        ) + 1:
            yield f"trial {trial.trial.seq}", f"at most {limit} frames/s on the medium", f"a load of {asked}"
        for stream in result.streams:
            most = limit * result.spec.total_s * (1 + _RATE_RATIO) + 1
            if stream.sent_frames > most:
                yield (
                    f"trial {trial.trial.seq}",
                    f"at most {limit} frames/s of {octets} octets on the medium",
                    f"{stream.sent_frames} frames sent in {result.spec.total_s:g} s",
                )


@rule("VER-33", "", "the medium is the one of the testbed and of the record", exit_code=2)
def medium_of_testbed(evidence: Evidence) -> Iterator[Shortfall]:
    """Kind and rate in the header are the testbed's; a port that the record calls virtual has no rate."""
    run = evidence.run
    if run is None or not evidence.of_frames:
        return
    medium = run["medium"]
    declared = run["testbed"].get("medium")
    declared = declared if isinstance(declared, dict) else {}
    for name, expected in (
        ("kind", declared.get("kind", "veth")),
        ("line_rate_bps", declared.get("line_rate_bps")),
    ):
        if medium[name] != expected:
            yield f"run.json: medium: {name}", f"{expected}, as the testbed says", str(medium[name])
    rate = medium["line_rate_bps"]
    if rate is None:
        return
    for port, facts in _recorded_ports(evidence):
        kind, speed = _value(facts, "kind"), _value(facts, "speed_mbps")
        if kind == "veth":
            yield "run.json: medium: line_rate_bps", f"none: the record calls {port} {kind}", f"{rate} bit/s"
        elif isinstance(speed, int) and rate > speed * 1_000_000:
            yield "run.json: medium: line_rate_bps", f"at most {speed} Mbit/s, as {port} has", f"{rate} bit/s"


def _recorded_ports(evidence: Evidence) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Give the recorded facts of the tester's ports, each once."""
    tester = evidence.run["testbed"].get("tester") if evidence.run else None
    ports = tester.get("ports") if isinstance(tester, dict) else None
    names = {str(port).removeprefix("tester/") for port in ports} if isinstance(ports, list) else set()
    seen: set[str] = set()
    for nodes in (evidence.platform or {}).get("records", {}).values():
        group = nodes.get("tester", {}).get("fields", {}).get("nic", {}) if isinstance(nodes, dict) else {}
        for name in sorted(names & set(group) - seen):
            if isinstance(group[name], dict):
                seen.add(name)
                yield name, group[name]


def _value(facts: Mapping[str, Any], name: str) -> Any:
    fact = facts.get(name)
    return fact.get("value") if isinstance(fact, dict) else None


@rule("VER-34", "", "what interfaces counted is what the tester counted", exit_code=2)
def interfaces_agree(evidence: Evidence) -> Iterator[Shortfall]:
    """No tester counts more frames than its interfaces; where the kernel counts, its counts are there."""
    if evidence.run is None or not _real(evidence):
        return
    counting = _has_interfaces(evidence.run["testbed"])
    for trial in evidence.trials:
        where = f"trial {trial.trial.seq}"
        counters = dict(trial.trial.result.auxiliary)
        names = sorted(name.removesuffix(".tx_packets") for name in counters if name.endswith(".tx_packets"))
        if len(names) == 2:
            for text, expected, found in _against(names, counters, trial.trial.result):
                yield f"{where}: {text}", expected, found
        elif counting and not trial.fault:
            yield where, "what the tester's two interfaces counted", f"counters of {len(names)}"


def _has_interfaces(testbed: Mapping[str, Any]) -> bool:
    tester = testbed.get("tester")
    return isinstance(tester, dict) and tester.get("driver") == "embedded" and tester.get("io") in _INTERFACES


def _against(names: list[str], counters: Mapping[str, int], result: TrialResult) -> Iterator[Shortfall]:
    both = (FORWARD, REVERSE)
    ends = {Direction.FORWARD: both[:1], Direction.REVERSE: both[1:], Direction.BOTH: both}
    for stream, (out, into) in zip(result.streams, ends[result.spec.direction], strict=False):
        left = counters[f"{names[out]}.tx_packets"] + counters.get(f"{names[out]}.tx_dropped", 0)
        if stream.sent_frames > left:
            yield f"{names[out]}.tx_packets", f"at least {stream.sent_frames} frames, as were sent", str(left)
        came = counters.get(f"{names[into]}.rx_packets", 0)
        taken = stream.received_frames + stream.duplicate_frames
        if taken > came:
            yield f"{names[into]}.rx_packets", f"at least {taken} frames, as were received", str(came)


@rule("VER-35", "", "every time lies between the run's beginning and its end, and is plausible", exit_code=2)
def times_within(evidence: Evidence) -> Iterator[Shortfall]:
    """No line was written before the run began or after it ended; no run is older than the toolkit."""
    run = evidence.run
    if run is None:
        return
    began = run["started_at"]
    if _moment(began) < _EARLIEST:
        yield "run.json: started_at", f"not before {_EARLIEST:%Y-%m-%d}, when there was no toolkit", began
    ended = run["ended_at"]
    if lines := evidence.lines:
        if ended is not None and lines[-1].at > ended:
            yield f"trial {lines[-1].seq}", f"a time up to the end, {ended}", lines[-1].at
        late = [line for line in lines[:-1] if ended is not None and line.at > ended]
        early = [line for line in lines if line.at < began]
        if not _clock_was_set(evidence, len(late) + len(early)):
            for line in (*early, *late):
                yield f"trial {line.seq}", f"a time from {began} to {ended or 'the end'}", line.at


def questions(evidence: Evidence) -> tuple[str, ...]:
    """Return what a reader should ask of a run: clocks that were set, breaks. Nothing here refuses a run."""
    run = evidence.run
    if run is None:
        return ()
    asked = []
    hurried = _hurried(evidence)
    if hurried and _clock_was_set(evidence, len(hurried)):
        trials = ", ".join(str(trial.trial.seq) for trial, _, _ in hurried[:5])
        asked.append(
            f"clock: the lines of trials {trials} are closer than the trials last: was the clock set?"
        )
    for entry in run.get("interruptions", ()):
        gap = _moment(entry["noticed_at"]) - _moment(entry["last_sign_at"])
        asked.append(
            f"break: the run stood still for {_shown(gap)} after trial {entry['after_trial']} and went on: "
            "was anything changed meanwhile?"
        )
    asked += _not_planned(evidence)
    ended_ns = 0
    for trial in evidence.trials:
        times = getattr(trial, "times", None)
        if times is not None:
            if times.began_ns < ended_ns:
                asked.append(
                    f"restart: before trial {trial.trial.seq} the monotonic clock began anew: a reboot?"
                )
            ended_ns = times.ended_ns
    return tuple(asked)


def _not_planned(evidence: Evidence) -> Iterator[str]:
    """Name the tests of a suite that a run left out: who chose them after the results is not to be seen."""
    planned = {one.test_id for one in evidence.plan}
    for suite in dict.fromkeys(case.suite for case in evidence.cases if case.test_id in planned):
        whole = [case.test_id for case in evidence.cases if case.suite == suite]
        left_out = [test_id for test_id in whole if test_id not in planned]
        if left_out:
            more = f" and {len(left_out) - _NAMED} more" if len(left_out) > _NAMED else ""
            yield (
                f"plan: {len(whole) - len(left_out)} of {len(whole)} tests of suite {suite} were planned, "
                "not "
                f"{', '.join(left_out[:_NAMED])}{more}: why these?"
            )


def _shown(gap: timedelta) -> str:
    return f"{max(0.0, gap.total_seconds()):.0f} s"


RULES: tuple[Rule[Evidence], ...] = (
    lines_apart,
    trials_last,
    within_line_rate,
    medium_of_testbed,
    interfaces_agree,
    times_within,
)
