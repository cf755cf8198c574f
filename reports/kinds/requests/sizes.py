"""What each hosting form of a proxy boots or unpacks, beside the time until it serves."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from bmwg.methodology.kinds.requests.records import Workload
from bmwg.methodology.record.booted import KEY
from bmwg.reports.kinds.requests.answers import Answered
from bmwg.reports.render.blocks import Block
from bmwg.reports.render.sections import booted
from bmwg.reports.store import Run

_ENDS = "the client has the first right answer; an image was made before"


def lines(
    run: Run, answers: Sequence[Answered], words: Mapping[str, str], time: Callable[[Answered], str]
) -> list[Block]:
    """Return the table of forms whose start was measured; empty of what times no start."""
    rows = [
        booted.Row(
            form=words[one.spec.form],
            told=_told(run.deployments.get(one.deployment, {})),
            start=time(one),
            ends=_ENDS,
        )
        for one in answers
        if one.measured and one.spec.workload is Workload.START
    ]
    return booted.lines(rows, "hosting form", "start, mean of the repetitions")


def _told(evidence: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return where the evidence of a form tells it: its image, its machine, itself, or its first instance."""
    hosting = evidence.get("hosting", {})
    images = [*hosting.get("images", {}).values()]
    instances = [one.get("limits") or {} for one in evidence.get("instances", ())]
    each = [*images, hosting.get("machine") or {}, hosting, *instances]
    return next((found for found in each if KEY in found), None)
