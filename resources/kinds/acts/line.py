"""An answer of the lifecycle suites as the operator reads it."""

from __future__ import annotations

from collections.abc import Mapping

from bmwg.methodology.answers.order_statistics import CONFIDENCE
from bmwg.methodology.answers.repeated import of_repetitions
from bmwg.methodology.kinds.acts.experiments import MIGRATE, MIGRATE_SERVER, POLICY, Answer, of_cell
from bmwg.methodology.kinds.acts.kind import BACK
from bmwg.methodology.kinds.acts.records import Failure
from bmwg.methodology.records import Outcome


def figures_of(outcome: Outcome, told: Mapping[str, float]) -> str:
    """Say the numbers of an answer in one line."""
    half = told.get("half_width_95")
    count = f"({of_repetitions(told)})"
    answer = of_cell(outcome.cell).answer
    if answer is Answer.RATE:
        spread = f" +/- {half * 60:.2f}" if half is not None else ""
        return f"{told['mean'] * 60:.2f}{spread} pods made and removed per minute {count}"
    if answer is Answer.ATTEMPTS:
        low, high = (told[f"success_ratio_{end}_95"] * 100 for end in ("low", "high"))
        kinds = {name: told[f"failed.{name}"] for name in Failure if told[f"failed.{name}"]}
        why = ", ".join(f"{count:.0f} {name.replace('_', ' ')}" for name, count in kinds.items()) or "none"
        share = f"{told['success_ratio'] * 100:.2f} % of {told['attempts']:.0f} starts came to forward"
        return f"{share} ({low:.2f} to {high:.2f} %); failed: {why}"
    if answer is Answer.FIT:
        kinds = {name: told[f"failed.{name}"] for name in Failure if told[f"failed.{name}"]}
        why = ", ".join(name.replace("_", " ") for name in kinds)
        return f"{told['mean']:g} pods forward together, then: {why} {count}"
    if answer in (Answer.EXCHANGES, Answer.RESIZES):
        force, out = (_ms(told, name) for name in ("", "outage."))
        lost = f"{told['lost_frames.median']:.0f} frames lost"
        if answer is Answer.EXCHANGES:
            return f"by the new configuration after {force}, median; outage {out}, {lost} {count}"
        there = f"with the other size after {force}, median, {lost}"
        if f"{BACK}.median" not in told:
            return f"{there} {count}"
        lost_back = f"{told[f'{BACK}.lost_frames.median']:.0f} frames lost"
        return f"{there}; with its own again after {_ms(told, f'{BACK}.')}, {lost_back} {count}"
    if outcome.metric == POLICY.metric:
        stopped, again = (_ms(told, name) for name in ("", "removal."))
        return f"in force after {stopped}, median; lifted after {again} {count}"
    if answer is Answer.OUTAGES:
        words, more = "first frame by the other pod after", "first_frame."
        if outcome.metric == MIGRATE.metric:
            words, more = "QEMU's total time", "qemu_total_ns."
        if outcome.metric == MIGRATE_SERVER.metric:
            words, more = "libvirt's total time", "libvirt_total_ns."
        said = f"{_outage(told, '')}, {words} {_ms(told, more)}"
        if f"{BACK}.median" in told:
            said += f"; back: {_outage(told, f'{BACK}.')}, {words} {_ms(told, f'{BACK}.{more}')}"
        return f"{said} {count}"
    ms = {name: told[name] / 1e6 for name in ("median", "median_low", "median_high", "removal.median")}
    spread = f"({ms['median_low']:.0f} to {ms['median_high']:.0f}{_covers(told, '')})"
    until = "until all forward" if answer is Answer.BATCHES else "to the first frame"
    gone = f"removed in {ms['removal.median']:.0f} ms"
    return f"{ms['median']:.0f} ms {until}, median {spread}; {gone} {count}"


def _outage(told: Mapping[str, float], way: str) -> str:
    return f"outage {_ms(told, way)}, median, {told[f'{way}lost_frames.median']:.0f} frames lost"


def _ms(told: Mapping[str, float], name: str) -> str:
    middle, low, high = (told[f"{name}{part}"] / 1e6 for part in ("median", "median_low", "median_high"))
    return f"{middle:.1f} ms ({low:.1f} to {high:.1f}{_covers(told, name)})"


def _covers(told: Mapping[str, float], name: str) -> str:
    """Say with what probability an interval holds the median, where that is less than it is to be."""
    covers = told[f"{name}median_covers"]
    return f", {covers:.0%}" if covers < CONFIDENCE else ""
