"""What each metric means, and in which clause it is written."""

from __future__ import annotations

from dataclasses import replace

from bmwg.methodology.mlrsearch.goal import apart
from bmwg.methodology.mlrsearch.outcome import claim, is_conditional
from bmwg.reports.render import searches
from bmwg.reports.render.sections.definition import Definition
from bmwg.reports.render.sections.definitions_benchmarks import BENCHMARKS
from bmwg.reports.render.sections.definitions_switches import SWITCHES
from bmwg.reports.render.sections.definitions_vsperf import VSPERF

_ALL_FRAMES = "no clause; RFC 2544 section 26.2 has a metric of its own"
_LATENCY = (
    "time stamp at receive minus time stamp at send in the tester's software, over every received test frame "
    "of the valid streams at the throughput, of a wide interval of a conditional one at its lower end (path "
    "wire: at a stated share of what the tester carries); the embedded tester's stamps wrap after 13 s and "
    "more, so that a longer delay is told shorter"
)
_INTERVAL = "end of the interval of at least 95 % that the streams give for"

DEFINITIONS = {
    "throughput.rfc2544_26_1": Definition(
        "frames/s per port and direction",
        "RFC 1242 section 3.17, RFC 2544 section 26.1",
        "the highest load at which the SUT forwarded every frame offered to it, found by search",
    ),
    "tester.envelope": Definition(
        "frames/s per port and direction",
        "no clause; the search is that of RFC 2544 section 26.1, with nothing between the ports",
        "the highest load that the tester itself sent in full, received in full and accounted for",
    ),
    "latency.all_frames.p50": Definition("ns", _ALL_FRAMES, f"median of: {_LATENCY}"),
    **{
        f"latency.all_frames.{name}": Definition("ns", _ALL_FRAMES, f"{share} % are at most this: {_LATENCY}")
        for name, share in (("p90", "90"), ("p99", "99"), ("p99.9", "99.9"))
    },
    **{
        f"latency.all_frames.{name}.{end}": Definition(
            "ns", _ALL_FRAMES, f"{word} {_INTERVAL} {name} (docs/adr/0457)"
        )
        for name in ("p50", "p90", "p99", "p99.9")
        for end, word in (("low", "lower"), ("high", "upper"))
    },
    "latency.all_frames.max": Definition("ns", _ALL_FRAMES, f"largest of: {_LATENCY}"),
    "latency.all_frames.floor": Definition(
        "ns", _ALL_FRAMES, f"of the tester alone, at the load in frames/s that stands behind it: {_LATENCY}"
    ),
    "latency.all_frames.mean": Definition("ns", _ALL_FRAMES, f"mean of: {_LATENCY}"),
    **BENCHMARKS,
    **SWITCHES,
    **VSPERF,
}


def definition(metric: str) -> Definition | None:
    """Return what a metric means, or what the family means that its name begins with.

    A throughput beside something else that a goal found is one by RFC 9971, and so are the values behind it.
    """
    name, code, part = apart(metric)
    of_goal = f"{name}.{code}"
    if is_conditional(metric) or claim(of_goal) is None:
        return _of_family(metric)
    if part:
        return DEFINITIONS.get(f"{part}.rfc9971") or _of_family(f"{name}.{part}")
    found = _of_family(name)
    return found and replace(
        found,
        clause=found.clause.replace("RFC 2544 section 26.1", "RFC 9971 section 4.8.3"),
        meaning=f"{found.meaning}. {searches.condition_alone(of_goal).removesuffix('.')}",
    )


def _of_family(metric: str) -> Definition | None:
    able = [name for name in DEFINITIONS if metric == name or metric.startswith(f"{name}.")]
    return DEFINITIONS[max(able, key=len)] if able else None


TYPES = {
    "measured": "a plain number that valid trials prove",
    "at the floor": "too much loss even at the lowest load of the search",
    "at the ceiling": "the highest load of the search was carried; the true value may be higher",
    "tester limited": "the tester, not the SUT, ended the search; the true value may be higher",
    "unstable": "no number can be relied on: trials contradict each other, or too many were set aside",
    "invalid": "the procedure did not hold, so nothing is known of the SUT",
    "not assessed": "the machine lacks what the cell needs; nothing was tried",
}

VALIDITY = {
    "valid": "the procedure held",
    "tester_stalled": "the tester itself did not run in time; repeated, never a bound",
    "sent_short": "the tester sent less than the profile demands of the intended frames; never a bound",
    "host_stalled": "the SUT's host lost its CPU; set aside only where the profile declares it",
    "fault": "tester, link or DUT failed during the trial; never a bound",
    "inconsistent": "the counts contradict each other; never a bound",
}
