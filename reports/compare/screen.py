"""A comparison on one screen of a terminal: numbers first, then what differs and matters. Plain ASCII.

The rest stands in the other forms: every value of every field, with the rules that sorted it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from statistics import median

from bmwg.methodology.records import UNNAMED, Cell
from bmwg.methodology.search import tst009
from bmwg.methodology.trial import directions
from bmwg.reports.compare.column import PLAIN, Column
from bmwg.reports.compare.comparison import Comparison
from bmwg.reports.compare.fields import Difference
from bmwg.reports.compare.frames_column import FRAMES_COLUMN
from bmwg.reports.compare.page import banners, change_text, states
from bmwg.reports.compare.rows import Row
from bmwg.reports.compare.samples import Sample, of_goal
from bmwg.reports.compare.sides import Side
from bmwg.reports.render import searches
from bmwg.reports.render.facts import LATENCY
from bmwg.reports.render.forms.ascii import ascii_only
from bmwg.reports.render.text import nanoseconds, plain

COLUMNS = 100  # choice: what a terminal shows without breaking lines
_CELLS = 26  # choices: with these a screen of 50 lines holds all
_FIELDS = 6
_GAPS = 10  # between six columns
_TAILS = ("p50", "p99")
_OF_A_BUFFER = "n [a-b]: the number of one run; a is what no buffer carried of it, loss from b on"
_BY_TST009 = (
    "Throughput by TST009 where not both sides have one by RFC 2544: a load that lost frames in a trial"
    " stands where another trial of it lost none."
)


def column_of(cell: Cell) -> Column:
    """Return how answers of a cell's kind of load are told."""
    return FRAMES_COLUMN if cell.kind == UNNAMED else PLAIN


def comparison_screen(made: Comparison) -> str:
    """Return the comparison as lines of at most `COLUMNS` letters; of many cells those that differ first."""
    lines = [_side(side) for side in made.sides]
    lines += [line for _, text in banners(made) for line in _wrapped(f"*** {text}")]
    lines += _numbers(made)
    lines += [part for text in _verdicts(made) for part in _wrapped(text)]
    lines += [f"{sentence} A change with time would look alike." for sentence in made.order]
    open_ones = made.open_confounders
    lines += _fields("on the compared path", open_ones, made.sides)
    lines += _fields(
        "waived", [confounder for confounder in made.confounders if confounder.waived], made.sides
    )
    lines += _fields("on no path of these runs", made.off_path, made.sides)
    lines += _fields("under test", made.under_test, made.sides)
    if not (made.confounders or made.under_test):
        lines.append("no field of configuration differs")
    rest = [f"{len(made.passing)} fields that a run names or measures anew"] if made.passing else []
    rest += [f"{len(made.unknown)} that no run knows"] if made.unknown else []
    told = f"not held against each other: {', '.join(rest)}. " if rest else ""
    lines += _wrapped(f"{told}All of it: --format text, html, md or json.")
    return "".join(f"{ascii_only(line).rstrip()}\n" for line in lines)


def _side(side: Side) -> str:
    run = side.runs[0]
    several = f" and {len(side.runs) - 1} more" if len(side.runs) > 1 else ""
    words = (run.testbed.get("name", "without a name"), run.profile["name"], *states(side))
    return _cut(f"{side.name}  {plain(run.run_id)}{several}: {', '.join(plain(word) for word in words)}")


def _numbers(made: Comparison) -> list[str]:
    if not made.rows:
        return ["no numbers: measured and simulated runs" if made.mixed else "no cell stands in these runs"]
    by_cell: dict[tuple[str, str], dict[str, Row]] = {}
    cells: dict[str, Cell] = {}
    for row in made.rows:
        by_cell.setdefault((row.cell.cell_id, row.second), {})[row.metric] = row
        cells[row.cell.cell_id] = row.cell
    order = sorted(by_cell, key=lambda key: not any(row.shows for row in by_cell[key].values()))
    shown = order[:_CELLS]
    several = len(made.sides) > 2
    first = made.sides[0].name
    second = "other" if several else made.sides[1].name
    keys = [key for key in by_cell if key in shown]
    columns = dict.fromkeys(column_of(cells[key[0]]) for key in keys)
    words = {one.head for one in columns}
    word = words.pop() if len(words) == 1 else PLAIN.head

    told: dict[str, None] = {}  # metrics that stand in the table

    def made_table(tails: Sequence[str]) -> list[tuple[str, ...]]:
        percentiles = "/".join(tails)
        head = ("cell", f"{word} {first}", f"{word} {second}", "change")
        table: list[tuple[str, ...]] = [(*head, f"{percentiles} {first}", f"{percentiles} {second}")]
        for key in keys:
            rows = by_cell[key]
            cell = cells[key[0]]
            column = column_of(cell)
            wanted = column.metrics or tuple(rows)
            goals = [metric for metric in rows if of_goal(metric)]  # where no search without a goal is
            able = [rows[metric] for metric in (*wanted, *goals) if metric in rows]
            both = (row for row in able if _of(row, "first").numbers and _of(row, "second").numbers)
            searched = next(both, able[0] if able else None)
            if searched is not None:
                told.setdefault(searched.metric)
            name = column.name(cell) + (f" {key[1]}" if several else "")
            numbers = [_load(searched, which) for which in ("first", "second")]
            tail = [_tail(rows, which, tails) for which in ("first", "second")]
            table.append((name, *numbers, change_text(searched) if searched else "-", *tail))
        return table

    table = made_table(_TAILS)
    if sum(_widths(table)) + _GAPS > COLUMNS:
        table = made_table(_TAILS[:1])  # repeats have ranges: the names of cells matter more than p99
    widths = _widths(table)
    widths[0] = min(widths[0], COLUMNS - sum(widths[1:]) - _GAPS)
    lines = [
        "  ".join(
            _fitted(ascii_only(part), width) if column == 0 else ascii_only(part).rjust(width)
            for column, (part, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in table
    ]
    if len(order) > len(shown):
        lines.append(f"{len(order) - len(shown)} more cells: --format text")
    conditions = dict.fromkeys(filter(None, map(_condition, told)))
    lines += [part for text in conditions for part in _wrapped(text)]
    lines += [text for one in columns if (text := one.footer(alone=len(columns) == 1))]
    samples = [one for key in keys for row in by_cell[key].values() for one in row.samples.values()]
    if any(one.wide_lows for one in samples if len(one.numbers) == 1):
        lines.append(_OF_A_BUFFER)
    if any(len(side.runs) > 1 for side in made.sides):
        lines.append(
            "m [a-b]: median of the repeats and their range, wide intervals included; +n: n without a number"
        )
    return lines


def _condition(metric: str) -> str:
    """Say in a sentence under which condition a number of the table is one; empty where it has none."""
    return _BY_TST009 if metric == tst009.METRIC else searches.condition(metric)


def _of(row: Row, which: str) -> Sample:
    return row.samples[row.first if which == "first" else row.second]


def _load(row: Row | None, which: str) -> str:
    """Return what a side has: a number, both ends of an interval, median and range of repeats, or types."""
    if row is None:
        return "-"
    sample = _of(row, which)
    if not sample.numbers:
        return _types(sample.others)
    return column_of(row.cell).number(sample, row)


def _fitted(name: str, width: int) -> str:
    """Return a name that fills a column; one that was cut shows it, for its end is the frame size."""
    return name.ljust(width) if len(name) <= width else name[: width - 2] + ".."


def _widths(table: Sequence[Sequence[str]]) -> list[int]:
    return [max(len(ascii_only(row[column])) for row in table) for column in range(len(table[0]))]


def _tail(rows: Mapping[str, Row], which: str, tails: Sequence[str]) -> str:
    each = []
    for way in directions.told(rows, LATENCY):
        named = [directions.metric(LATENCY, way, part) for part in tails]
        samples = [_of(rows[metric], which) for metric in named if metric in rows]
        told = [nanoseconds(median(sample.numbers)) if sample.numbers else "" for sample in samples]
        each.append("/".join(text.replace("\u00a0", "") for text in told if text))
    return " ".join(filter(None, each)) or "-"


def _types(others: Sequence[str]) -> str:
    return ", ".join(kind if count == 1 else f"{count} {kind}" for kind, count in Counter(others).items())


def _verdicts(made: Comparison) -> list[str]:
    """Return each verdict once, with how many comparisons got it; the banner says what was not compared."""
    told: Counter[str] = Counter()
    for row in made.rows:
        if row.shows:
            told[f"{row.verdict}: {column_of(row.cell).name(row.cell)}, {row.metric}"] += 1
        elif row.p_value is not None:
            told["no difference shown: chance alone may give as much"] += 1
    return [f"{count} x {text}" for text, count in told.most_common(5)]


def _fields(what: str, found: Sequence[Difference], sides: Sequence[Side]) -> list[str]:
    if not found:
        return []
    lines = [f"{len(found)} field{'s' if len(found) != 1 else ''} {what} differ{'s' * (len(found) == 1)}:"]
    for difference in found[:_FIELDS]:
        values = ", ".join(f"{side.name} {' | '.join(difference.values[side.name])}" for side in sides)
        lines.append(_cut(f"  {plain(difference.path)}: {plain(values)}"))
    if len(found) > _FIELDS:
        lines.append(f"  and {len(found) - _FIELDS} more: --format text")
    return lines


def _cut(text: str) -> str:
    text = ascii_only(text)
    return text if len(text) <= COLUMNS else text[: COLUMNS - 3] + "..."


def _wrapped(text: str) -> list[str]:
    lines = [""]
    for word in ascii_only(plain(text)).split(" "):
        if lines[-1] and len(lines[-1]) + 1 + len(word) > COLUMNS:
            lines.append("    " + word)
        else:
            lines[-1] = f"{lines[-1]} {word}".strip() if len(lines) == 1 else f"{lines[-1]} {word}"
    return [_cut(line) for line in lines]
