"""What is said of a cell in one line: its answer, or the error that ended it."""

from __future__ import annotations

import re

from bmwg.methodology.answers.throughput import NOT_QUALIFIED, is_wide
from bmwg.methodology.errors import ToolkitError
from bmwg.methodology.mlrsearch.goal import apart
from bmwg.methodology.records import FRAMES_PER_S, Outcome, OutcomeType
from bmwg.reports.render import searches
from bmwg.reports.render.facts import ENVELOPE, LATENCY, short_words
from bmwg.reports.render.plots.extent import measured_extent
from bmwg.reports.render.sections.results import central, tail
from bmwg.reports.render.text import plain

# such as burst_interval.rfc2544_21.16: the benchmark, its document and section, and which of several it is
_OF_A_DOCUMENT = re.compile(r"([a-z_]+)\.(rfc\d+|ltd)((?:_\d+)*)(?:\.(.+))?")


def one_line(error: BaseException) -> str:
    """Put an error into one line, as the reason of an outcome."""
    if not isinstance(error, ToolkitError):
        return " ".join(str(error).split())
    found = f"; found {error.found}" if error.found else ""
    return " ".join(f"{error.error_id} {error.what}{found}".split())


def answer_line(outcome: Outcome) -> str:
    """One line for a console: cell, metric, and the answer as what it is.

    Why the machine did not let the tester be qualified is told once, by the line of that, which came before.
    """
    told = said(outcome)
    if outcome.type is OutcomeType.UNSTABLE and outcome.reason.startswith(f"{NOT_QUALIFIED}: "):
        told = f"unstable: {NOT_QUALIFIED} (see {short_words(outcome.cell.qualification)})"
    return f"{short_words(outcome.cell)}: {_metric(outcome.metric)} {told}"


def _metric(metric: str) -> str:
    if metric == LATENCY:
        return "latency p50 / p99"
    if metric == ENVELOPE:
        return "the tester alone"
    if searches.order(metric) is None:
        return _words(metric)
    return f"throughput ({searches.document(metric)}, {searches.allowed(metric)})"


def _words(metric: str) -> str:
    """Put a metric's name into words; one that names neither an RFC nor VSPERF's LTD stays as it is.

    Where a goal found it, the document of the goal stands beside that of the test, with what may be lost.
    """
    own, code, _ = apart(metric)
    named = _OF_A_DOCUMENT.fullmatch(own)
    if named is None:
        return metric
    name, document, section, which = named.groups(default="")
    document = document.upper().replace("RFC", "RFC ")
    clause = " ".join(filter(None, (document, section[1:].replace("_", "."))))
    if code:
        clause = f"{clause}; {searches.document(metric)}, {searches.allowed(metric)}"
    name, which = name.replace("_", " "), which.replace("_", " ").replace(".", ", ")
    return " ".join(filter(None, (name, which, f"({clause})")))


def said(outcome: Outcome) -> str:
    """Return the answer as summary and report give it: of a search both ends; else why there is no number."""
    if outcome.type is not OutcomeType.MEASURED:
        why = outcome.reason or outcome.statement
        return plain(f"{outcome.type.value.replace('_', ' ')}: {why}")
    if searches.order(outcome.metric) is not None or _is_between(outcome):
        return plain(f"{measured_extent(outcome)} {FRAMES_PER_S}")
    return plain(tail(outcome) or central(outcome))


def _is_between(outcome: Outcome) -> bool:
    """Whether both ends tell a throughput that is not of its cell alone: a goal's, and a wide interval's."""
    is_load = bool(outcome.values) and outcome.values[0].unit == FRAMES_PER_S
    return is_load and (bool(apart(outcome.metric)[1]) or is_wide(outcome))
