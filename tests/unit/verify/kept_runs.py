"""What the tests of kept evidence share: names, answers and files of the runs."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import evidence
import replayable

from bmwg.reports.verify import verify
from bmwg.reports.verify.verify import verify_folder

NAMES = [one.name for one in evidence.KEPT]


BUNDLES = [(one.name, kind) for one in evidence.KEPT for kind in one.bundles]


of = {one.name: one for one in evidence.KEPT}


@cache
def verified(place: Path, name: str) -> verify.Verification:
    """Verify a kept run as it is, once a session."""
    return verify_folder(evidence.unpacked(place, name) / name)


def rules(found: verify.Verification) -> set[str]:
    return {finding.rule_id for finding in found.findings}


def outcome(run: dict[str, Any], metric: str) -> dict[str, Any]:
    return next(one for one in run["outcomes"] if one["metric"] == metric)


def read(folder: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    return json.loads((folder / "run.json").read_text()), replayable.bodies(folder)
