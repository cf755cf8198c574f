"""Clients with a load generator of their own each: how they stood, how they began together, what each had."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bmwg.methodology.kinds.requests.own_clients import LATEST_SHARE, OwnClients, means_ns
from bmwg.methodology.kinds.requests.records import Workload
from bmwg.reports.kinds.requests.answers import Answered, tried
from bmwg.reports.kinds.requests.words import shape_words
from bmwg.reports.render.blocks import Block, paragraph, table, title
from bmwg.reports.render.text import NONE, nanoseconds, percent, whole
from bmwg.reports.store import Run

_MEBI = 1 << 20
_SAID = (
    "Each client is a pod on the clients' node with an address, limits and a program of its own, and asks one"
    " proxy. All wait at a gate until the last one stands, and are let go at one instant; the figures of the"
    " experiment are of the requests of all of them together. A repetition is incomplete in which one did not"
    f" begin, sent fewer requests, or began after more than {percent(LATEST_SHARE, 0)} of the time until the"
    " first one ended. Figures here are the worst of the valid repetitions."
)


def clients_section(run: Run, answers: Sequence[Answered], words: Mapping[str, str]) -> list[Block]:
    """Return the table; nothing for a run without such clients."""
    mine = [one for one in answers if one.spec.workload is Workload.JMETER_PODS]
    if not mine:
        return []
    head = ["object", "hosting form", "clients", "pods by", "until all stood", "memory of all programs"]
    head += ["the last one began after", "the first one ended after", "mean of a client, least / most"]
    rows = [_row(run, one, words) for one in mine]
    return [*title("Clients in pods of their own", 2), *paragraph(_SAID), *table(head, rows)]


def _row(run: Run, one: Answered, words: Mapping[str, str]) -> list[str]:
    valid = [each.result.own_clients for each in tried(run, one) if not each.problems]
    found = [each for each in valid if each is not None]
    return [
        shape_words(one.spec, proxies=True),
        words[one.spec.form],
        whole(one.spec.clients),
        str(run.testbed.get("pods", {}).get("runtime", "crun")),
        *(_told(found) if found else [NONE] * 5),
    ]


def _told(found: Sequence[OwnClients]) -> list[str]:
    means = means_ns(found)
    return [
        nanoseconds(max(each.stood_ns for each in found)),
        f"{max(each.memory_octets for each in found) // _MEBI} MiB",
        nanoseconds(max(each.last_began_ns for each in found)),
        nanoseconds(min(each.first_ended_ns for each in found)),
        " / ".join(map(nanoseconds, means)) if means else NONE,
    ]
