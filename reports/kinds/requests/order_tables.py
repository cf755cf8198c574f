"""The documents' claims of order, cache and several proxies, as found: each with its interval."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bmwg.methodology.answers.student import Difference
from bmwg.methodology.kinds.requests.orders import Saving, Shown, Step, Times, orders, savings, steps
from bmwg.reports.kinds.requests.answers import Answered, times
from bmwg.reports.kinds.requests.words import digits, several_proxies, shape_words
from bmwg.reports.render.blocks import Block, paragraph, table, title
from bmwg.reports.render.text import NONE, percent

_TOO_FEW = "too few repetitions to tell"


def order_section(
    answers: Sequence[Answered], words: Mapping[str, str], titles: Mapping[str, str]
) -> list[Block]:
    """Return the tables below one title; nothing when no two forms have a time."""
    timed = [answer for answer in answers if times(answer)]
    measured = [Times(cell=answered.spec, values=times(answered)) for answered in timed]
    found, saved, stepped = orders(measured), savings(measured), steps(measured)
    if not found and not saved and not stepped:
        return []
    about = (
        "The documents found native no slower than a routed container, that no slower than one behind NAT "
        "(with 64 clients on several proxies the other way), each container faster than any virtual machine, "
        "a paravirtual NIC faster than an emulated one, and that a cache helps small objects most. Two rows "
        "of document 000's own tables show the other way by their intervals: 100 kB for 100 clients (native "
        "and routed) and 10 kB from the cache (routed and NAT). Each line is one comparison of this run's "
        "repetitions by Welch's interval at 95 %, none corrected for the others beside it. A virtual machine "
        "under TCG says nothing of one under KVM."
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
    return [*lines, *table(head, rows, "What the cache saves"), *_proxies(stepped, words, titles)]


def _proxies(found: Sequence[Step], words: Mapping[str, str], titles: Mapping[str, str]) -> list[Block]:
    """Return the table of document 001's claims on several proxies; nothing without one."""
    if not found:
        return []
    about = (
        "Document 001 found that two proxies need less time than one, that with 64 clients more than two "
        "need no less, and that the times rise from eight on. The verdict is of that alone, not of how much "
        "less: the document's figures stand beside it. Numbers of proxies are measured one after the other, "
        "so what the machine gave meanwhile is in the difference."
    )
    rows = [
        [
            titles.get(step.cell.experiment, step.cell.experiment),
            shape_words(step.cell, proxies=False),
            words[step.cell.form],
            f"{step.cell.proxies} need {step.claim} than {step.fewer}",
            _gap(step.change),
            percent(step.ratio, 1),
            step.figure or NONE,
            step.shown or _TOO_FEW,
        ]
        for step in found
    ]
    head = ["experiment", "object", "hosting form", "claim", "with more less with fewer"]
    head += ["time with more, of that with fewer", "document 001's figure"]
    head += ["at 95 % (Welch), of these deployments"]
    return [*paragraph(about), *table(head, rows, "What more proxies save")]


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
