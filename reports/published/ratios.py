"""Published figures beside a run of the same experiment: as ratios to native, never as absolute numbers.

A run is of the same experiment when its metrics are `<table id>.<item>`, the item in lower case with `_` for
spaces (`eiras2016-case1.1_kb`). Its forms are told from the cell: see FORMS.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from bmwg.methodology.records import Cell, Outcome, OutcomeType
from bmwg.reports.published.figures import NATIVE, Figure, Table, documents, tables
from bmwg.reports.render.blocks import Block, paragraph, table, title
from bmwg.reports.render.text import NONE
from bmwg.reports.store import Run

# form as the documents name it: hosting and network of our cell; None stands for any network
FORMS = {
    NATIVE: ("baremetal", None),
    "docker": ("container", None),
    "docker-routed": ("container", "routed"),
    "docker-nat": ("container", "nat"),
    "kvm": ("vm", None),
    "osv": ("unikernel", None),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Ratio:
    """One item of one form against native. `own` is the run's ratio, None where it lacks a number."""

    table_id: str
    item: str
    form: str
    published: float
    half_width_95: float | None
    own: float | None


def slug(item: str) -> str:
    """Return an item as it stands in a metric id."""
    return item.lower().replace(" ", "_")


def ratios(shown: Table, outcomes: Sequence[Outcome] = ()) -> tuple[Ratio, ...]:
    """Return every ratio to native that a table gives; empty when it has no native form. Pure."""
    made = []
    for item in shown.items:
        native = shown.figures.get((item, NATIVE))
        own_native = _own(shown, item, NATIVE, outcomes)
        for form in shown.forms:
            figure = shown.figures.get((item, form))
            if native is None or figure is None or form == NATIVE:
                continue
            own = _own(shown, item, form, outcomes)
            made.append(
                Ratio(
                    table_id=shown.table_id,
                    item=item,
                    form=form,
                    published=figure.mean / native.mean,
                    half_width_95=_half_width(figure, native),
                    own=own / own_native if own is not None and own_native else None,
                )
            )
    return tuple(made)


def _half_width(figure: Figure, native: Figure) -> float | None:
    """Return the half-width of a ratio of independent means, to first order."""
    if figure.half_width_95 is None or native.half_width_95 is None:
        return None
    parts = (figure.half_width_95 / figure.mean, native.half_width_95 / native.mean)
    return figure.mean / native.mean * math.hypot(*parts)


def _own(shown: Table, item: str, form: str, outcomes: Iterable[Outcome]) -> float | None:
    """Return the run's only plain number of an item and form, in the table's unit; None without one."""
    found = [
        float(value.number)
        for outcome in outcomes
        if outcome.type is OutcomeType.MEASURED and _form_fits(outcome.cell, form, shown)
        for value in outcome.values
        if value.metric == f"{shown.table_id}.{slug(item)}" and value.unit == shown.unit
    ]
    return found[0] if len(found) == 1 else None


def _form_fits(cell: Cell, form: str, shown: Table) -> bool:
    hosting, network = FORMS.get(form, (form, None))
    return cell.hosting == hosting and (network is None or cell.network == network) and form in shown.forms


def published_section(run: Run) -> list[Block]:
    """Return a report's section: tables whose experiment the run made; nothing when there is none."""
    same = [one for one in tables().values() if any(_of(one, outcome) for outcome in run.outcomes)]
    return [*title("Beside published figures"), *_tables(same, run.outcomes, 2)] if same else []


def _of(shown: Table, outcome: Outcome) -> bool:
    return any(value.metric.startswith(f"{shown.table_id}.") for value in outcome.values)


def published_page(run: Run | None = None) -> list[Block]:
    """Return all published tables as a page of ratios to native, beside a run's own where it has them."""
    name = "Published figures as ratios to native"
    return [*title(name, 0), *_tables(list(tables().values()), run.outcomes if run else (), 1)]


def _tables(chosen: Sequence[Table], outcomes: Sequence[Outcome], level: int) -> list[Block]:
    lines = paragraph(
        "Ratios to the native form of the same source. Absolute numbers of two machines are never set "
        "side by side; half-widths of 95 % are those of the document's own intervals, to first order."
    )
    for one in chosen:
        document = documents()[one.document]
        lines += title(one.title, level)
        lines += paragraph(f"{document.authors}: {document.title} ({document.kind}). Table {one.table_id}.")
        rows = [
            [
                entry.item,
                entry.form,
                _told(entry.published, entry.half_width_95),
                f"{entry.own:.3f}" if entry.own is not None else NONE,
            ]
            for entry in ratios(one, outcomes)
        ]
        if rows:
            lines += table(["item", "form", "published ratio to native", "this run's ratio to native"], rows)
        else:
            lines += paragraph("This table has no native form, so no ratio can be told.")
    return lines


def _told(ratio: float, half_width: float | None) -> str:
    return f"{ratio:.3f}" if half_width is None else f"{ratio:.3f} ± {half_width:.3f}"
