"""A comparison as blocks, from which all forms are made. Sentences are computed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from statistics import median

from bmwg.reports.compare.comparison import Comparison
from bmwg.reports.compare.field_rules import Place
from bmwg.reports.compare.fields import Difference
from bmwg.reports.compare.rows import Row
from bmwg.reports.compare.samples import Sample
from bmwg.reports.compare.sides import Side
from bmwg.reports.compare.statistics import ALPHA
from bmwg.reports.render.blocks import Block, banner, fold, paragraph, table, title
from bmwg.reports.render.facts import cell_words, is_indicative
from bmwg.reports.render.sections.guest import guest_sentences
from bmwg.reports.render.text import NONE, number_of, percent, quantity_text

_SHOWN = 400
NOT_VERIFIED = "Not verified: these figures are what the files say; nobody computed them anew."


def comparison_page(made: Comparison) -> list[Block]:
    """Return the comparison."""
    lines = title("Comparison of " + ", ".join(side.name for side in made.sides), 0)
    lines += table(
        ["side", "runs", "testbed", "profile", "state"], map(_side, made.sides), "What is compared"
    )
    for kind, text in banners(made):
        lines += banner(kind, text)
    lines += title("Numbers")
    lines += _numbers(made)
    lines += title("What confounds")
    lines += _differences(
        [confounder for confounder in made.confounders if confounder.place is Place.ON_PATH],
        made.sides,
        "No other field on the compared path differs.",
    )
    if made.off_path:
        lines += paragraph(f"{number_of(len(made.off_path), 'field')} more differ on no path of these runs:")
        lines += _differences(made.off_path, made.sides, "", reasons=True)
    lines += title("What is under test")
    lines += _differences(made.under_test, made.sides, "No field of what is under test differs.")
    if made.unknown:
        lines += fold(
            f"{number_of(len(made.unknown), 'field')} that no run knows: nothing shows that they are equal",
            table(["field"], ([path] for path in made.unknown)),
        )
    if made.passing:
        lines += fold(
            f"{number_of(len(made.passing), 'field')} that each run names or measures anew: no configuration",
            _differences(made.passing, made.sides, "", reasons=True),
        )
    return lines


def _side(side: Side) -> list[str]:
    first, last = side.runs[0], side.runs[-1]
    count = len(side.runs)
    runs = first.run_id if count == 1 else f"{count} runs, {first.run_id} to {last.run_id}"
    return [
        side.name,
        runs,
        ", ".join(sorted({str(run.testbed.get("name", NONE)) for run in side.runs})),
        ", ".join(sorted({str(run.profile["name"]) for run in side.runs})),
        ", ".join(states(side)),
    ]


def of_runs(sides: Iterable[Side]) -> dict[str, bool]:
    """Say whether some of the runs are simulated, and whether some are indicative."""
    runs = [run for side in sides for run in side.runs]
    return {
        "simulated": any(run.simulated for run in runs),
        "indicative": any(is_indicative(run.of_load(load).profile) for run in runs for load in run.kinds),
    }


def states(side: Side) -> list[str]:
    """Return how the runs of a side ended, or that they are no measurements, and that they are indicative."""
    ended = sorted({"simulated" if run.simulated else run.status for run in side.runs})
    return [*ended, *(["indicative"] if of_runs([side])["indicative"] else [])]


def banners(made: Comparison) -> list[tuple[str, str]]:
    """Return what has to be read before any number: (kind, sentence)."""
    told = []
    if made.unverified:
        told.append(("interrupted", NOT_VERIFIED))
    told += [("guest", text) for text in guest_sentences(run for side in made.sides for run in side.runs)]
    if any(run.simulated for side in made.sides for run in side.runs):
        told.append(("simulated", "Simulated runs are among them: those numbers are no measurements."))
    if count := len(made.open_confounders):
        told.append(
            (
                "interrupted",
                f"Not a fair comparison: {count} field{'s' if count != 1 else ''} on the compared path "
                f"differ{'s' if count == 1 else ''}, so no difference is judged. Waive each by name "
                "(--waive FIELD) when it cannot matter.",
            )
        )
    if count := sum(confounder.waived for confounder in made.confounders):
        were = "fields that confound were" if count != 1 else "field that confounds was"
        told.append(("indicative", f"{count} {were} waived by name, listed below."))
    if not made.open_confounders and made.rows:
        told.append(_compared(made))
    return told


def _compared(made: Comparison) -> tuple[str, str]:
    """Say how many rows could be compared, how many of them differ, and why the rest could not be."""
    judged = [row for row in made.rows if row.p_value is not None]
    lacking = Counter(row.why_not for row in made.rows if row.p_value is None)
    reasons = "; ".join(f"{count}: {reason}" for reason, count in lacking.most_common())
    if not judged:
        return "interrupted", f"Nothing could be compared, of {len(made.rows)} numbers. {reasons}."
    shown = sum(row.shows for row in judged)
    told = f"{len(judged)} of {len(made.rows)} numbers could be compared: {shown} differ{'s' * (shown == 1)}."
    return "fine", f"{told} Not compared, {reasons}." if reasons else told


def _differences(
    found: Sequence[Difference], sides: Sequence[Side], none: str, *, reasons: bool = False
) -> list[Block]:
    if not found:
        return paragraph(none)
    rows = [
        [
            difference.path,
            *(" | ".join(difference.values[side.name]) for side in sides),
            (difference.reason or NONE) if reasons else ("waived" if difference.waived else NONE),
        ]
        for difference in found[:_SHOWN]
    ]
    head = ["field", *(side.name for side in sides), "why" if reasons else "waived"]
    lines = table(head, rows, f"{number_of(len(found), 'field')} that differ")
    if len(found) > _SHOWN:
        lines += paragraph(f"{len(found) - _SHOWN} more fields differ.")
    return lines


def _numbers(made: Comparison) -> list[Block]:
    if made.mixed:
        return paragraph("Measured and simulated runs are never set side by side.")
    rows = [
        [
            cell_words(row.cell),
            row.metric,
            sample_text(row.samples[row.first], row),
            f"{row.second}: {sample_text(row.samples[row.second], row)}",
            change_text(row),
            row.verdict,
        ]
        for row in made.rows[:_SHOWN]
    ]
    head = ["cell", "metric", made.sides[0].name, "against", "difference of medians", "verdict"]
    lines = table(head, rows, "Cell by cell") or paragraph("No cell stands in these runs.")
    if len(made.rows) > _SHOWN:
        lines += paragraph(f"{len(made.rows) - _SHOWN} more comparisons are in the JSON form.")
    for sentence in made.order:
        lines += paragraph(f"{sentence} A change with time would look alike.")
    lines += paragraph(
        "Method: an exact permutation test of the mean logarithm over the repeats of a cell (20000 drawn "
        "deals where there are more), against the first side; where an interval is wide, of both of its ends "
        "as well, and the largest p-value counts; a repeat without a number, of a quarter of them at most, "
        "counts as the median of the other side; a difference is shown when the "
        "Benjamini-Hochberg procedure over all comparisons keeps the share of chance among the shown at "
        f"{percent(ALPHA)}. Values are medians with smallest and largest."
    )
    return lines


def change_text(row: Row) -> str:
    """Return the difference of medians, where one is shown."""
    if row.ratio is None:
        return NONE
    return ("+" if row.ratio >= 1 else "") + percent(row.ratio - 1, 2)


def sample_text(sample: Sample, row: Row) -> str:
    """Return what a side has: median, smallest, largest, ends of wide intervals, types of the rest."""
    parts = []
    if sample.numbers:
        middle = quantity_text(median(sample.numbers), row.unit)
        if len(sample.numbers) > 1:
            low, high = (quantity_text(edge(sample.numbers), row.unit) for edge in (min, max))
            middle += f" ({low} to {high}, {len(sample.numbers)} runs)"
        if sample.wide_lows:
            middle += f", sustained {quantity_text(min(sample.wide_lows), row.unit)}"
        if sample.wide_ends:
            low, high = (quantity_text(edge(sample.wide_ends), row.unit) for edge in (min, max))
            middle += (
                f", loss from {low} on"
                if len(sample.numbers) == 1
                else f"; {len(sample.wide_ends)} of them wide intervals, upper ends {low} to {high}"
            )
        parts.append(middle)
    parts += [
        mark if len(sample.numbers) == 1 else f"{sample.marks.count(mark)} {mark}"
        for mark in dict.fromkeys(sample.marks)
    ]
    parts += [f"{sample.others.count(kind)} {kind}" for kind in dict.fromkeys(sample.others)]
    return "; ".join(parts)
