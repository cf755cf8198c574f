"""A run of starts that failed verifies from its executions; its page tells shares, kinds and how many fit."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from acts_run import executed, header_by
from repeated_run import Clock, closed, deployed, forged
from tests.unit.acts.test_failures import FIT, PLAN, lived

from bmwg.methodology.kinds.acts import profile
from bmwg.methodology.kinds.acts.kind import ACTS
from bmwg.methodology.records import OutcomeType
from bmwg.reports.store import RunStore
from bmwg.reports.verify.verify import verify_folder

PROFILE = profile.PROFILES.load("failures")
KINDS = ["no_network"] * 12 + ["not_booted"] * 8 + [""] * 80


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    def fitted(apart_ms: int):
        full = lived([""] * 12 + ["no_network"], together=True, apart_ms=apart_ms)
        host = {"memory_available_octets": 3 << 30, "swap_used_octets": 0}
        told = [
            replace(
                one,
                offered_frames=90 + number,  # one every 20 ms
                received_frames=60,
                host={**host, "cpu_used_ns": (number + 1) * 10**9},
            )
            for number, one in enumerate(full.lives[:-1])
        ]
        return replace(full, lives=(*told, full.lives[-1]))

    folder, slow = tmp_path_factory.mktemp("failed"), Clock(421.0)  # more than a hundred starts take
    with RunStore.create(folder, "f", header_by(PROFILE, "pods"), clock=slow) as store:
        deployed(store, "acts-pvp-bridge-1", {"path": "pvp"})
        for planned in PLAN:
            if planned.spec.at_once == 32:
                store.add_outcome(ACTS.without_execution(planned, OutcomeType.NOT_ASSESSED, "crun"), mend="")
                continue
            fits = planned == FIT
            results = [fitted(at) if fits else lived(KINDS, apart_ms=at) for at in (1, 2)]
            executed(store, planned, "acts-pvp-bridge-1", results)
        return closed(store)


def test_it_verifies_and_a_failure_fewer_does_not_follow(made, tmp_path) -> None:
    assert verify_folder(made).findings == ()

    def change(lines, document) -> None:
        stated = next(
            one for one in document["outcomes"] if one["metric"] == "pod_stand_up" and one["values"]
        )
        for value in stated["values"]:
            value["number"] = 39 if value["metric"] == "pod_stand_up.failed" else value["number"]

    assert "VER-16" in forged(Path(shutil.copytree(made, tmp_path / "f")), change)


def test_the_page_tells_the_share_the_kinds_and_how_many_fit(made) -> None:
    page = (made / "report.rst").read_text(encoding="utf-8").replace("\\", "")
    assert "80\u00a0% (73.78\u00a0% to 85.31\u00a0%)" in page
    assert "pods that forward together" in page
    assert "12, 12" in page
    assert "memory available, MiB" in page
    assert "3,072" in page
    matrix = (made / "report-matrices.html").read_text(encoding="utf-8")
    assert 'href="#activation-by-reliability"' in matrix
    assert "pod_capacity: 1 of 1 measured" in matrix
