"""The tables of exchanged configurations: when the new one was in force, what was lost, what rules count."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from bmwg.methodology.answers.repeated import of_repetitions
from bmwg.methodology.kinds.acts.kind import BACK, WAYS, each, figure, one_way
from bmwg.methodology.kinds.acts.records import ActsResult, ActsSpec, Life
from bmwg.reports.kinds.acts.medians import median
from bmwg.reports.kinds.repeated.answers import Answered as AnsweredBy
from bmwg.reports.render.blocks import Block, paragraph, table
from bmwg.reports.render.text import NONE, nanoseconds, sequence, whole

Answered = AnsweredBy[ActsSpec, ActsResult]
OTHER_SIZE = "the other size"
HOW = (
    "A function's configuration (rules of nftables, flows of Open vSwitch) is exchanged for another while "
    "frames pass. Each configuration marks the frames that it lets through (DSCP), so each frame tells by "
    "which one it came; one without a mark came by neither, and is not lost. The exchange is made as one "
    "(atomic: one transaction of nftables, one bundle of OpenFlow), or the old one is flushed first and all "
    "test frames are dropped until the new one stands (flush-first). Frames lost are the timed ones. Before "
    "and after an exchange frames pass while nothing changes, and the counters of the configuration that "
    "stands are held against what came: the execution is inconsistent where others count them. Where a load "
    "goes on beside, its frames are in those counts."
)
HOW_RESIZED = (
    "What routes is given another size, and the one that it had. A guest hands memory to its "
    "host by the balloon of virtio, or has a second CPU plugged in and out: QEMU and the guest itself say "
    "how many it has. A pod's limit of CPU time or memory is changed by its runtime, and read back from its "
    "cgroup. Replicas are pods over which a node spreads 64 flows by a route with several next hops: one "
    "more is made and given its share, and then taken away; the node's route is read back. A load beside "
    "them has the same flows, and is in the counts by replica. A server of an OpenStack is stopped by Nova "
    "and boots anew with another flavor (cold resize), so that its outage is that of a boot; the size read "
    "back is the flavor's, and what the guest's own kernel has found stands beside it. The time lasts "
    "from the request to the first frame that came of those offered after the new "
    "size was read back, and the interface of what routes has counted frames that it forwarded since. An "
    "answer's own number is of the change to the other size; that of the way back is told as back."
)
_HOW_SPUN = (
    "With each limit of CPU time a program in the pod wanted a whole CPU for a second, after the frames of "
    "the change were counted. Frames that the kernel forwards are not in that limit."
)
_STALE = "by the old one after the exchange was confirmed"


def exchanges(answers: Sequence[Answered], place: Callable[[Answered], str]) -> list[Block]:
    """Return times and losses, and the counts that show which configuration let frames through."""
    rows = []
    for answer in answers:
        lives = _lives(answer)
        stale = ", ".join(str(life.told["stale_frames"]) for life in lives)
        row = _row(answer, answer.results if answer.measured else (), lives, stale)
        row[1] = mean(answer) if lives else NONE
        rows.append([place(answer), *row])
    lines = table(_head("by the new one", f"frames {_STALE}"), rows, _caption(answers))
    counted = [[place(answer), *_counted(lives)] for answer in answers if (lives := _lives(answer))]
    if counted:
        head = ["path and option", "came before, of these counted by the old one"]
        head += ["came after, of these counted by the new one", "counted by the wrong one"]
        head += ["offered amid, of these counted", "dropped by the function, as it counts"]
        head += ["timed frames that came by neither"]
        lines += table(
            head, counted, "What the function counts of the valid executions, all of them together"
        )
    return lines


def resizes(answers: Sequence[Answered], place: Callable[[Answered], str]) -> list[Block]:
    """Return times and losses of changed sizes, each way apart, with the sizes that were read back."""
    rows, spun, shares = [], [], []
    for answer in answers:
        for way, mine in each_way(answer.results if answer.measured else (), OTHER_SIZE):
            lives = [life for result in mine for life in result.lives]
            unit = answer.planned.spec.size_unit
            sizes = "; ".join(dict.fromkeys(_sizes(life, unit) for life in lives))
            rows.append([f"{place(answer)}{way}", *_row(answer, mine, lives, sizes)])
            if lives and "spun_us" in lives[0].told:
                spun.append([f"{place(answer)}{way}", *_got(mine)])
            shares += [[f"{place(answer)}{way}", *row] for row in _shares(lives)]
    lines = table(_head("with the new size", "size before, asked for, read back"), rows, _caption(answers))
    if spun:
        head = ["path and option", "limit, us of each 100 ms", "CPU time, us", "within, us"]
        head += ["periods in which it was held back"]
        lines += [*paragraph(_HOW_SPUN), *table(head, spun, "What a program got of the CPU, medians")]
    if shares:
        head = ["path and option", "replica", "frames that came by it", "frames that it sent", "share"]
        lines += table(head, shares, "Frames by replica while nothing changes, all executions together")
    return lines


def each_way(results: Sequence[ActsResult], to: str) -> list[tuple[str, list[ActsResult]]]:
    """Return the acts there and those back, each with the words for them: `to` is where the first lead."""
    words = {"": f", to {to}", BACK: ", back"}
    return [(words[name], one_way(results, first)) for name, first in WAYS.items()]


def _shares(lives: Sequence[Life]) -> list[list[str]]:
    """Return a row a replica that stood after a change: how many frames came by it, and how many it sent."""
    rows = []
    for one in range(1, 1 + max((life.told.get("actual_replicas", 0) for life in lives), default=0)):
        came, sent = (
            sum(life.told[f"replica_{one}_{what}_frames"] for life in lives) for what in ("came", "sent")
        )
        whole_came = sum(life.told["window_came_frames"] for life in lives)
        rows.append([str(one), whole(came), whole(sent), f"{came / whole_came:.1%}" if whole_came else NONE])
    return rows


def _got(results: Sequence[ActsResult]) -> list[str]:
    names = ("actual_quota_us", "spun_us", "spun_window_us", "throttled_periods")
    return [median(each(results, figure(name)), whole) for name in names]


def _head(first: str, column: str) -> list[str]:
    head = ["path and option", "type", "executions", f"request to first frame {first}", "outage"]
    return [*head, "frames lost in each", column, "resolution, worst", "trials", "remarks"]


def _caption(answers: Sequence[Answered]) -> str:
    return f"Metric {answers[0].outcome.metric}"


def _row(answer: Answered, results: Sequence[ActsResult], lives: Sequence[Life], told: str) -> list[str]:
    """Return until when the first frame came, outage and loss, and what is told beside them."""
    return [
        answer.type_cell,
        of_repetitions(answer.values) if lives else NONE,
        median(each(results, lambda life: life.start_ns)),
        median(each(results, lambda life: life.outage_ns)),
        ", ".join(str(life.lost_frames) for life in lives) or NONE,
        told or NONE,
        nanoseconds(max(_apart_ns(life) for life in lives)) if lives else NONE,
        sequence(answer.outcome.trials),
        answer.remarks,
    ]


def _lives(answer: Answered) -> list[Life]:
    return [life for result in answer.results for life in result.lives] if answer.measured else []


def _sizes(life: Life, unit: str) -> str:
    words = {"cpus": "CPUs", "quota_us": "us of each 100 ms"}.get(unit, unit)
    sizes = f"{' / '.join(whole(life.told[f'{name}_{unit}']) for name in ('had', 'asked', 'actual'))} {words}"
    counted = life.told.get(f"guest_{unit}")
    return sizes if counted is None else f"{sizes}, its guest counts {whole(counted)}"


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
        whole(sum(life.bypassed_frames for life in lives)),
    ]


def mean(answer: Answered) -> str:
    """Say of how many repetitions an answer is, their mean, and its interval."""
    half = answer.values.get("half_width_95")
    spread = f" ± {nanoseconds(half)}" if half is not None else ""
    return f"{of_repetitions(answer.values)}, mean {nanoseconds(answer.values['mean'])}{spread}"


def _apart_ns(life: Life) -> int:
    return (life.first_frame_ns or 0) - (life.not_before_ns or 0)
