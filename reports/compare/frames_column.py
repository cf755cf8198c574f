"""How the screen of a comparison tells tests of network devices: short, without a unit, as intervals."""

from __future__ import annotations

from statistics import median

from bmwg.methodology.search import tst009
from bmwg.reports.compare.column import Column
from bmwg.reports.compare.rows import Row
from bmwg.reports.compare.samples import Sample
from bmwg.reports.render.facts import ENVELOPE, THROUGHPUT, option

_INTERVAL = "a..b: no loss at a, loss from b on"


def _number(sample: Sample, row: Row) -> str:
    """Return a number, both ends of an interval, or median and range of repeats."""
    text = f"{median(sample.numbers):,.0f}"
    if len(sample.numbers) > 1:
        least, most = min(*sample.numbers, *sample.wide_lows), max(*sample.numbers, *sample.wide_ends)
        text += f" [{_short(least)}-{_short(most)}]"
    elif sample.wide_lows:
        text += f" [{_short(sample.wide_lows[0])}-{_short(sample.wide_ends[0])}]"
    elif sample.wide_ends:
        text += f"..{sample.wide_ends[0]:,.0f}"
    return text + (f" +{len(sample.others)}" if sample.others else "")


def _short(number: float) -> str:
    return f"{number / 1000:,.0f}k" if number >= 10_000 else f"{number:,.0f}"


FRAMES_COLUMN = Column(
    head="throughput",
    metrics=(THROUGHPUT, ENVELOPE, tst009.METRIC),
    name=lambda cell: f"{option(cell)} {cell.frame_octets}",
    number=_number,
    alone=f"throughput in frames/s per port and direction; {_INTERVAL}",
    mixed=f"answers without a unit: throughput in frames/s per port and direction; {_INTERVAL}",
)
