"""The documents' claims of order and of the cache, as found: each with the interval that carries it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bmwg.methodology.answers.student import Difference
from bmwg.methodology.kinds.requests.orders import Saving, Shown, Times, orders, savings
from bmwg.reports.kinds.requests.answers import Answered, times
from bmwg.reports.kinds.requests.words import digits, several_proxies, shape_words
from bmwg.reports.render.blocks import Block, paragraph, table, title
from bmwg.reports.render.text import NONE, percent

_TOO_FEW = "too few repetitions to tell"


def order_section(
    answers: Sequence[Answered], words: Mapping[str, str], titles: Mapping[str, str]
) -> list[Block]:
    """Return both tables below one title; nothing when no two forms have a time."""
    timed = [answer for answer in answers if times(answer)]
    measured = [Times(cell=answered.spec, values=times(answered)) for answered in timed]
    found, saved = orders(measured), savings(measured)
    if not found and not saved:
        return []
    about = (
        "The documents found native no slower than a routed container, that no slower than one behind NAT, "
        "each container faster than any virtual machine, a paravirtual NIC faster than an emulated one, and "
        "that a cache helps small objects most. Each line is one comparison of this run's repetitions by "
        "Welch's interval at 95 %, none corrected for the others beside it. A virtual machine under TCG says "
        "nothing of one under KVM."
    )
    lines = [*title("The documents' order, as found", 2), *paragraph(about)]
    tally = {shown: sum(order.shown is shown for order in found) for shown in Shown}
    if found:
        told = ", ".join(f"{shown.value}: {count}" for shown, count in tally.items())
        open_ones = sum(order.shown is None for order in found)
        told += f", {_TOO_FEW}: {open_ones}" if open_ones else ""
        lines += paragraph(f"Of {len(found)} comparisons of forms {told}.")
    several = several_proxies(timed)
    rows = [
        [
            titles.get(order.cell.experiment, order.cell.experiment),
            shape_words(order.cell, proxies=several),
            f"{words[order.first]} before {words[order.second]}",
            _gap(order.gap),
            order.shown or _TOO_FEW,
        ]
        for order in found
    ]
    head = ["experiment", "object", "claim", "second less first", "at 95 % (Welch), of these deployments"]
    lines += table(head, rows, "Order of the hosting forms")
    rows = [
        [
            titles.get(saving.cell.experiment, saving.cell.experiment),
            shape_words(saving.cell, proxies=several),
            words[saving.cell.form],
            _saved(saving.log_ratio, saving.ratio),
            _smallest(saving.shown) if _of_several(saving, saved) else NONE,
        ]
        for saving in saved
    ]
    head = [
        "experiment",
        "object",
        "hosting form",
        "time with the cache, of that without",
        "smallest gains more",
    ]
    return [*lines, *table(head, rows, "What the cache saves")]


def _gap(gap: Difference | None) -> str:
    return f"{digits(gap.difference / 1e6, sign='+')} ± {digits(gap.half_width / 1e6)} ms" if gap else NONE


def _saved(log_ratio: Difference, ratio: float) -> str:
    words = {-1: "faster with it", 0: "no difference shown", 1: "slower with it"}
    return f"{percent(ratio, 1)}: {words[log_ratio.sign]}"


def _of_several(one: Saving, saved: Sequence[Saving]) -> bool:
    alone = (one.cell.experiment, one.cell.form, one.cell.proxies)
    return sum((s.cell.experiment, s.cell.form, s.cell.proxies) == alone for s in saved) > 1


def _smallest(shown: Shown | None) -> str:
    return "the smallest itself" if shown is None else str(shown)
