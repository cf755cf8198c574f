"""Runs of several deployments, and what a rule says of a row."""

from __future__ import annotations

from typing import Any

import runs
from runs import TPUT, run


def told(make, row: str, benchmark: str = "") -> str:
    verdict = runs.verdict_of(make(), row, benchmark)
    return "absent" if verdict is None else verdict.original.value


def plan_of(*lines: dict[str, Any], **more: Any):
    """Return a run of these lines of pods, each with its own path, network and sizes."""
    common = {"path": "pvp", "hosting": "pod", "function": "testpmd", "networks": ["bridge"]}
    lines = tuple({**common, "frame_octets": [64], **one} for one in lines)
    return run(TPUT, profile={"suites": {"rfc2544": {"paths": list(lines)}}, **more})


def renumbered(data: dict[str, Any], journal: list[dict[str, Any]]) -> None:
    """Number the lines of a journal by their places, and so the trials that outcomes name."""
    number = {one["seq"]: place for place, one in enumerate(journal, start=1)}
    for one in journal:
        one["seq"] = number[one["seq"]]
    for one in data["outcomes"]:
        one["trials"] = [number[seq] for seq in one["trials"]]
        for end in filter(None, one["bounds"].values()):
            end["trials"] = [number[seq] for seq in end["trials"]]
