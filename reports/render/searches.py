"""By which document a search found a throughput, in words, and which answer of a cell comes first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from bmwg.methodology.answers import throughput
from bmwg.methodology.mlrsearch import outcome as goal_outcome
from bmwg.methodology.mlrsearch.goal import Claim
from bmwg.methodology.records import Outcome
from bmwg.methodology.search import tst009
from bmwg.reports.render.text import percent

_ORDER = (throughput.ENVELOPE_METRIC, throughput.METRIC, tst009.METRIC)


def order(metric: str) -> tuple[float, ...] | None:
    """Return where an answer stands among those of one cell; None for a metric that no such search finds.

    Of the goals of RFC 9971 the one that allows the least loss comes first.
    """
    if metric in _ORDER:
        return (_ORDER.index(metric),)
    claim = goal_outcome.claim(metric) if goal_outcome.is_conditional(metric) else None
    if claim is None:
        return None
    return (len(_ORDER), claim.loss_ratio, claim.exceed_ratio, -claim.duration_s)


def document(metric: str) -> str:
    """Name the document by which an answer was found."""
    if goal_outcome.is_conditional(metric) or goal_outcome.claim(metric) is not None:
        return "RFC 9971"
    return "TST009" if metric == tst009.METRIC else "RFC 2544"


def allowed(metric: str) -> str:
    """Say in a few words how many frames may be lost."""
    claim = goal_outcome.claim(metric)
    return f"loss up to {percent(claim.loss_ratio)}" if claim is not None and claim.loss_ratio else "no loss"


def kept_and_lost(metric: str) -> tuple[str, str]:
    """Say what was lost up to a load that holds, and what from one on that does not."""
    claim = goal_outcome.claim(metric)
    if claim is None or not claim.loss_ratio:
        return "no loss", "loss"
    most = percent(claim.loss_ratio)
    return f"at most {most} lost", f"more than {most} lost"


def heads(metrics: Sequence[str]) -> list[str]:
    """Return the heads of the columns of these answers, which differ from one another."""
    if len(metrics) < 2:
        return ["throughput, frames/s" for _ in metrics]
    several = len({document(metric) for metric in metrics}) > 1
    named = [f"{document(one)}, {allowed(one)}" if several else allowed(one) for one in metrics]
    goals = (goal_outcome.METRIC + ".", "")
    return [  # goals that allow the same loss are told apart by their codes
        said if named.count(said) == 1 else f"{said} ({one.replace(*goals)})"
        for said, one in zip(named, metrics, strict=True)
    ]


def condition(metric: str) -> str:
    """Say in a sentence under which condition a throughput is one; empty where it has none."""
    claim = goal_outcome.claim(metric)
    if claim is None:
        return ""
    return (
        f"Throughput by RFC 9971 (conditional throughput): of the trials of {claim.duration_s:g}\u00a0s"
        f" at a load {_share(claim)} may lose more than the column says."
    )


def conditions(outcomes: Iterable[Outcome]) -> str:
    """Say in sentences under which conditions these are throughputs; empty where they have none."""
    return " ".join(dict.fromkeys(filter(None, (condition_alone(one.metric) for one in outcomes))))


def condition_alone(metric: str) -> str:
    """Say the same where no column says what may be lost, as beside a figure."""
    claim = goal_outcome.claim(metric)
    if claim is None:
        return ""
    lost = f"more than {percent(claim.loss_ratio)} of its frames" if claim.loss_ratio else "a frame"
    return (
        f"A throughput is RFC 9971's conditional one: of the trials of {claim.duration_s:g}\u00a0s"
        f" at that load {_share(claim)} may lose {lost}."
    )


def _share(claim: Claim) -> str:
    return f"at most {percent(claim.exceed_ratio)}" if claim.exceed_ratio else "none"
