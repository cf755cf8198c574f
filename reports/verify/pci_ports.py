"""What to ask of a tester's ports that are devices or taps: what they counted, and what a link carries.

A device on the PCI bus is counted by its own driver, at its own moments, and a link can be read wrongly. So
nothing here refuses a run; of interfaces that the kernel counts, VER-34 does (docs/adr/0484).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from bmwg.methodology.record.facts import below
from bmwg.methodology.records import TrialResult, TrialSpec
from bmwg.methodology.trial.medium import mixed_fps
from bmwg.reports.checker.evidence import Evidence, Trial
from bmwg.reports.checker.findings import listed, shown
from bmwg.reports.verify import patterns
from bmwg.reports.verify.physics import (
    ENDS,
    came_to,
    counted_less,
    counting_ports,
    has_interfaces,
    on_pci,
    ports_in_order,
    recorded_ports,
    taps,
)

LINK = ".link_mbps"  # auxiliary count of a port: the speed of its link, as its driver tells it
_NAMED = 3  # trials that a question names
_RATE_RATIO = 1e-3  # choice: rounding of a load


def questions(evidence: Evidence) -> Iterator[str]:
    """Ask where devices counted less than the tester, or nothing, and where a load exceeds a link."""
    run = evidence.run
    if run is None or run["simulated"] or not evidence.of_frames:
        return
    if on_pci(evidence) and not has_interfaces(evidence):
        yield from _counted(evidence)
    if deaf := sorted(_deaf(evidence)):
        yield (
            f"ports: {', '.join(deaf)}: a tap that counted none of the frames that the tester received; "
            "what else shows them?"
        )
    yield from _carried(evidence)


def _deaf(evidence: Evidence) -> set[str]:
    """Return the taps that counted nothing in a trial whose tester received frames at them."""
    silent, found = taps(evidence), set()
    order = ports_in_order(evidence.run["testbed"] if evidence.run else {})
    for trial in evidence.trials if silent else ():
        result, counters = trial.trial.result, dict(trial.trial.result.auxiliary)
        names = counting_ports(counters, order)
        if result.spec.pattern is None and len(names) == 2:
            ends = zip(result.streams, ENDS[result.spec.direction], strict=False)
            found |= {
                names[into]
                for stream, (_, into) in ends
                if stream.received_frames and names[into] in silent and not came_to(counters, names[into])
            }
    return found


def _counted(evidence: Evidence) -> Iterator[str]:
    order = ports_in_order(evidence.run["testbed"] if evidence.run else {})
    silent: list[Trial] = []
    less: list[Trial] = []
    crowded: list[Trial] = []
    first = ""
    for trial in evidence.trials:
        if trial.fault:
            continue
        result, counters = trial.trial.result, dict(trial.trial.result.auxiliary)
        names = counting_ports(counters, order)
        pattern = result.spec.pattern
        if len(names) != (2 if pattern is None else pattern.ports):
            silent.append(trial)
            continue
        wrong = (
            counted_less(names, counters, result)
            if pattern is None
            else patterns.counted_less(pattern, names, counters, result, counting=True)
        )
        for what, expected, found in wrong:
            if not less or less[-1] is not trial:
                less.append(trial)
            first = first or f"{shown(what)} is {found}, expected {expected}"
        if pattern is None and any(_untold(result, counters, names)):
            crowded.append(trial)
    if silent:
        yield f"ports: of {_listed(silent)} no device's counters are told: what did the tester's ports count?"
    if less:
        yield f"ports: in {_listed(less)} the devices counted fewer frames than the tester ({first}): why?"
    if crowded:
        yield (
            f"ports: in {_listed(crowded)} the tester's own ports had no room for frames that count as lost "
            "by the device under test: whose loss was it?"
        )


def _untold(result: TrialResult, counters: Mapping[str, int], names: list[str]) -> Iterator[bool]:
    """Tell of each stream whether its port dropped frames that the trial does not call the tester's own."""
    for stream, (_, into) in zip(result.streams, ENDS[result.spec.direction], strict=False):
        no_room = min(counters.get(f"{names[into]}.rx_dropped", 0), stream.lost_frames)
        yield stream.tester_dropped_frames < no_room


def _carried(evidence: Evidence) -> Iterator[str]:
    pci, recorded = on_pci(evidence), _recorded_mbps(evidence)
    if not pci and recorded is None:
        return
    beyond: list[Trial] = []
    first = ""
    for trial in evidence.trials:
        told = [count for name, count in trial.trial.result.auxiliary if pci and name.endswith(LINK)]
        link_mbps = min((count for count in told if count > 0), default=recorded)
        if not link_mbps or trial.fault:
            continue
        spec = trial.trial.result.spec
        limit = mixed_fps(link_mbps * 1_000_000, spec.mix_octets or (spec.frame_octets,))
        if (offered := _offered(spec)) > limit * (1 + _RATE_RATIO) + 1:
            beyond.append(trial)
            first = first or (
                f"{offered} frames/s of {spec.frame_octets} octets{' at most' if spec.mix_octets else ''},"
                f" on a link of {link_mbps} Mbit/s that carries {limit}"
            )
    if beyond:
        yield f"link: {_listed(beyond)} offered more than the recorded link carries ({first}): which is it?"


def _offered(spec: TrialSpec) -> int:
    return max(spec.load_fps, spec.then_load_fps or 0, spec.burst_fps or 0)


def _recorded_mbps(evidence: Evidence) -> int | None:
    """Return the slowest recorded speed of the tester's ports; a virtual port's is no speed of a link."""
    devices = (facts for _, facts in recorded_ports(evidence) if below(facts, "kind", "value") == "device")
    speeds = (below(facts, "speed_mbps", "value") for facts in devices)
    return min((speed for speed in speeds if isinstance(speed, int) and speed > 0), default=None)


def _listed(trials: Sequence[Trial]) -> str:
    return f"trial {listed([trial.trial.seq for trial in trials], _NAMED)}"
