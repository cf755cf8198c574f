"""The tables of a guest's moves: what its frames show, what its mover tells, and where the outage went."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from bmwg.methodology.answers.repeated import of_repetitions
from bmwg.methodology.kinds.acts.experiments import MIGRATE
from bmwg.methodology.kinds.acts.kind import each, figure
from bmwg.methodology.kinds.acts.records import (
    AGAIN,
    ANNOUNCED,
    GUEST_RESUMED,
    GUEST_STOPPED,
    ActsResult,
    ActsSpec,
    Life,
)
from bmwg.reports.kinds.acts.exchanges import each_way
from bmwg.reports.kinds.acts.medians import median
from bmwg.reports.kinds.repeated.answers import Answered as AnsweredBy
from bmwg.reports.render.blocks import Block, paragraph, table
from bmwg.reports.render.text import NONE, nanoseconds, sequence, whole

Answered = AnsweredBy[ActsSpec, ActsResult]
AMID = "Frames may come amid it, beside a load above all: how many were lost stands beside. "
HOW = (
    "A guest that routes is moved to another node by QEMU while it runs (live migration). By pre-copy it "
    "runs at its first place until the rest of its memory can be sent within a time limit; by post-copy it "
    "runs at the other place at once, and its memory follows. The outage is what the frames show: from the "
    "first lost one until one came after the last lost one. " + AMID + "Beside it stands the time in "
    "which the guest ran nowhere, by QEMU's own events at both places, and QEMU's own figure of it, which by "
    "post-copy leaves out what was yet to be sent. The outage ends after that time where frames go to the "
    "old place, or the guest waits for its memory. An answer's own number is of the move to the other node; "
    "that of the move back is told as back."
)
HOW_OF_SERVERS = (
    "A server that routes is moved by Nova to another compute host while it runs (live migration); no disk "
    "is shared. By pre-copy it runs at its first host until the rest of its memory can be sent within Nova's "
    "time limit; by post-copy Nova is told, once it moves, to have it run at the other host, and the rest "
    "follows. The outage is what the frames show: from the first lost one until one came after the last lost "
    "one. "
    + AMID
    + "Beside it stands the time in which the server ran nowhere, by QEMU's own events at both hosts, and "
    "libvirt's own figures. The guest says by which id its kernel's boot is known, before the move and once "
    "its frames come again. Where a second id is told it has booted anew and did not move, and the execution "
    "is inconsistent. That the move went on by post-copy is told by QEMU's event. A server of the same "
    "networks stands at the second host, so that Neutron has joined them with its NICs before the move. An "
    "answer's own number is of the move to the other host; "
    "that of the move back is told as back."
)
OTHER_NODE = "the other node"
_HOW_BESIDE = (
    "A load beside the timed frames is half of the highest rate that got through before the act, found "
    "by doubling. Where the sender was the limit the guest may carry more, and the load is less than "
    "half of that."
)
_PARTS = (
    ("guest stopped to guest running at the other place", GUEST_STOPPED, GUEST_RESUMED),
    ("until it was heard there (ARP or RARP): switches have learnt the place", GUEST_RESUMED, ANNOUNCED),
    ("until the first frame came that it forwarded there", ANNOUNCED, ""),
    ("until one came after the last lost one", "", AGAIN),
)


def moves(answers: Sequence[Answered], place: Callable[[Answered], str]) -> list[Block]:
    """Return the outages with what QEMU tells of each, their parts, and the loads beside."""
    rows, told, parts = [], [], []
    metric = answers[0].outcome.metric
    for answer in answers:
        for way, results in each_way(answer.results if answer.measured else (), OTHER_NODE):
            lives = [life for result in results for life in result.lives]
            where = f"{place(answer)}{way}"
            rows.append(
                [
                    where,
                    answer.type_cell,
                    of_repetitions(answer.values) if lives else NONE,
                    median(each(results, lambda life: life.outage_ns)),
                    ", ".join(str(life.lost_frames) for life in lives) or NONE,
                    sequence(answer.outcome.trials),
                    answer.remarks,
                ]
            )
            if results:
                told.append([where, *_told(results, "qemu" if metric == MIGRATE.metric else "libvirt")])
            parts += [[where, *row] for row in _parts(results)]
    head = ["path and option", "type", "executions", "outage by frames", "frames lost in each"]
    lines = table([*head, "trials", "remarks"], rows, f"Metric {answers[0].outcome.metric}")
    if parts:
        who = "QEMU" if metric == MIGRATE.metric else "libvirt"
        head = [
            "path and option",
            "the guest ran nowhere, by its events",
            f"{who}'s downtime",
            f"{who}'s total time",
        ]
        lines += table([*head, "octets sent", "passes"], told, f"What {who} tells of the moves")
        lines += table(["path and option", "part of the outage", "time"], parts, "Where the outage went")
    return [*lines, *loads(answers, place, to=OTHER_NODE)]


def loads(answers: Sequence[Answered], place: Callable[[Answered], str], *, to: str = "") -> list[Block]:
    """Return the loads that went on beside, none where nothing did; of acts there (`to`) and back apart."""
    rows = []
    for answer in answers:
        for way, results in each_way(answer.results, to) if to else [("", answer.results)]:
            lives = [life for result in results for life in result.lives]
            if lives and all("carried_fps" in life.told for life in lives):
                rows.append([f"{place(answer)}{way}", *_beside(lives)])
    if not rows:
        return []
    head = ["path and option", "got through before, frames/s", "aimed at beside, frames/s"]
    head += ["offered meanwhile, frames/s", "frames offered", "of these lost"]
    return [*paragraph(_HOW_BESIDE), *table(head, rows, "The load beside")]


def _told(results: Sequence[ActsResult], by: str) -> list[str]:
    return [
        median(each(results, _nowhere)),
        _figure(results, f"{by}_downtime_ns", nanoseconds),
        _figure(results, f"{by}_total_ns", nanoseconds),
        _figure(results, "ram_octets", whole),
        _figure(results, "passes", whole),
    ]


def _nowhere(life: Life) -> int | None:
    return _between(life, GUEST_STOPPED, GUEST_RESUMED)


def _between(life: Life, begin: str, end: str) -> int | None:
    """Return the time between two steps, of which the first frame has no name.

    It is 0 where the second came first: moments of two clocks lie some milliseconds off at most.
    """
    began_ns, ended_ns = (life.steps.get(at) if at else life.first_frame_ns for at in (begin, end))
    return None if began_ns is None or ended_ns is None else max(0, ended_ns - began_ns)


def _figure(results: Sequence[ActsResult], name: str, words: Callable[[float], str]) -> str:
    return median(each(results, figure(name)), words)


def _parts(results: Sequence[ActsResult]) -> list[list[str]]:
    rows = []
    for words, begin, end in _PARTS:
        found = each(results, lambda life, begin=begin, end=end: _between(life, begin, end))  # type: ignore[misc]
        if found:
            rows.append([words, median(found)])
    return rows


def _beside(lives: Sequence[Life]) -> list[str]:
    carried = sorted({life.told["carried_fps"] for life in lives})
    limited = any(life.told["sender_limited"] for life in lives)
    offered = sum(life.told["beside_offered_frames"] for life in lives)
    lost = offered - sum(life.told["beside_received_frames"] for life in lives)
    aimed = sorted({life.told["beside_fps"] for life in lives})
    took_ns = sum(life.told["beside_window_ns"] for life in lives)
    most = ", ".join(map(whole, carried)) + (" (the sender was the limit)" if limited else "")
    rate = whole(round(offered * 1e9 / took_ns)) if took_ns else NONE
    return [most, ", ".join(map(whole, aimed)), rate, whole(offered), whole(lost)]
