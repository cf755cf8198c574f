"""The three runs of each rule of RFC 2889: a switch between four ports, by the simulated tester."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from foreign import Change, outcomes, said, spec, trials, value
from runs import MEDIUM, TPUT, Tester, run
from three import Make, Three

from bmwg.methodology.records import TrialResult, TrialSpec
from bmwg.methodology.trial.frame_times import LatencyHistogram
from bmwg.methodology.trial.pattern import FIRST_SENT, KNOWN_BEFORE

THROUGHPUT, RATES, BUSY = "R2889-TPUT-1.1", "R2889-FR-1.1", "R2889-CONG-1.1"
CAPACITY, RATE = "R2889-CACHE-1.1", "R2889-LEARN-1.1"
NO_LATENCY = LatencyHistogram()  # of counts that a tester here changes
BED = {
    "links": [{"a": f"tester/p{n}", "b": f"dut1/nic{n}"} for n in range(4)],
    "tester": {"ports": [f"tester/p{n}" for n in range(4)]},
}
FR, CONG = "forwarding_rate.rfc2889_5_6", "congestion_control.rfc2889_5_5"
ILL, LOSS, BURST = (
    "illegal_frames.rfc2889_5_9",
    "frame_loss_ratio.rfc2544_26_3",
    "burst_interval.rfc2544_21.64",
)
CACHE, LEARN = "address_caching_capacity.rfc2889_5_7", "address_learning_rate.rfc2889_5_8"


def switch(
    *tests: str,
    pattern: str,
    profile: dict[str, Any] | None = None,
    sizes: tuple[int, ...] = (64,),
    **more: Any,
) -> Make:
    """A run of a bridge between four ports, by one pattern."""
    line = {
        "path": "switch",
        "hosting": "baremetal",
        "function": "linux-bridge",
        "networks": "none",
        "frame_octets": list(sizes),
        "axes": {"pattern": [f"{pattern}-4"]},
    }
    wire = {"path": "wire", "hosting": "none", "function": "none", "networks": "none"}
    wanted = {
        "suites": {"rfc2889": {"paths": [line]}},
        "paths": [{**wire, "frame_octets": list(sizes)}],
        **(profile or {}),
    }
    bed = {**BED, **more.pop("testbed", {})}
    return run(*tests, base="rfc2889-quick", profile=wanted, testbed=bed, **more)


class OneOnly(Tester):
    """Sends all frames of a port to one of its receivers, and those for one alone to another."""

    def run(self, spec: TrialSpec, /) -> TrialResult:
        result = super().run(spec)
        if spec.pattern is None:
            return result
        wanted = [0] * spec.pattern.ports
        for to in spec.pattern.to:
            if to:
                wanted[(to[0] + 1) % len(wanted) if len(to) == 1 else min(to)] += spec.intended_frames
        streams = tuple(
            replace(one, intended_frames=count, sent_frames=count, received_frames=count, latency=NO_LATENCY)
            for one, count in zip(result.streams, wanted, strict=True)
        )
        return replace(result, streams=streams)


class LosesSometimes(Tester):
    """Loses a frame in every fourth trial at high loads, as a search for a conditional throughput allows."""

    trials = 0

    def run(self, spec: TrialSpec, /) -> TrialResult:
        result = super().run(spec)
        if spec.pattern is None or spec.load_fps < 200_000:
            return result
        self.trials += 1
        lost = int(self.trials % 4 == 0)
        streams = tuple(
            replace(one, received_frames=max(0, one.received_frames - lost), latency=NO_LATENCY)
            for one in result.streams
        )
        return replace(result, streams=streams)


def ageing(seconds: int) -> Change:
    """Let each deployment have told the ageing time that was read of its switch."""

    def change(data: dict[str, Any], journal: list[dict[str, Any]], platform: dict[str, Any]) -> None:
        for told in platform["deployments"].values():
            told["function"] = {"settings": {"asked": {}, "found": {"ageing_s": seconds}}}

    return change


def two_ports(one: dict[str, Any]) -> None:
    """Let a trial have been between the first two of its ports."""
    del one["result"]["streams"][2:]
    del one["spec"]["pattern"]["to"][2:]


def other_number(data: dict[str, Any], journal: list[dict[str, Any]], platform: dict[str, Any]) -> None:
    """Let the first trial that teaches have taught one address more."""
    first = next(one for one in journal if one["metric"] == LEARN and one["phase"] == "learning")
    first["spec"]["pattern"]["sources"] += 1


def unlike(metric: str, name: str) -> Change:
    """Let an outcome have stated another number."""
    return outcomes(metric, value(name, number=12_345))


class Quiet(Tester):
    """Says nothing of its loads and of its trials between several ports."""

    def describe(self):
        kept = super().describe()
        return {name: said for name, said in kept.items() if name not in ("load_mode", "duplex", "patterns")}


class StartsApart(Tester):
    """Lets each port begin a tenth of the trial after the one before."""

    def run(self, spec: TrialSpec, /) -> TrialResult:
        result = super().run(spec)
        begins = [name for name, _ in result.auxiliary if name.endswith(FIRST_SENT)]
        late = {name: round(place * spec.duration_s * 1e8) for place, name in enumerate(begins)}
        counts = tuple((name, late.get(name, count)) for name, count in result.auxiliary)
        return replace(result, auxiliary=counts)


def known(addresses: int) -> Change:
    """Let each trial behind learning frames have found so many addresses in the table."""

    def change(data: dict[str, Any], journal: list[dict[str, Any]], platform: dict[str, Any]) -> None:
        for one in journal:
            pattern = one["spec"].get("pattern")
            if pattern is not None and not pattern.get("unprepared"):
                one["result"]["auxiliary"][KNOWN_BEFORE] = addresses

    return change


def of_patterns(change: Callable[[dict[str, Any]], None]) -> Change:
    """Change each trial of a pattern."""

    def changed(data: dict[str, Any], journal: list[dict[str, Any]], platform: dict[str, Any]) -> None:
        for one in journal:
            if one["spec"].get("pattern") is not None:
                change(one)

    return changed


def three_addresses(one: dict[str, Any]) -> None:
    """Let each port have had three addresses."""
    one["spec"]["pattern"]["sources"] = one["spec"]["pattern"]["destinations"] = 3


def uneven(data: dict[str, Any], journal: list[dict[str, Any]], platform: dict[str, Any]) -> None:
    """Let the second trial of forwarding rates have been at another load."""
    mine = [one for one in journal if one["metric"] == FR]
    mine[1]["spec"]["load_fps"] += 7


def silent(one: dict[str, Any]) -> None:
    """Let an answer have no remark."""
    one["quality"] = []


MESH = switch(THROUGHPUT, RATES, pattern="full-mesh")
MANY = switch(THROUGHPUT, RATES, pattern="many-to-one")
HALVES = switch(THROUGHPUT, pattern="one-way-mesh")
CONGESTED = switch(BUSY, pattern="congestion")
TABLE = switch(CAPACITY, pattern="address-table")
LEARNING = switch(RATE, pattern="address-table", device={"table_entries": 100})
NONE = run(TPUT)
LOSSES = switch("R2889-LOSS-1.1", RATES, THROUGHPUT, pattern="broadcast")
BURSTS = switch("R2889-BURST-1.2", pattern="full-mesh", testbed=MEDIUM)
ILLEGAL = switch("R2889-ILL-1.1", pattern="undersize")
QUIET = switch(THROUGHPUT, RATES, pattern="full-mesh", tester=Quiet)
SLOW = {"knee_fps": 100_000}  # below what the tester is qualified for
SLOW_BURSTS = switch("R2889-BURST-1.1", pattern="full-mesh", sizes=(64, 512), device=SLOW)  # no throughput
UNTAUGHT = {"trial": {"learning": "none"}}

CASES: dict[str, Three] = {
    "RFC2889-3-01": Three(
        met=MESH,
        not_met=switch(THROUGHPUT, pattern="full-mesh", profile=UNTAUGHT),
        not_applicable=NONE,
    ),
    "RFC2889-5.1.3-03": Three(
        met=MESH,
        not_met=switch(THROUGHPUT, pattern="full-mesh", tester=OneOnly),
        not_applicable=MANY,
    ),
    "RFC2889-5.2": Three(
        met=MANY,
        not_met=switch(THROUGHPUT, pattern="many-to-one", tester=OneOnly),
        not_applicable=MESH,
    ),
    "RFC2889-5.4": Three(
        met=HALVES,
        not_met=switch(THROUGHPUT, pattern="one-way-mesh", tester=OneOnly),
        not_applicable=MESH,
    ),
    "RFC2889-5.1.4.1": Three(
        met=MANY,
        not_met=switch(THROUGHPUT, pattern="many-to-one", tester=LosesSometimes),
        not_applicable=SLOW_BURSTS,
    ),
    "RFC2889-5.1.4.2-02": Three(
        met=MANY, not_met=said(MANY, unlike(FR, f"{FR}.applied")), not_applicable=NONE
    ),
    "RFC2889-5.1.4.2-03": Three(met=MANY, not_met=said(MANY, unlike(FR, f"{FR}.frmol")), not_applicable=NONE),
    "RFC2889-5.1.4.2-04": Three(met=MANY, not_met=said(MANY, unlike(FR, FR)), not_applicable=NONE),
    "RFC2889-5.6.3.1-02": Three(
        met=MANY,
        not_met=switch(THROUGHPUT, RATES, pattern="many-to-one", profile=UNTAUGHT),
        not_applicable=HALVES,
    ),
    "RFC2889-5.5": Three(
        met=CONGESTED,
        not_met=said(CONGESTED, unlike(CONG, f"{CONG}.congested.loss_ratio")),
        not_applicable=NONE,
    ),
    "RFC2889-5.7.3-01": Three(
        met=said(TABLE, ageing(300)), not_met=said(TABLE, ageing(0)), not_applicable=LEARNING
    ),
    "RFC2889-5.7.3-02": Three(
        met=TABLE, not_met=said(TABLE, trials(CACHE, two_ports)), not_applicable=LEARNING
    ),
    "RFC2889-5.7.3-04": Three(
        met=TABLE, not_met=said(TABLE, trials(CACHE, two_ports)), not_applicable=LEARNING
    ),
    "RFC2889-5.8.3-01": Three(
        met=said(LEARNING, ageing(300)),
        not_met=said(LEARNING, ageing(300), trials(LEARN, two_ports)),
        not_applicable=TABLE,
    ),
    "RFC2889-5.8.3-02": Three(met=LEARNING, not_met=said(LEARNING, other_number), not_applicable=TABLE),
    "RFC2889-3-02": Three(met=said(MESH, known(4)), not_met=said(MESH, known(3)), not_applicable=NONE),
    "RFC2889-3-03": Three(met=said(MESH, ageing(300)), not_met=said(MESH, ageing(0)), not_applicable=NONE),
    "RFC2889-3-05": Three(met=MESH, not_met=QUIET, not_applicable=NONE),
    "RFC2889-4-01": Three(
        met=MESH,
        not_met=switch(THROUGHPUT, pattern="full-mesh", device={"signature": [28, 14]}),
        not_applicable=NONE,
    ),
    "RFC2889-5.1.2-01": Three(met=MESH, not_met=QUIET, not_applicable=NONE),
    "RFC2889-5.1.2-02": Three(
        met=BURSTS, not_met=said(BURSTS, trials(BURST, spec(burst_fps=1_000_000))), not_applicable=MESH
    ),
    "RFC2889-5.1.2-03": Three(
        met=BURSTS, not_met=said(BURSTS, trials(BURST, spec(burst_frames=1_024))), not_applicable=NONE
    ),
    "RFC2889-5.1.2-04": Three(
        met=MESH, not_met=said(MESH, of_patterns(three_addresses)), not_applicable=NONE
    ),
    "RFC2889-5.1.2-05": Three(
        met=switch(
            BUSY, pattern="congestion", profile={"benchmarks": {"congestion_control": {"trial_s": 1}}}
        ),
        not_met=MESH,
        not_applicable=NONE,
    ),
    "RFC2889-5.1.3-01": Three(met=MESH, not_met=QUIET, not_applicable=NONE),
    "RFC2889-B": Three(met=MESH, not_met=QUIET, not_applicable=NONE),
    "RFC2889-5.1.3-02": Three(
        met=MESH,
        not_met=switch(THROUGHPUT, pattern="full-mesh", tester=StartsApart),
        not_applicable=NONE,
    ),
    "RFC2889-5.1.3-05": Three(
        met=MESH,
        not_met=switch(THROUGHPUT, pattern="full-mesh", profile=UNTAUGHT),
        not_applicable=NONE,
    ),
    "RFC2889-5.1.4-01": Three(met=MESH, not_met=QUIET, not_applicable=NONE),
    "RFC2889-5.1.4-02": Three(met=MESH, not_met=QUIET, not_applicable=NONE),
    "RFC2889-5.6.4": Three(met=MANY, not_met=QUIET, not_applicable=HALVES),
    "RFC2889-5.7.3-05": Three(
        met=TABLE,
        not_met=switch(CAPACITY, pattern="address-table", tester=Quiet),
        not_applicable=LEARNING,
    ),
    "RFC2889-5.7.5-02": Three(
        met=TABLE,
        not_met=switch(CAPACITY, pattern="address-table", tester=Quiet),
        not_applicable=LEARNING,
    ),
    "RFC2889-5.1.4-03": Three(met=LOSSES, not_met=said(LOSSES, unlike(LOSS, LOSS)), not_applicable=NONE),
    "RFC2889-5.10.2": Three(
        met=LOSSES, not_met=switch(THROUGHPUT, pattern="broadcast", tester=Quiet), not_applicable=MESH
    ),
    "RFC2889-B.1": Three(met=MANY, not_met=said(MANY, unlike(FR, f"{FR}.mol")), not_applicable=NONE),
    "RFC2889-5.1.4.2-01": Three(
        met=MANY, not_met=said(MANY, unlike(FR, f"{FR}.applied")), not_applicable=NONE
    ),
    "RFC2889-5.6.5-01": Three(
        met=MANY, not_met=said(MANY, unlike(FR, f"{FR}.intended")), not_applicable=NONE
    ),
    "RFC2889-5.6.5-02": Three(
        met=MANY, not_met=said(MANY, unlike(FR, f"{FR}.intended")), not_applicable=NONE
    ),
    "RFC2889-5.10.4": Three(
        met=LOSSES, not_met=switch(THROUGHPUT, RATES, pattern="broadcast"), not_applicable=MESH
    ),
    "RFC2889-5.6.2": Three(met=MANY, not_met=said(MANY, uneven), not_applicable=HALVES),
    "RFC2889-5.7.2": Three(
        met=said(TABLE, ageing(300)), not_met=said(TABLE, ageing(0)), not_applicable=LEARNING
    ),
    "RFC2889-5.8.2": Three(
        met=said(LEARNING, ageing(300)), not_met=said(LEARNING, ageing(0)), not_applicable=TABLE
    ),
    "RFC2889-5.9.2": Three(
        met=ILLEGAL,
        not_met=switch(
            "R2889-ILL-1.1",
            pattern="undersize",
            profile={"benchmarks": {"illegal_frames": {"loads_percent": [5]}}},
        ),
        not_applicable=MESH,
    ),
    "RFC2889-5.9.3-03": Three(met=ILLEGAL, not_met=said(ILLEGAL, unlike(ILL, ILL)), not_applicable=MESH),
    "RFC2889-5.7.5-01": Three(
        met=TABLE, not_met=said(TABLE, trials(CACHE, two_ports)), not_applicable=LEARNING
    ),
    "RFC2889-5.8.5": Three(
        met=LEARNING, not_met=said(LEARNING, trials(LEARN, two_ports)), not_applicable=TABLE
    ),
    "RFC2889-5.1.5-01": Three(
        met=switch(THROUGHPUT, pattern="full-mesh", sizes=(64, 512), device=SLOW),
        not_met=switch(THROUGHPUT, pattern="full-mesh", device=SLOW),
        not_applicable=SLOW_BURSTS,
    ),
    "RFC2889-5.10.5": Three(
        met=switch(THROUGHPUT, pattern="broadcast", sizes=(64, 512), device=SLOW),
        not_met=switch(THROUGHPUT, pattern="broadcast", device=SLOW),
        not_applicable=MESH,
    ),
    "RFC2889-5.9.5": Three(met=ILLEGAL, not_met=said(ILLEGAL, outcomes(ILL, silent)), not_applicable=MESH),
}
NOT_YET: frozenset[str] = frozenset()
