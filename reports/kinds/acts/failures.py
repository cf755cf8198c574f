"""The tables of starts that may fail: the share that came to forward, why others did not, how many fit."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from bmwg.methodology.kinds.acts.records import ActsResult, ActsSpec, Failure, Life
from bmwg.reports.kinds.repeated.answers import Answered as AnsweredBy
from bmwg.reports.render.blocks import Block, paragraph, table
from bmwg.reports.render.text import NONE, percent, sequence, whole

Answered = AnsweredBy[ActsSpec, ActsResult]
_HOW = (
    "A start failed when its network was not attached, its program or machine did not come to run, no node "
    "had room for it, or no frame came out in time. The first of these that it lacked is its kind, by the "
    "error of the driver; any other error ends the execution and is counted as nothing. All starts of the "
    "valid executions are one sample; the interval (Clopper and Pearson, 95 %) takes them as independent."
)
_HOW_FIT = (
    "Pods are made beside each other and all stay. One counts when its own frames came out and after that "
    "those of each pod before it. Memory, swap and CPU time are those of the host when the pod forwarded."
)
_WORDS = {
    Failure.NOT_SCHEDULED: "not scheduled",
    Failure.NO_NETWORK: "no network",
    Failure.NOT_BOOTED: "not booted",
    Failure.NO_FRAME: "no frame",
}


def attempts(answers: Sequence[Answered], place: Callable[[Answered], str]) -> list[Block]:
    """Return shares of starts with their intervals, and failures by kind."""
    rows = []
    for answer in answers:
        told = answer.values
        share = NONE
        if answer.measured:
            low, high = told["success_ratio_low_95"], told["success_ratio_high_95"]
            share = f"{percent(told['success_ratio'])} ({percent(low, 2)} to {percent(high, 2)})"
        kinds = [whole(told[f"failed.{kind.value}"]) if answer.measured else NONE for kind in Failure]
        attempted = whole(told["attempts"]) if answer.measured else NONE
        rows.append(
            [
                place(answer),
                answer.type_cell,
                attempted,
                share,
                *kinds,
                sequence(answer.outcome.trials),
                answer.remarks,
            ]
        )
    head = ["path and option", "type", "starts", "came to forward", *_WORDS.values(), "trials", "remarks"]
    return [*paragraph(_HOW), *table(head, rows, f"Metric {answers[0].outcome.metric}")]


def fits(answers: Sequence[Answered], place: Callable[[Answered], str]) -> list[Block]:
    """Return how many pods stood beside each other, what ended that, and what the host had left by number."""
    rows, rooms = [], []
    for answer in answers:
        stood = [result.stood for result in answer.results]
        rows.append(
            [
                place(answer),
                answer.type_cell,
                ", ".join(map(str, stood)) if answer.measured else answer.outcome.statement or NONE,
                ", ".join(sorted({_ended(result) for result in answer.results})) or NONE,
                sequence(answer.outcome.trials),
                answer.remarks,
            ]
        )
        if answer.results:
            rooms += [[place(answer), *row] for row in _rooms(answer.results[0].lives)]
    head = ["path and option", "type", "pods that forward together", "what failed then", "trials", "remarks"]
    lines = [*paragraph(_HOW_FIT), *table(head, rows, f"Metric {answers[0].outcome.metric}")]
    caption = "What the host had left, by the number of pods, in the first execution"
    room = [
        "path and option",
        "pods",
        "memory available, MiB",
        "swap in use, MiB",
        "CPU time of the host since the pod before, s",
    ]
    return [*lines, *table(room, rooms, caption)]


def _ended(result: ActsResult) -> str:
    kinds = [_WORDS[Failure(life.failed)] for life in result.lives if life.failed]
    return ", ".join(kinds) or "nothing"


def _rooms(lives: Sequence[Life]) -> list[list[str]]:
    """Return a row for the first number of pods, the last, and each doubling between them."""
    told = [(number, life.host) for number, life in enumerate(lives, start=1) if life.host]
    rows = []
    for at, (number, host) in enumerate(told):
        if number & (number - 1) and at != len(told) - 1:
            continue
        before = told[at - 1][1] if at else None
        used = (host["cpu_used_ns"] - before["cpu_used_ns"]) / 1e9 if before else None
        rows.append(
            [
                str(number),
                whole(host["memory_available_octets"] >> 20),
                whole(host["swap_used_octets"] >> 20),
                NONE if used is None else f"{used:.2f}",
            ]
        )
    return rows
