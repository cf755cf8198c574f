"""What else the machine did while repetitions ran: a row a hosting form, from the samples in the journal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bmwg.methodology.kinds.kind import Body, Execution
from bmwg.methodology.kinds.repeated.kind import MEASURED
from bmwg.methodology.kinds.requests.records import KIND
from bmwg.reports.render.blocks import Block, fold, table
from bmwg.reports.render.text import NONE, percent, whole

_FOREIGN = "host.foreign_frames"
_COUNTS = {
    "host.backlog_dropped": "frames dropped at a full backlog",
    "host.polls_squeezed": "polls that ran out of budget",
    _FOREIGN: "frames on the runner's own interfaces",
}
_HEAD = ["hosting form", "repetitions", "CPU time stolen by the hypervisor: all / most in one"]
_HEAD += ["CPU time in softirq, the kernel's network work"]
_CAPTION = (
    "The machine during the repetitions (100 % is one CPU; the kernel counts CPU time in ticks of 10 ms)"
)


_OF_SEVERAL = "Clients', proxies' and server's host together during the repetitions (100 % is one CPU)"


def host_table(
    executions: Sequence[Execution], words: Mapping[str, str], *, several: bool = False
) -> list[Block]:
    """Return the table, folded away; empty for a run whose repetitions have no samples.

    Shares are of one CPU over the repetitions' whole time, so two busy CPUs are 200 %. `several`: the samples
    are those of three hosts together.
    """
    forms: dict[str, list[Body]] = {form: [] for form in words}
    for execution in executions:
        if (
            execution.phase == MEASURED
            and execution.body.kind == KIND
            and execution.body.host
            and _wall_ns(execution.body)
        ):
            forms.setdefault(execution.cell_id.split("/")[1], []).append(execution.body)
    rows = []
    for form, mine in forms.items():
        if not mine or form not in words:
            continue
        shares = [body.host["host.steal_ns"] / _wall_ns(body) for body in _told(mine, "host.steal_ns")]
        stolen = _share(mine, "host.steal_ns")
        rows.append(
            [
                words[form],
                whole(len(mine)),
                f"{stolen} / {percent(max(shares), 1)}" if shares else NONE,
                _share(mine, "host.softirq_ns"),
                *(_sum(mine, name) for name in _COUNTS),
            ]
        )
    if not rows:
        return []
    counted = dict(_COUNTS) | ({_FOREIGN: "frames on the hosts' other interfaces"} if several else {})
    found = table([*_HEAD, *counted.values()], rows, _OF_SEVERAL if several else _CAPTION)
    whose = "hosts" if several else "machine"
    return fold(f"What else the {whose} did during the repetitions", found)


def _wall_ns(body: Body) -> int:
    return int(body.result["wall_ns"])


def _told(mine: Sequence[Body], name: str) -> list[Body]:
    return [body for body in mine if name in body.host]


def _share(mine: Sequence[Body], name: str) -> str:
    told = _told(mine, name)
    whole_ns = sum(_wall_ns(one) for one in told)
    return percent(sum(body.host[name] for body in told) / whole_ns, 1) if whole_ns else NONE


def _sum(mine: Sequence[Body], name: str) -> str:
    told = _told(mine, name)
    return whole(sum(body.host[name] for body in told)) if told else NONE
