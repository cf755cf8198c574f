"""A run measured by a profile that sets aside more than it may is told (VER-39)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bmwg.methodology.profiles import load_profile
from bmwg.reports.checker.reading import read_evidence
from bmwg.reports.checker.source import FolderFiles
from bmwg.reports.verify.rules import set_aside_declared


def told(run_folder: Path, profile: dict[str, Any]) -> list[str]:
    evidence = read_evidence(FolderFiles(run_folder))
    assert evidence.profile is not None
    changed = replace(evidence, profile=replace(evidence.profile, data=profile))
    return [where for where, _, _ in set_aside_declared.check(changed)]


@pytest.mark.parametrize(
    ("name", "part", "change", "expected"),
    [
        ("rfc2544", "trial", {}, []),
        ("quick", "trial", {}, []),
        ("rfc2544", "trial", {"set_aside_host_stalls": True}, ["trial.set_aside_host_stalls (PRF-06)"]),
        ("rfc2544", "trial", {"max_repeats": 100}, ["trial.max_repeats (PRF-07)"]),
        ("rfc2544", "trial", {"min_sent_ratio": 0.9}, ["trial.min_sent_ratio (PRF-08)"]),
        ("rfc2544", "search", {"most_relative_width": 0.2}, ["search.most_relative_width (PRF-09)"]),
    ],
)
def test_a_lenient_profile_of_a_run_is_told(
    run_folder: Path, name: str, part: str, change: dict[str, Any], expected: list[str]
) -> None:
    data = dict(load_profile(name).data)
    data[part] = {**data[part], **change}
    assert told(run_folder, data) == [f"run.json: profile: {one}" for one in expected]


def test_an_indicative_profile_may_set_aside_half(run_folder: Path) -> None:
    data = dict(load_profile("quick").data)
    data["trial"] = {**data["trial"], "most_set_aside_ratio": 0.9}
    assert told(run_folder, data) == ["run.json: profile: trial.most_set_aside_ratio (PRF-06)"]
