"""Published figures as ratios to native, never as absolute numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from bmwg.reports.published.figures import NATIVE, Figure, Table, documents, tables
from bmwg.reports.render.blocks import Block, paragraph, table, title

_NONE_MADE = "The run has no ratio to native of any of these experiments."


@dataclass(frozen=True, slots=True, kw_only=True)
class Ratio:
    """One item of one form against native, as a document's figures give it."""

    table_id: str
    item: str
    form: str
    published: float
    half_width_95: float | None


def ratios(shown: Table) -> tuple[Ratio, ...]:
    """Return every ratio to native that a table gives; empty when it has no native form. Pure."""
    made = []
    for item in shown.items:
        native = shown.figures.get((item, NATIVE))
        for form in shown.forms:
            figure = shown.figures.get((item, form))
            if native is None or figure is None or form == NATIVE:
                continue
            made.append(
                Ratio(
                    table_id=shown.table_id,
                    item=item,
                    form=form,
                    published=figure.mean / native.mean,
                    half_width_95=_half_width(figure, native),
                )
            )
    return tuple(made)


def _half_width(figure: Figure, native: Figure) -> float | None:
    """Return the half-width of a ratio of independent means, to first order."""
    if figure.half_width_95 is None or native.half_width_95 is None:
        return None
    parts = (figure.half_width_95 / figure.mean, native.half_width_95 / native.mean)
    return figure.mean / native.mean * math.hypot(*parts)


def published_page(own: Sequence[Block] = ()) -> list[Block]:
    """Return all published tables as a page of ratios to native, after a run's own ratios (`own`)."""
    lines = title("Published figures as ratios to native", 0)
    lines += [*title("This run beside them", 1), *(own or paragraph(_NONE_MADE))]
    lines += title("All published figures", 1)
    lines += paragraph(
        "Ratios to the native form of the same source. Absolute numbers of two machines are not set "
        "side by side; half-widths of 95 % are those of the document's own intervals, to first order."
    )
    for one in tables().values():
        document = documents()[one.document]
        lines += title(one.title, 2)
        of = (f"figures in {one.unit}", f"means of {one.repeats}" if one.repeats else "", one.load)
        lines += paragraph(
            f"{document.authors}: {document.title} ({document.kind}). Table {one.table_id}:"
            f" {'; '.join(filter(None, of))}."
        )
        rows = [
            [entry.item, entry.form, _told(entry.published, entry.half_width_95)] for entry in ratios(one)
        ]
        if rows:
            lines += table(["item", "form", "published ratio to native"], rows)
        else:
            lines += paragraph("This table has no native form, so no ratio can be told.")
    return lines


def _told(ratio: float, half_width: float | None) -> str:
    return f"{ratio:.3f}" if half_width is None else f"{ratio:.3f} ± {half_width:.3f}"
