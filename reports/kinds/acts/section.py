"""The report's section on the life of pods and servers: until the first frame, by steps, and until gone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import median as middle

from bmwg.methodology.answers.repeated import of_repetitions
from bmwg.methodology.kinds.acts.experiments import (
    DRAIN,
    EXCHANGE_FILTERS,
    EXCHANGE_FLOWS,
    MIGRATE,
    MIGRATE_SERVER,
    POLICY,
    REPLICATE,
    RESIZE,
    RESIZE_POD,
    RESIZE_SERVER,
    SCALE,
    Answer,
    experiments,
    of_cell,
)
from bmwg.methodology.kinds.acts.kind import (
    ACTS,
    each,
    removal_steps_of,
    since_asked,
    since_removal,
    steps_of,
)
from bmwg.methodology.kinds.acts.records import (
    BEFORE_LOSS,
    POST_COPY_BEGAN,
    STOPPED,
    ActsResult,
    ActsSpec,
    Life,
)
from bmwg.methodology.records import NOTHING, OutcomeType
from bmwg.reports.kinds.acts import exchanges, failures, moves, sizes
from bmwg.reports.kinds.acts.medians import median
from bmwg.reports.kinds.repeated import beside
from bmwg.reports.kinds.repeated.answers import Answered as AnsweredBy
from bmwg.reports.kinds.repeated.answers import answers_of, has_answers, without_numbers
from bmwg.reports.render.blocks import Block, paragraph, table, title
from bmwg.reports.render.text import NONE, nanoseconds, number_of, sequence
from bmwg.reports.store import Run

Answered = AnsweredBy[ActsSpec, ActsResult]
_STEPS = {
    "pod_asked": "the pod is asked for, all on the node being prepared",
    "api_accepted": "accepted by the API",
    "scheduled": "placed by the scheduler, as seen by a watch",
    "container_created": "container created, its program not started",
    "cni_began": "the kubelet asks for its networks",
    "networks_attached": "networks attached (CNI ADD is done)",
    "networks_reported": "networks reported in the API, as seen by a watch",
    "container_running": "container runs (a pod of Kubernetes: as seen by a watch)",
    "delete_accepted": "the request to delete it is accepted by the API",
    "container_ended": "its container has ended, as seen by a watch",
    "networks_detached": "networks detached (CNI DEL is done)",
    "pod_gone": "gone from the API, as seen by a watch",
    "container_removed": "container and cgroups removed",
    "agent_saw": "seen by the agent that enforces it",
    "rules_written": "its rules written (the program that the agent told them to has ended)",
    "eviction_accepted": "the request to evict the pod is accepted by the API",
    "pod_created": "another pod is made by its Deployment, as seen by a watch",
    "pod_ready": "the other pod is ready, as seen by a watch",
    "old_container_ended": "the evicted pod's container has ended, as seen by a watch",
    "old_networks_detached": "the evicted pod's networks are detached (CNI DEL is done)",
    "old_pod_gone": "the evicted pod is gone from the API, as seen by a watch",
    "last_before_loss": "the last frame is offered that came before one was lost",
    "frames_stopped": "the first lost frame is offered",
    "frames_again": "the first frame came after the last lost one",
    "guest_boots": "QEMU runs, and its guest boots",
    "destination_ready": "QEMU waits for the guest at the other place",
    "copy_began": "QEMU is told to send the guest's memory",
    "guest_stopped": "the guest stops at its first place, by QEMU's event",
    "guest_resumed": "the guest runs at the other place, by QEMU's event",
    "guest_announced": "its ARP or RARP from there is heard at the tester's port",
    "move_completed": "QEMU has sent all of it",
    "move_running": "Nova has its host move it, as seen by asking",
    "post_copy_asked": "Nova is told to switch to post-copy",
    POST_COPY_BEGAN: "QEMU goes on by post-copy, by its event",
    "size_asked": "the request is taken, by QEMU, the pod's runtime or the server's host",
    "size_reached": "the new size is read back",
    "size_kept": "the resize is confirmed: Nova no longer keeps the server as it was",
    "shares_settled": "the last flow came by the replica that forwards it in the end",
    "table_flushed": "the old configuration is flushed, as the function confirms",
    "table_loading": "the function is told the new configuration",
    "table_loaded": "it confirms the new configuration",
    "server_accepted": "accepted by Nova's API",
    "server_spawning": "placed, with its ports bound; the hypervisor makes it, as seen by asking every 0.5 s",
    "server_active": "ACTIVE, as seen by asking every 0.5 s",
}


_FIRST = {
    POLICY.metric: "first lost frame",
    DRAIN.metric: "first frame by the other pod",
    MIGRATE.metric: "first frame at the other place",
    MIGRATE_SERVER.metric: "first frame at the other host",
    EXCHANGE_FILTERS.metric: "first frame by the new configuration",
    RESIZE.metric: "first frame with the new size",
    RESIZE_POD.metric: "first frame with the new size",
    RESIZE_SERVER.metric: "first frame with the new size",
    REPLICATE.metric: "first frame with the new number",
    EXCHANGE_FLOWS.metric: "first frame by the new configuration",
}
_OF_POLICIES = (
    "A policy that forbids frames between two pods is in force from the first of them that is lost, "
    "after which none comes until it is removed; the resolution is from the last that came. It is lifted "
    "when a frame comes again. Others that stand beside it are for the sender, so that no frame passes "
    "their rules."
)


_OF_DRAINS = (
    "A node is drained: it takes no further pod, the pod that relays the frames is evicted (policy/v1), and "
    "its Deployment has another one placed on another node. Frames go to a Service in front of both; by "
    "which pod one came is told by the number of routers that it passed. The outage is from the first lost "
    "frame until one came after the last lost one; it may begin long after the request. "
    + moves.AMID
    + "The evicted "
    "pod's program ends as soon as it is told to. First the node is drained at which the tester's ports "
    "are; an answer's own number is of that, and the drain by which the pod comes back is told as back."
)


def section(run: Run, figure: Callable[[str], list[Block]]) -> list[Block]:
    """Return the section, empty for a run without acts."""
    if not has_answers(run, ACTS.name):
        return []
    answers = answers_of(run, ACTS)
    lines = title(f"The life of {_nouns(answers)}")
    if not answers:
        return [*lines, *paragraph("The run holds no answer.")]
    lines += paragraph(
        "A start lasts from the request for a path with a pod (or for a server and its ports, whose "
        "networks stand already) to the first test frame that it has forwarded (known by its hop limit: "
        "one that went round it passed fewer routers); one is "
        "offered every few milliseconds from before the request until after the removal. "
        "The path began to forward between the frame before, which did not come, and this one: the "
        "resolution. Medians over the executions, each of several of them by its own median, with the "
        "interval of order statistics that covers them with at least 90 % (of fewer than five executions "
        "less, and it is said), as far as executions are independent of each other."
    )
    if any(answered.outcome.metric == POLICY.metric for answered in answers):
        lines += paragraph(_OF_POLICIES)
    if any(answer.outcome.metric == DRAIN.metric for answer in answers):
        lines += paragraph(_OF_DRAINS)
    if any(answer.outcome.metric == MIGRATE.metric for answer in answers):
        lines += paragraph(moves.HOW)
    if any(answer.outcome.metric == MIGRATE_SERVER.metric for answer in answers):
        lines += paragraph(moves.HOW_OF_SERVERS)
    if any(_answer(answer) is Answer.EXCHANGES for answer in answers):
        lines += paragraph(exchanges.HOW)
    if any(_answer(answer) is Answer.RESIZES for answer in answers):
        lines += paragraph(exchanges.HOW_RESIZED)
    about = {entry["id"]: entry for entry in run.profile.get("experiments", [])}
    for experiment, known in experiments().items():
        mine = [one for one in answers if one.planned.test_id == known.test_id]
        if mine:
            entry = about.get(experiment, {})
            lines += title(entry.get("title", experiment), 2)
            lines += paragraph(f"After {entry['source']}.") if entry.get("source") else []
            if _answer(mine[0]) is Answer.ATTEMPTS:
                lines += failures.attempts(mine, _place)
                continue
            if _answer(mine[0]) is Answer.FIT:
                lines += failures.fits(mine, _place)
                continue
            if mine[0].outcome.metric in (MIGRATE.metric, MIGRATE_SERVER.metric):
                lines += [*moves.moves(mine, _place), *_steps(mine, to=moves.OTHER_NODE)]
                continue
            if _answer(mine[0]) is Answer.RESIZES:
                lines += [
                    *exchanges.resizes(mine, _place),
                    *_steps(mine, to=exchanges.OTHER_SIZE),
                    *moves.loads(mine, _place, to=exchanges.OTHER_SIZE),
                ]
                continue
            if _answer(mine[0]) is Answer.EXCHANGES:
                lines += [*exchanges.exchanges(mine, _place), *_steps(mine), *moves.loads(mine, _place)]
                continue
            drained = _answer(mine[0]) is Answer.OUTAGES
            lines += _drains(mine) if drained else _answers(mine)
            lines += _steps(mine, to=moves.OTHER_NODE if drained else "")
            lines += [] if drained else [*_removal_steps(mine), *_frames(mine), *moves.loads(mine, _place)]
    lines += sizes.lines(run, answers, _place)
    return [*lines, *beside.lines(run, ACTS), *without_numbers(run, answers, ACTS.name)]


def summary(run: Run) -> str:
    """Say in some words what the run holds of acts; empty for a run without."""
    if not has_answers(run, ACTS.name):
        return ""
    answers = answers_of(run, ACTS)
    counted = sum(len(_lives(answer)) for answer in answers)
    options = ", ".join(
        dict.fromkeys(
            answered.outcome.cell.network for answered in answers if answered.outcome.cell.network != NOTHING
        )
    )
    places = f" on {options}" if options else ""
    lived = [answer for answer in answers if _lives(answer)]
    return f"{number_of(len(answers), 'answer')} from the life of {counted} {_nouns(lived)}{places}"


def _nouns(answers: Sequence[Answered]) -> str:
    """Return what lives in these answers; pods where there is none."""
    return " and ".join(dict.fromkeys(answer.planned.spec.nouns for answer in answers)) or "pods"


def _noun(answers: Sequence[Answered]) -> str:
    return " or ".join(dict.fromkeys(answer.planned.spec.noun for answer in answers))


def _answer(one: Answered) -> Answer:
    return of_cell(one.outcome.cell).answer


def _lives(one: Answered) -> list[Life]:
    return [life for result in one.results for life in result.lives]


def _answers(answers: Sequence[Answered]) -> list[Block]:
    rows = []
    for answer in answers:
        measured = answer.outcome.type is OutcomeType.MEASURED
        lives = _lives(answer) if measured else []
        results = answer.results if measured else ()
        rows.append(
            [
                _place(answer),
                answer.type_cell,
                _rate(answer)
                if measured and _answer(answer) is Answer.RATE
                else _batch(answer)
                if measured and _answer(answer) is Answer.BATCHES
                else exchanges.mean(answer)
                if measured
                else NONE,
                median(each(results, lambda life: life.start_ns)),
                median(each(results, lambda life: life.removal_ns)),
                _most([(life.first_frame_ns or 0) - (life.not_before_ns or 0) for life in lives]),
                sequence(answer.outcome.trials),
                answer.remarks,
            ]
        )
    policy = answers[0].outcome.metric == POLICY.metric
    head = ["path and option", "type", "executions"]
    head += ["request to first lost frame", "request to lift to first frame again"] if policy else [
        "request to first frame", "request to gone",
    ]  # fmt: skip
    head += ["resolution, worst", "trials", "remarks"]
    return table(head, rows, f"Metric {answers[0].outcome.metric}")


def _drains(answers: Sequence[Answered]) -> list[Block]:
    """Return the outages of drained nodes, each way apart, with the frames that were lost in them."""
    rows = []
    for answer in answers:
        for way, results in exchanges.each_way(answer.results if answer.measured else (), moves.OTHER_NODE):
            lives = [life for result in results for life in result.lives]
            rows.append(
                [
                    f"{_place(answer)}{way}",
                    answer.type_cell,
                    of_repetitions(answer.values) if lives else NONE,
                    median(each(results, lambda life: life.outage_ns)),
                    ", ".join(str(life.lost_frames) for life in lives) or NONE,
                    median(each(results, lambda life: life.start_ns)),
                    _most([_loss_resolution_ns(life) for life in lives]),
                    sequence(answer.outcome.trials),
                    answer.remarks,
                ]
            )
    head = ["path and option", "type", "executions", "outage of a drain", "frames lost in each"]
    head += ["request to first frame by the other pod", "resolution, worst", "trials", "remarks"]
    return table(head, rows, f"Metric {answers[0].outcome.metric}")


def _loss_resolution_ns(life: Life) -> int:
    return life.steps.get(STOPPED, 0) - life.steps.get(BEFORE_LOSS, 0)


def _place(one: Answered) -> str:
    place = f"{one.outcome.cell.path}, {one.outcome.cell.function}, {one.outcome.cell.network}"
    at_once = one.planned.spec.at_once
    if one.outcome.metric == POLICY.metric:
        return f"{place}, {one.planned.spec.policies} others"
    if entries := one.planned.spec.entries:
        place += f", {entries} entries"
    if one.planned.spec.mode or one.planned.spec.beside:
        return ", ".join(filter(None, (place, one.planned.spec.mode, one.planned.spec.beside)))
    several = one.outcome.metric == SCALE.metric or (at_once > 1 and _answer(one) is Answer.ATTEMPTS)
    return f"{place}, {at_once} at once" if several else place


def _batch(one: Answered) -> str:
    half = one.values.get("half_width_95")
    spread = f" ± {nanoseconds(half)}" if half is not None else ""
    spec = one.planned.spec
    what = f"{spec.cycles} {spec.noun if spec.cycles == 1 else spec.nouns} at once"
    words = of_repetitions(one.values, each=what)
    return f"{words}, until all forward {nanoseconds(one.values['mean'])}{spread}"


def _rate(one: Answered) -> str:
    half = one.values.get("half_width_95")
    spread = f" ± {half * 60:.2f}" if half is not None else ""
    words = of_repetitions(one.values, each=f"{one.planned.spec.cycles} pods")
    took = median([float(result.took_ns or 0) for result in one.results])
    return f"{words} in {took}, {one.values['mean'] * 60:.2f}{spread} pods/min"


def _most(values: Sequence[int]) -> str:
    return nanoseconds(max(values)) if values else NONE


def _steps(answers: Sequence[Answered], *, to: str = "") -> list[Block]:
    """Return when a start came to each step, from the request; of acts there (`to`) and back apart."""
    rows = []
    for answer in answers:
        results = answer.results if answer.outcome.type is OutcomeType.MEASURED else ()
        for way, mine in exchanges.each_way(results, to) if to else [("", results)]:
            lives = [life for result in mine for life in result.lives]
            place = f"{_place(answer)}{way}"
            told = [(_STEPS.get(step, step), each(mine, since_asked(step))) for step in steps_of(lives)]
            if began := each(mine, lambda life: life.start_ns):
                told.append((_FIRST.get(answer.outcome.metric, "first forwarded frame"), began))
            told.sort(key=lambda one: middle(one[1]))  # a pod may forward before its program runs
            rows += [[place, words, median(times)] for words, times in told]
    return table(["path and option", "step", "time since the request"], rows, "A start by its steps")


def _removal_steps(answers: Sequence[Answered]) -> list[Block]:
    """Return when a removal came to each step, from the request to remove: median and interval."""
    rows = []
    for answer in answers:
        lives = _lives(answer) if answer.outcome.type is OutcomeType.MEASURED else []
        results = answer.results if lives else ()
        for step in removal_steps_of(lives):
            at = each(results, since_removal(step))
            rows.append([_place(answer), _STEPS.get(step, step), median(at)])
    if not rows:
        return []
    head = ["path and option", "step", "time since the request to remove"]
    return table(head, rows, "A removal by its steps")


def _frames(answers: Sequence[Answered]) -> list[Block]:
    """Return what came of the frames: those before a path is there, and after it is gone, are lost."""
    rows = []
    for answer in answers:
        lives = _lives(answer)
        if lives:
            rows.append(
                [
                    _place(answer),
                    sum(life.offered_frames for life in lives),
                    sum(life.received_frames for life in lives),
                    sum(life.reordered_frames for life in lives),
                    sum(life.bypassed_frames for life in lives),
                    median(each(answer.results, _still)),
                ]
            )
    head = [
        "path and option",
        "offered",
        "came out",
        "came after a later one",
        f"went round the {_noun(answers)}",
    ]
    head += ["last frame, after the request to remove"]
    return table(head, rows, "Frames of the valid executions, all of them together")


def _still(life: Life) -> int | None:
    if life.last_frame_ns is None or life.remove_asked_ns is None:
        return None
    return max(0, life.last_frame_ns - life.remove_asked_ns)
