"""What no run of real frames can show: trials shorter than their time, frames that no interface counted.

Each rule reads a run's own numbers and holds them against each other; none compares two clocks. A simulated
run, which says so, has no time and no interface, and only says when it began. What an honest machine can
bring about as well (a clock that was set, a run that went on after a break) is a question, not a finding:
`questions` asks it beside the verdict (docs/adr/0255).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from datetime import timedelta
from itertools import pairwise
from typing import Any

from bmwg.methodology.plan import planning
from bmwg.methodology.record.facts import below
from bmwg.methodology.records import Direction, TrialResult
from bmwg.methodology.trial.medium import mixed_fps
from bmwg.reports.checker.evidence import Evidence
from bmwg.reports.checker.findings import Rule, Shortfall, listed, rule
from bmwg.reports.releases import own_profile
from bmwg.reports.verify import patterns
from bmwg.reports.verify.timing import (
    CLOCK_ERROR_RATIO,
    CLOCK_ERROR_S,
    TESTER_CLOCK_RATIO,
    Execution,
    Within,
    clock_question,
    moment,
    outside,
    too_close,
    too_short,
)

_WAYS = ("forward", "reverse")  # by the port that sends
FORWARD, REVERSE = (0, 1), (1, 0)  # which of the two ports sends, which receives
ENDS = {  # of each stream
    Direction.FORWARD: (FORWARD,),
    Direction.REVERSE: (REVERSE,),
    Direction.BOTH: (FORWARD, REVERSE),
}
_RATE_RATIO = 1e-3  # choice: rounding of a load, and the ends of a short trial
_NAMED = 6  # entries that a question names of more
_CLOCKS_APART_S = 5.0  # choice: between a reading and the stamp of a line, on a busy machine
_PORTS = 2  # of the tester
_ROUND = 3  # choice: trials of a short run that may have lasted whole microseconds by chance
_INTERFACES = (
    "xdp",
    "af_xdp",
    "af_packet",
    "auto",
    "virtio_user",
)  # kinds of ports whose frames are counted:
# by the kernel at an interface, by DPDK's driver at a virtqueue


def _real(evidence: Evidence) -> bool:
    return evidence.run is not None and not evidence.run["simulated"] and evidence.of_frames


def _executions(evidence: Evidence) -> list[Execution]:
    """Return the trials of a run as the rules of any kind read them; none of a run without real frames."""
    if evidence.run is None or not _real(evidence):
        return []
    begins = evidence.begins
    found = []
    for trial in evidence.trials:
        found.append(
            Execution(
                where=f"trial {trial.trial.seq}",
                begin=begins[trial.trial.seq],
                end=trial.at,
                duration_ns=trial.trial.result.wall_time_ns,
                lasted=() if trial.fault else _lasted(trial.trial.result),
            )
        )
    return found


def _lasted(result: TrialResult) -> tuple[Within, ...]:
    """Return what a trial had to last: the time that it was to send for, and from first to last frame."""
    sending_ns = max((stream.effective_duration_ns for stream in result.streams), default=0)
    asked_ns = 0 if result.spec.burst else result.spec.due_s * 1e9
    return (
        Within(what="of sending, as its spec says", needed_ns=asked_ns),
        Within(what="between its first and last frame", needed_ns=sending_ns),
    )


@rule("VER-30", "", "a trial fits into the time between its line and the one before", exit_code=2)
def lines_apart(evidence: Evidence) -> Iterator[Shortfall]:
    """Between two lines lies at least the trial's wall time; monotonic readings hold with no excuse."""
    yield from too_close(_executions(evidence))
    if not _real(evidence):
        return
    for trial in evidence.trials:
        times = trial.times  # of lines that hold monotonic readings
        if times is None:
            continue
        span_ns = times.ended_ns - times.began_ns
        wall_ns = trial.trial.result.wall_time_ns
        if not trial.fault and wall_ns > span_ns * (1 + TESTER_CLOCK_RATIO) + CLOCK_ERROR_S * 1e9:
            yield (
                f"trial {trial.trial.seq}",
                f"{wall_ns / 1e9:.6g} s between its monotonic readings",
                f"{span_ns / 1e9:.6g} s",
            )


@rule("VER-31", "", "a trial takes at least the time that its frames were to be sent for", exit_code=2)
def trials_last(evidence: Evidence) -> Iterator[Shortfall]:
    """The wall time of a trial without fault is not below its duration, nor below what it sent for."""
    yield from too_short(_executions(evidence))


@rule("VER-32", "", "no load above what the medium can carry", exit_code=2)
def within_line_rate(evidence: Evidence) -> Iterator[Shortfall]:
    """No trial asks for a higher load, or sends more frames, than fit on the medium at its declared rate."""
    run = evidence.run
    if run is None or run["medium"]["line_rate_bps"] is None:
        return
    for trial in evidence.trials:
        result = trial.trial.result
        spec = result.spec
        sizes = spec.mix_octets or (spec.frame_octets,)  # a tag counts within
        limit = mixed_fps(run["medium"]["line_rate_bps"], sizes)
        asked = max(spec.load_fps, spec.then_load_fps or 0, spec.burst_fps or 0)
        if asked > limit * (1 + _RATE_RATIO) + 1:
            yield f"trial {trial.trial.seq}", f"at most {limit} frames/s on the medium", f"a load of {asked}"
        for number, stream in enumerate(result.streams):
            senders = len(spec.pattern.senders_to(number)) if spec.pattern else 1
            most = senders * (limit * spec.total_s * (1 + _RATE_RATIO) + len(sizes))  # a mix cut short
            if stream.sent_frames > most:
                yield (
                    f"trial {trial.trial.seq}",
                    f"at most {limit} frames/s on the medium",
                    f"{stream.sent_frames} frames sent in {spec.total_s:g} s",
                )


@rule("VER-33", "", "the medium is the one of the testbed and of the record", exit_code=2)
def medium_of_testbed(evidence: Evidence) -> Iterator[Shortfall]:
    """Kind and rate in the header are the testbed's; a port that the record calls virtual, or that is a
    socket, has no rate.
    """
    run = evidence.run
    if run is None or not evidence.of_frames:
        return
    medium = run["medium"]
    declared = run["testbed"].get("medium")
    declared = declared if isinstance(declared, dict) else {}
    for name, expected in (
        ("kind", declared.get("kind", _undeclared(run["testbed"]))),
        ("line_rate_bps", declared.get("line_rate_bps")),
    ):
        if medium[name] != expected:
            yield f"run.json: medium: {name}", f"{expected}, as the testbed says", str(medium[name])
    rate = medium["line_rate_bps"]
    if rate is None:
        return
    if _sockets(run["testbed"]) == _PORTS:
        yield "run.json: medium: line_rate_bps", "none: both ports of the tester are sockets", f"{rate} bit/s"
    for port, facts in recorded_ports(evidence):
        kind, speed = below(facts, "kind", "value"), below(facts, "speed_mbps", "value")
        if kind == "veth":
            yield "run.json: medium: line_rate_bps", f"none: the record calls {port} {kind}", f"{rate} bit/s"
        elif isinstance(speed, int) and rate > speed * 1_000_000:
            yield "run.json: medium: line_rate_bps", f"at most {speed} Mbit/s, as {port} has", f"{rate} bit/s"


def _undeclared(testbed: Mapping[str, Any]) -> str:
    """Return the medium's kind where the testbed file names none: what joins the tester's two ports."""
    return ("veth", "veth and vhost-user", "vhost-user")[_sockets(testbed)]


def _sockets(testbed: Mapping[str, Any]) -> int:
    """Return how many of the tester's two ports are at vhost-user sockets."""
    kinds = [link.get("kind") for link in _entries(testbed.get("links")) if isinstance(link, dict)]
    return min(_PORTS, kinds.count("vhost-user"))


def recorded_ports(evidence: Evidence) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Give the recorded facts of the tester's ports, each once."""
    ports = below(evidence.run, "testbed", "tester", "ports")
    names = {str(port).removeprefix("tester/") for port in ports} if isinstance(ports, list) else set()
    seen: set[str] = set()
    for nodes in (evidence.platform or {}).get("records", {}).values():
        group = below(nodes, "tester", "fields", "nic") or {}
        for name in sorted(names & set(group) - seen):
            if isinstance(group[name], dict):
                seen.add(name)
                yield name, group[name]


@rule("VER-34", "", "what interfaces counted is what the tester counted", exit_code=2)
def interfaces_agree(evidence: Evidence) -> Iterator[Shortfall]:
    """No tester counts more frames than its interfaces; where the kernel counts, its counts are there.

    Of devices on the PCI bus, which count when they like, a reader is asked (`pci_ports`).
    """
    if evidence.run is None or not _real(evidence):
        return
    counting, order = has_interfaces(evidence), ports_in_order(evidence.run["testbed"])
    if not counting and on_pci(evidence):
        return
    silent = taps(evidence)
    for trial in evidence.trials:
        where = f"trial {trial.trial.seq}"
        counters = dict(trial.trial.result.auxiliary)
        names = counting_ports(counters, order)
        if (pattern := trial.trial.result.spec.pattern) is not None:
            for text, expected, found in patterns.counted_less(
                pattern, order, counters, trial.trial.result, counting=counting and not trial.fault
            ):
                yield f"{where}: {text}", expected, found
        elif len(names) == 2:
            for text, expected, found in counted_less(names, counters, trial.trial.result, silent):
                yield f"{where}: {text}", expected, found
        elif counting and not trial.fault:
            yield where, "what the tester's two interfaces counted", f"counters of {len(names)}"


def has_interfaces(evidence: Evidence) -> bool:
    """Whether the kernel counts at the embedded tester's ports: by their kind, or by the record."""
    tester = evidence.run["testbed"].get("tester") if evidence.run else None
    if not isinstance(tester, dict) or tester.get("driver") != "embedded":
        return False
    io = tester.get("io")
    return all(kind in _INTERFACES for kind in (io if isinstance(io, list) else [io])) or any(
        below(facts, "kind", "value") == "veth" for _, facts in recorded_ports(evidence)
    )


def on_pci(evidence: Evidence) -> bool:
    """Whether the tester says that its ports are devices on the PCI bus."""
    tester = evidence.run["testbed"].get("tester") if evidence.run else None
    return isinstance(tester, dict) and tester.get("io") == "pci"


def counting_ports(counters: Mapping[str, int], order: list[str]) -> list[str]:
    """Return the names of the ports whose interface or device counted, in the order of the testbed file."""
    names = [name.removesuffix(".tx_packets") for name in counters if name.endswith(".tx_packets")]
    return sorted(names, key=lambda name: (order.index(name) if name in order else len(order), name))


def ports_in_order(testbed: Mapping[str, Any]) -> list[str]:
    """Return the tester's interfaces in the testbed file's order: first those of a wire, then its ports."""
    ports, links = below(testbed, "tester", "ports"), testbed.get("links")
    pairs = [(link.get("a"), link.get("b")) for link in _entries(links) if isinstance(link, dict)]
    wires = [end for pair in pairs if all(str(end).startswith("tester/") for end in pair) for end in pair]
    return [str(name).removeprefix("tester/") for name in (*wires, *_entries(ports))]


def _entries(found: object) -> list[Any]:
    return found if isinstance(found, list) else []


def taps(evidence: Evidence) -> frozenset[str]:
    """Return the tester's ports that are taps by the record: one may count nothing that io af_xdp takes."""
    ports = recorded_ports(evidence)
    return frozenset(name for name, facts in ports if below(facts, "kind", "value") == "tun")


def came_to(counters: Mapping[str, int], name: str) -> int:
    """Return how many frames an interface saw come: a tap counts as dropped what an XDP program takes."""
    return max(counters.get(f"{name}.{counter}", 0) for counter in ("rx_packets", "rx_dropped"))


def counted_less(
    names: list[str], counters: Mapping[str, int], result: TrialResult, silent: Collection[str] = ()
) -> Iterator[Shortfall]:
    """Give each count of the tester that is above what its two interfaces counted.

    Of ports that are `silent` it is none where the interface counted no frame at all: a reader is asked.
    """
    for stream, (out, into) in zip(result.streams, ENDS[result.spec.direction], strict=False):
        left = counters[f"{names[out]}.tx_packets"] + counters.get(f"{names[out]}.tx_dropped", 0)
        left += counters.get(f"{_WAYS[out]}.queued_frames", 0)
        if stream.sent_frames > left:
            yield f"{names[out]}.tx_packets", f"at least {stream.sent_frames} frames, as were sent", str(left)
        came = came_to(counters, names[into])
        taken = stream.received_frames + stream.duplicate_frames
        if taken > came and (came or names[into] not in silent):
            yield f"{names[into]}.rx_packets", f"at least {taken} frames, as were received", str(came)


@rule("VER-35", "", "every time lies between the run's beginning and its end, and is plausible", exit_code=2)
def times_within(evidence: Evidence) -> Iterator[Shortfall]:
    """No line was written before the run began or after it ended; no run is older than the toolkit."""
    if evidence.run is not None:
        stamped = [
            Execution(where=f"trial {line.seq}", begin=line.at, end=line.at, duration_ns=0)
            for line in evidence.lines
        ]
        yield from outside(stamped, evidence.run["started_at"], evidence.run["ended_at"])


def questions(evidence: Evidence) -> tuple[str, ...]:
    """Return what a reader should ask of a run: clocks that were set, breaks. Nothing here refuses a run."""
    run = evidence.run
    if run is None:
        return ()
    asked: list[str] = []
    asked += clock_question(_executions(evidence))
    for entry in run.get("interruptions", ()):
        gap = moment(entry["noticed_at"]) - moment(entry["last_sign_at"])
        asked.append(
            f"break: the run stood still for {_shown(gap)} after trial {entry['after_trial']} and went on: "
            "was anything changed meanwhile?"
        )
    asked += _not_planned(evidence)
    asked += [*_two_clocks(evidence), *_too_round(evidence)]
    ended_ns = 0
    for trial in evidence.trials:
        times = trial.times
        if times is not None:
            if times.began_ns < ended_ns:
                asked.append(
                    f"restart: before trial {trial.trial.seq} the monotonic clock began anew: a reboot?"
                )
            ended_ns = times.ended_ns
    return tuple(asked)


def _not_planned(evidence: Evidence) -> Iterator[str]:
    """Name the tests of a suite that a run left out: who chose them after the results is not to be seen."""
    planned = {cell.test_id for cell in evidence.plan}
    offered = _offered(evidence)
    for suite in dict.fromkeys(case.suite for case in evidence.cases if case.test_id in planned):
        whole = [case.test_id for case in evidence.cases if case.suite == suite and case.test_id in offered]
        left_out = [test_id for test_id in whole if test_id not in planned]
        if left_out:
            yield (
                f"plan: {len(whole) - len(left_out)} of {len(whole)} tests of suite {suite} were planned, "
                f"not {listed(left_out, _NAMED)}: why these?"
            )


def _offered(evidence: Evidence) -> frozenset[str]:
    """Return the tests among which somebody chose: a profile of our own leaves out some by itself."""
    every = frozenset(case.test_id for case in evidence.cases)
    run = evidence.run
    if run is None or evidence.profile is None or not own_profile(run, evidence.load):
        return every
    networks = run["testbed"].get("networks")
    tags = planning.Networks.of(networks if isinstance(networks, dict) else {})
    return frozenset(cell.test_id for cell in planning.cells(evidence.profile, tags, test_ids=every))


def _two_clocks(evidence: Evidence) -> Iterator[str]:
    """Name trials between whose stamps another time passed than between their monotonic readings."""
    found = []
    for before, after in pairwise(evidence.trials):
        if before.times is None or after.times is None or after.times.ended_ns < before.times.ended_ns:
            continue
        by_stamps_s = (moment(after.at) - moment(before.at)).total_seconds()
        by_readings_s = (after.times.ended_ns - before.times.ended_ns) / 1e9
        if abs(by_stamps_s - by_readings_s) > _CLOCKS_APART_S + by_readings_s * CLOCK_ERROR_RATIO:
            found.append(f"trial {after.trial.seq} ({by_stamps_s - by_readings_s:+.0f} s)")
    if found:
        yield f"clock: before {listed(found, _NAMED)} stamps and readings differ: was it set?"


def _too_round(evidence: Evidence) -> Iterator[str]:
    """Ask of a run whose trials lasted whole microseconds: a clock that counts ns gives one in a thousand."""
    if not _real(evidence):
        return
    mine = [trial.trial.result.wall_time_ns for trial in evidence.trials if not trial.fault]
    number = sum(wall_ns % 1_000 == 0 for wall_ns in mine)
    if number > max(_ROUND, len(mine) // 10):
        yield f"times: {number} of {len(mine)} trials lasted whole microseconds: did a clock measure them?"


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
