"""The tables of exchanged configurations: when the new one was in force, what was lost, what rules count."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from bmwg.methodology.answers.repeated import of_repetitions
from bmwg.methodology.kinds.acts.kind import each
from bmwg.methodology.kinds.acts.records import ActsResult, ActsSpec, Life
from bmwg.reports.kinds.acts.medians import median
from bmwg.reports.kinds.repeated.answers import Answered as AnsweredBy
from bmwg.reports.render.blocks import Block, table
from bmwg.reports.render.text import NONE, nanoseconds, sequence, whole

Answered = AnsweredBy[ActsSpec, ActsResult]
HOW = (
    "A function's configuration (rules of nftables, flows of Open vSwitch) is exchanged for another while "
    "frames pass. Each configuration marks the frames that it lets through (DSCP), so each frame tells by "
    "which one it came; one without a mark went round both. The exchange is made as one (atomic: one "
    "transaction of nftables, one bundle of OpenFlow), or the old configuration is flushed first and all "
    "test frames are dropped until the new one stands (flush-first). Frames lost are the timed ones. Before "
    "and after an exchange frames pass while nothing changes, and the counters of the configuration that "
    "stands are held against what came: the execution is inconsistent where others count them. Where a load "
    "goes on beside, its frames are in those counts."
)
HOW_RESIZED = (
    "A guest that routes is given less memory while it runs, and its memory back, by the balloon of "
    "virtio: the guest hands pages to its host. The new size is in force when QEMU reads it back. The time "
    "lasts from the request to the first frame that came of those offered after that, and the guest's "
    "interface has counted frames that it forwarded since."
)
_STALE = "by the old one after the exchange was confirmed"


def exchanges(answers: Sequence[Answered], place: Callable[[Answered], str]) -> list[Block]:
    """Return times and losses, and the counts that show which configuration let frames through."""

    def stale(lives: Sequence[Life]) -> str:
        return ", ".join(str(life.told["stale_frames"]) for life in lives)

    lines = _timed(answers, place, "by the new one", f"frames {_STALE}", stale)
    counted = [[place(answer), *_counted(lives)] for answer in answers if (lives := _lives(answer))]
    if counted:
        head = ["path and option", "came before, of these counted by the old one"]
        head += ["came after, of these counted by the new one", "counted by the wrong one"]
        head += ["offered amid, of these counted", "dropped by the function, as it counts"]
        lines += table(
            head, counted, "What the function counts of the valid executions, all of them together"
        )
    return lines


def resizes(answers: Sequence[Answered], place: Callable[[Answered], str]) -> list[Block]:
    """Return times and losses of changed sizes, with the sizes that were read back."""

    def sizes(lives: Sequence[Life]) -> str:
        return "; ".join(dict.fromkeys(map(_sizes, lives)))

    return _timed(answers, place, "with the new size", "octets before, asked for, read back", sizes)


def _timed(
    answers: Sequence[Answered],
    place: Callable[[Answered], str],
    first: str,
    column: str,
    told: Callable[[Sequence[Life]], str],
) -> list[Block]:
    """Return until when the first frame came, outage and loss, and in one column what is told beside them."""
    rows = []
    for answer in answers:
        results = answer.results if answer.measured else ()
        lives = _lives(answer)
        rows.append(
            [
                place(answer),
                answer.type_cell,
                _mean(answer) if lives else NONE,
                median(each(results, lambda life: life.start_ns)),
                median(each(results, lambda life: life.outage_ns)),
                ", ".join(str(life.lost_frames) for life in lives) or NONE,
                told(lives) or NONE,
                nanoseconds(max(_apart_ns(life) for life in lives)) if lives else NONE,
                sequence(answer.outcome.trials),
                answer.remarks,
            ]
        )
    head = ["path and option", "type", "executions", f"request to first frame {first}", "outage"]
    head += ["frames lost in each", column, "resolution, worst", "trials", "remarks"]
    return table(head, rows, f"Metric {answers[0].outcome.metric}")


def _lives(answer: Answered) -> list[Life]:
    return [life for result in answer.results for life in result.lives] if answer.measured else []


def _sizes(life: Life) -> str:
    return ", ".join(whole(life.told[f"{name}_octets"]) for name in ("had", "asked", "actual"))


def _counted(lives: Sequence[Life]) -> list[str]:
    def total(name: str) -> int:
        return sum(life.told[f"{name}_frames"] for life in lives)

    def of_which(name: str, other: str) -> str:
        return f"{whole(total(name))}, {whole(total(other))}"

    dropped = all("stopped_frames" in life.told for life in lives)
    return [
        of_which("before_came", "before_rule"),
        of_which("after_came", "after_rule"),
        whole(total("wrong_rule")),
        of_which("sent", "counted"),
        whole(total("stopped")) if dropped else "not known: its counts follow later",
    ]


def _mean(answer: Answered) -> str:
    half = answer.values.get("half_width_95")
    spread = f" ± {nanoseconds(half)}" if half is not None else ""
    return f"{of_repetitions(answer.values)}, mean {nanoseconds(answer.values['mean'])}{spread}"


def _apart_ns(life: Life) -> int:
    return (life.first_frame_ns or 0) - (life.not_before_ns or 0)
