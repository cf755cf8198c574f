"""The tables of an origin that fails: what became of each request by class of object, and of the return."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from bmwg.methodology.answers.student import Interval, interval
from bmwg.methodology.kinds.requests.origin_failure import (
    CLASSES,
    ERROR,
    REFUSES,
    STALLS,
    Asked,
    OriginFailed,
)
from bmwg.reports.kinds.requests.answers import Answered
from bmwg.reports.kinds.requests.words import form_words, shape_words
from bmwg.reports.render.blocks import Block, paragraph, table, title
from bmwg.reports.render.text import NONE, nanoseconds, sequence
from bmwg.reports.store import Run

_FAILS = {
    REFUSES: "refuses connections",
    ERROR: "answers status 503",
    STALLS: "accepts connections and answers nothing",
}
_SAID = (
    "An experiment of ours, asked for by no document. Requests leave at a constant rate, by turns for the"
    " three kinds of object: fresh ones were asked for before and may be kept for a day, stale ones were"
    " asked for before and their time is over, new ones were never asked for. Each request has a connection"
    " of its own. Each of those that were sent while the origin failed is counted once: right before its"
    " return, right only after it, an error status, or no whole answer within the clients' limit; these add"
    " up to what was sent. Counts are of all valid repetitions together; percentiles are the median of the"
    " repetitions' own, and the largest time is that of all. The failure and the return are what the clients'"
    " node saw by looks at the origin itself, past the function; a return is timed from the last look that"
    " failed."
)
_SHOWN = ("p50", "p95", "max")
_CELL = ("hosting form", "function", "cache", "the origin", "object")


def origin_section(run: Run, answers: Sequence[Answered]) -> list[Block]:
    """Return what a run answers of an origin that fails; empty without it."""
    mine = [answer for answer in answers if answer.spec.origin is not None]
    if not mine:
        return []
    lines = [*title("An origin that fails", 2), *paragraph(_SAID), *paragraph(_load(mine))]
    rows = [_counts(run, one, of) for one in mine if one.measured for of in CLASSES]
    head = [
        *_CELL,
        "kind of object",
        "sent",
        "right",
        "time of these p50 / p95 / max",
        "right after the return",
    ]
    head += ["error statuses", "time of these p50 / p95 / max", "no whole answer, or another body"]
    lines += table(head, rows, "Requests that were sent while the origin failed")
    head = [*_CELL, "type", "share of right answers (no unit, mean)", "failure as seen", "known to"]
    head += ["return until the first right new object", "right of those sent after the return"]
    head += ["looks that failed", "trials", "remarks"]
    return [*lines, *table(head, [_whole(run, one) for one in mine], "The failure and the return")]


def _load(answers: Sequence[Answered]) -> str:
    found = [one.spec.origin for one in answers if one.spec.origin is not None]
    told = dict.fromkeys(
        f"{one.rate_rps} requests/s; the origin fails for {one.fail_s:g} s, the load goes on for"
        f" {one.return_s:g} s after it; a client gives up after {one.answer_s:g} s; {one.objects} objects of"
        " each kind that was asked before; a new one is asked for each"
        f" {len(CLASSES) / one.rate_rps * 1e3:.0f} ms, and a return is known no better"
        for one in found
    )
    return f"Load: {'; or '.join(told)}."


def _cell(run: Run, one: Answered) -> list[str]:
    of = one.spec
    return [
        form_words(run)[of.form],
        of.function,
        "on" if of.cache else "off",
        _FAILS[of.origin.fails] if of.origin is not None else NONE,
        shape_words(of, proxies=False),
    ]


def _failures(one: Answered) -> list[OriginFailed]:
    return [each.failure for each in one.results if each.failure is not None]


def _counts(run: Run, one: Answered, of: str) -> list[str]:
    mine = [each.meanwhile[of] for each in _failures(one)]
    return [
        *_cell(run, one),
        of,
        *(str(int(one.values[f"{of}.{what}"])) for what in ("sent", "right")),
        _times(one, f"{of}.right"),
        str(int(one.values[f"{of}.right_after"])),
        _by_word(each.statuses for each in mine),
        _times(one, f"{of}.error"),
        _by_word(each.failures for each in mine),
    ]


def _by_word(counts: Iterable[Mapping[str, int]]) -> str:
    found = Counter[str]()
    for each in counts:
        found.update(each)
    return ", ".join(f"{word}: {count}" for word, count in sorted(found.items())) or NONE


def _times(one: Answered, name: str) -> str:
    """Return the median of the repetitions' percentiles, and the largest time of all."""
    told = {
        shown: one.values.get(f"{name}.{shown}.median", one.values.get(f"{name}.{shown}")) for shown in _SHOWN
    }
    return " / ".join(nanoseconds(time_ns) for time_ns in told.values() if time_ns is not None) or NONE


def _whole(run: Run, one: Answered) -> list[str]:
    found = _failures(one)
    if not one.measured or not found:
        return [
            *_cell(run, one),
            one.type_cell,
            one.outcome.reason,
            *[NONE] * 5,
            sequence(one.outcome.trials),
            NONE,
        ]
    after: list[Asked] = [told for each in found for told in each.afterwards.values()]
    recovered = [float(each.recovery_ns) for each in found if each.recovery_ns is not None]
    share = one.values.get("half_width_95")
    return [
        *_cell(run, one),
        one.type_cell,
        f"{one.values['mean']:.4f}{f' ± {share:.4f}' if share is not None else ''}",
        _seconds(interval([float(each.failed_ns) for each in found])),
        nanoseconds(max(each.resolution_ns for each in found)),
        f"{_seconds(interval(recovered))} (n = {len(recovered)})" if recovered else "none came",
        f"{sum(each.right for each in after)} of {sum(each.sent for each in after)}",
        f"{sum(each.failed_looks for each in found)} of {sum(each.looks for each in found)}",
        sequence(one.outcome.trials),
        "; ".join(one.outcome.quality) or NONE,
    ]


def _seconds(found: Interval) -> str:
    half = f" ± {found.half_width / 1e9:.3f}" if found.half_width is not None else ""
    return f"{found.mean / 1e9:.3f}{half} s"
