"""What the metrics of VSPERF's tests mean, and in which section of its Level Test Design (LTD)."""

from __future__ import annotations

from bmwg.methodology.benchmarks import (
    alarmed_soak,
    beside_neighbour,
    first_frames,
    flow_changes,
    flow_scale,
    load_profile,
    match_action,
    of_n,
    recovery_latency,
)
from bmwg.reports.render.sections.definition import Definition

_FPS = "frames/s per port and direction"
_AT = (
    "at the delta that the name says, in percent: below 0 of the throughput, above 0 of the way from there to"
    " the highest load"
)
_PARTS = {
    load_profile.LOAD: (_FPS, "load"),
    load_profile.LOSS: ("1", "share of the frames sent which never came"),
    load_profile.FORWARDED: (_FPS, "rate at which frames came, mean of the directions"),
    load_profile.MEAN: ("ns", "mean latency of all frames that came"),
    load_profile.P99: ("ns", "99 % of the frames that came had at most this latency"),
}
_PROFILES = {load_profile.METRIC: "LTD 3.2.2.1.3", load_profile.CHAIN_METRIC: "LTD 3.2.2.3.4"}

_OF_N = "LTD 3.2.2.1.13"
_SOAK = "LTD 3.2.2.1.6 and 3.2.2.1.7"


def _of_n(metric: str, decides: str) -> dict[str, Definition]:
    return {
        metric: Definition(
            _FPS, _OF_N, f"highest load tried by the search at which {decides} of N trials lost no frame"
        ),
        f"{metric}.{of_n.FAILED}": Definition(
            _FPS, _OF_N, "lowest load tried by the search at which it lost frames"
        ),
        f"{metric}.{of_n.HELD_LOSSLESS}": Definition(
            "trials", _OF_N, "trials of N without loss at the highest load that held"
        ),
        f"{metric}.{of_n.FAILED_LOSSLESS}": Definition(
            "trials", _OF_N, "trials of N without loss at the lowest load that did not"
        ),
        f"{metric}.{of_n.LATENCY}": Definition(
            "ns", _OF_N, "mean latency of all frames at the highest load that held"
        ),
    }


_SOAKED = {
    "": ("1", _SOAK, "share of the frames of all valid intervals which never came, at the throughput"),
    ".worst_loss_ratio": ("1", _SOAK, "largest loss ratio of one interval"),
    ".lossy_intervals": ("intervals", _SOAK, "valid intervals that lost frames"),
    ".alarms": ("intervals", _SOAK, "valid intervals that lost a larger share than 10^-7 %"),
    ".valid_intervals": ("intervals", "no clause", "intervals whose procedure held; none is repeated"),
    ".forwarded_least": (
        _FPS,
        _SOAK,
        "least rate at which frames came in an interval, mean of the directions",
    ),
    ".forwarded_most": (
        _FPS,
        _SOAK,
        "highest rate at which frames came in an interval, mean of the directions",
    ),
    ".pdv_p99.median": (
        "ns",
        "LTD 3.2.2.2.2, RFC 5481 section 4.2",
        "median over intervals of the 99th percentile delay less the least one, of the worse direction",
    ),
    ".pdv_p99.max": ("ns", "LTD 3.2.2.2.2, RFC 5481 section 4.2", "largest of an interval of that"),
}

VSPERF = {
    match_action.METRIC: Definition(
        _FPS,
        "LTD 3.2.2.1.15, RFC 2544 section 26.1",
        "throughput where a flow for each port matches frames and acts on them as the name says; the"
        " cost of an action is what is less than with another one",
    ),
    first_frames.METRIC: Definition(
        "ns",
        "LTD 3.2.2.2.1",
        "mean latency of first frames of flows, which the switch looks up in its table of flows, over"
        " all repetitions",
    ),
    first_frames.LATER: Definition(
        "ns",
        "LTD 3.2.2.2.1",
        "mean latency of the second frame of each of these flows, which its caches know",
    ),
    beside_neighbour.STRESS.metric: Definition(
        _FPS,
        "LTD 3.2.2.6.1, RFC 2544 section 26.1",
        "throughput while a neighbour uses up CPU or memory bandwidth on the CPUs that its name says,"
        " or, by the same search, without one",
    ),
    beside_neighbour.MEMORY_BANDWIDTH.metric: Definition(
        _FPS,
        "LTD 3.2.2.3.2, RFC 2544 section 26.1",
        "throughput while a neighbour reads and writes memory, as often the one as the other, on the"
        " CPUs that its name says, or, by the same search, without one",
    ),
    flow_scale.METRIC: Definition(
        _FPS,
        "LTD 3.2.2.3.1, RFC 2544 section 26.1",
        "throughput where each flow of the test frames has an entry of its own in the switch's table,"
        " given to it before the search; none of them times out",
    ),
    flow_scale.EXPIRING_METRIC: Definition(
        _FPS,
        "LTD 3.2.2.3.1, RFC 2544 section 26.1",
        "throughput where each flow of the test frames has an entry of its own in the switch's table,"
        f" which the switch removes after {flow_scale.TIMEOUT_S} s and is given again at once",
    ),
    flow_changes.METRIC: Definition(
        _FPS,
        "LTD 3.2.2.5.1, RFC 2544 section 26.1",
        "throughput while so many idle flows stand in the switch's table as the name says, and so"
        " many are added or removed each second: nine tenths of them at least beside the trials that prove"
        " its lower end",
    ),
    **{
        f"{metric}.{of_n.LATENCY}": Definition(
            "ns",
            f"{clause}, LTP 3.2.5.3.2",
            "mean latency of all frames that came in the trials of the throughput's lower bound",
        )
        for clause, metrics in (
            ("LTD 3.2.2.1.15", [one.metric for one in match_action.KNOWN.values()]),
            ("LTD 3.2.2.5.1", [one.metric for one in flow_changes.couplings()]),
        )
        for metric in metrics
    },
    **_of_n(of_n.WORST, "each"),
    **_of_n(of_n.BEST, "one"),
    **{
        f"{metric}{part}": Definition(unit, clause, meaning)
        for metric in (alarmed_soak.METRIC, alarmed_soak.MODIFIED_METRIC)
        for part, (unit, clause, meaning) in _SOAKED.items()
    },
    recovery_latency.LTD.metric: Definition(
        "ms",
        "LTD 3.2.2.1.4",
        "time from the reduction of an overload, 150 % of the throughput, to 75 % of it until the"
        " last lost frame, average of the repetitions",
    ),
    recovery_latency.LATENCY: Definition(
        "ms",
        "LTD 3.2.2.1.4",
        "time from that reduction to the end of the first 10,000 frames after the last lost one whose"
        " mean latency is within 10 % of that before the overload, average of the repetitions",
    ),
    recovery_latency.BEFORE: Definition(
        "ns", "LTD 3.2.2.1.4", "mean latency at the reduced load before the overload, mean of the repetitions"
    ),
    **{
        f"{metric}.{load_profile.name_of(delta)}.{part}": Definition(unit, clause, f"{meaning} {_AT}")
        for metric, clause in _PROFILES.items()
        for delta in load_profile.DELTAS_PERCENT
        for part, (unit, meaning) in _PARTS.items()
    },
    **{
        metric: Definition(
            "1",
            clause,
            "share of the frames sent which never came, at the highest of the five loads around the"
            " throughput that has a valid trial",
        )
        for metric, clause in _PROFILES.items()
    },
}
