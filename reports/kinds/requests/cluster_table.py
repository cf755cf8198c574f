"""Proxies in pods of a cluster: which cluster, within which limits, and how many requests each had."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bmwg.methodology.kinds.requests.records import CLUSTER_FORMS
from bmwg.reports.kinds.requests.answers import Answered, tried
from bmwg.reports.kinds.requests.option_table import limits_words
from bmwg.reports.kinds.requests.words import shape_words
from bmwg.reports.render.blocks import Block, paragraph, table, title
from bmwg.reports.render.text import NONE, nanoseconds, whole
from bmwg.reports.store import Run

_DIGITS = 19  # of a digest, `sha256:` with it; platform.json has all of it


def cluster_section(run: Run, answers: Sequence[Answered], words: Mapping[str, str]) -> list[Block]:
    """Return the tables; nothing for a run without a deployment on a cluster."""
    rows = list(dict.fromkeys(_rows(run, words)))
    if not rows:
        return []
    about = (
        "The cluster is the run's own, on the proxies' node; its programs share the machine's CPUs. Clients "
        "and server stand outside of it, in network namespaces that have routes to its pods and Services."
    )
    head = ["hosting form", "proxies", "Kubernetes", "Service by", "limits of a pod", "asked for by a pod"]
    head += ["image", "until all of them served"]
    return [
        *title("Pods of Kubernetes", 2),
        *paragraph(about),
        *table(head, rows),
        *_share_table(run, answers, words),
    ]


def _rows(run: Run, words: Mapping[str, str]) -> Iterator[tuple[str, ...]]:
    for evidence in run.deployments.values():
        hosting = evidence.get("hosting")
        if not isinstance(hosting, Mapping) or hosting.get("form") not in CLUSTER_FORMS:
            continue
        instances: Sequence[Mapping[str, Any]] = evidence.get("instances") or ()
        group: Mapping[str, Any] = evidence.get("group") or {}
        took = evidence.get("start_ns")
        if not took:  # of a start, whose times stand in a table of their own
            continue
        version = hosting["cluster"].get("version")
        for limits, asked, image in dict.fromkeys(_pod(instance) for instance in instances):
            yield (
                words[hosting["form"]],
                whole(len(instances)),
                version if isinstance(version, str) else NONE,
                f"{group['by']}: {group['picks']}" if group else NONE,
                limits,
                asked,
                image,
                nanoseconds(sum(took)),
            )


def _pod(instance: Mapping[str, Any]) -> tuple[str, str, str]:
    pod: Mapping[str, Any] = instance.get("pod") or {}
    requests = (pod.get("resources") or {}).get("requests") or {}
    asked = ", ".join(f"{name} {value}" for name, value in sorted(requests.items())) or "not told"
    return limits_words(instance.get("limits") or {}), asked, str(pod.get("image_digest") or NONE)[:_DIGITS]


def _share_table(run: Run, answers: Sequence[Answered], words: Mapping[str, str]) -> list[Block]:
    """Return what each proxy behind one address had of the clients' requests, by their own counters."""
    rows = []
    for answer in answers:
        mine = [one.result for one in tried(run, answer)]
        shares = [requests_result.shares for requests_result in mine if requests_result.shares is not None]
        if not shares or len({len(one) for one in shares}) > 1:
            continue
        each = [sum(counts) for counts in zip(*shares, strict=True)]
        client = sum(
            result.requests + result.warm_up_requests for result in mine if result.shares is not None
        )
        idle = max(sum(count == 0 for count in share) for share in shares)
        rows.append(
            [
                shape_words(answer.spec, proxies=True),
                words[answer.spec.form],
                whole(client),
                whole(sum(each)),
                f"{min(each)} / {max(each)}",
                whole(idle),
            ]
        )
    head = ["object", "hosting form", "requests of the client", "counted by the proxies"]
    head += ["least / most of one proxy", "most proxies without one in a repetition"]
    return table(head, rows, "Requests by proxy, those that warmed up among them") if rows else []
