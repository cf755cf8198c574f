"""What the guests of a run ran on: under TCG their figures are those of a translator."""

from __future__ import annotations

from collections.abc import Sequence

from bmwg.methodology.kinds.repeated.kind import ResultT
from bmwg.methodology.kinds.repeated.profile import SpecT
from bmwg.methodology.records import GUEST
from bmwg.reports.render.text import esc
from bmwg.reports.repeated.answers import Answered
from bmwg.reports.store import Run

WORDS = "QEMU guest"  # not `kvm`, as the form is called in cells: it may run without
_TCG = (
    "The QEMU guest ran under TCG, which translates each instruction: the machine has no hardware "
    "virtualization. Its figures say what translation costs, and nothing of KVM."
)


def note(run: Run, answers: Sequence[Answered[SpecT, ResultT]]) -> list[str]:
    """Return a sentence on what the guests among these answers ran on; nothing without one."""
    deployments = run.platform.get("deployments", {})
    found = {
        str(deployments.get(one.deployment, {}).get("machine", {}).get("accelerator", "unknown"))
        for one in answers
        if one.outcome.cell.hosting == GUEST and one.measured
    }
    if not found:
        return []
    if "tcg" in found:
        return [esc(_TCG), ""]
    return [esc(f"The QEMU guest ran on {', '.join(sorted(found))}."), ""]
