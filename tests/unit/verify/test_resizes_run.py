"""A run of resizes and replicas verifies and no changed one does; its page tells each way apart."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

import pytest
from acts_run import acts_run
from repeated_run import forged
from tests.unit.acts.test_resizes import LESS, LOAD, ONE, SHARES, SPUN, TOLD, there_and_back

from bmwg.methodology.kinds.acts import profile
from bmwg.methodology.kinds.acts.records import (
    CPUS,
    HALF_LOAD,
    POD_RESIZES,
    REPLICAS,
    SERVER_RESIZES,
    ActsResult,
    ActsSpec,
)
from bmwg.methodology.kinds.repeated.profile import Planned
from bmwg.reports.verify.verify import verify_folder

PROFILE = profile.PROFILES.load("resize")
WAY_BACK = LOAD | {"beside_received_frames": LOAD["beside_offered_frames"]}  # it loses nothing


def figures(spec) -> tuple[dict[str, int], dict[str, int]]:
    """What is told of the way there, and of the way back."""
    if spec.workload == REPLICAS:
        there, back = SHARES, ONE
    elif (spec.workload, spec.mode) == (POD_RESIZES, CPUS):
        there = SPUN
        back = SPUN | {"had_quota_us": 5_000, "asked_quota_us": 100_000, "actual_quota_us": 100_000}
    elif spec.mode == CPUS:
        there = {"had_cpus": 1, "asked_cpus": 2, "actual_cpus": 2, "forwarded_frames": 5}
        back = {"had_cpus": 2, "asked_cpus": 1, "actual_cpus": 1, "forwarded_frames": 5}
    else:
        there = TOLD
        back = TOLD | {"had_octets": LESS, "asked_octets": 128 << 20, "actual_octets": 128 << 20}
    if spec.workload == SERVER_RESIZES:
        own = f"guest_{spec.size_unit}"
        there, back = (told | {own: told[f"actual_{spec.size_unit}"]} for told in (there, back))
    used = {"used_octets": 9} if spec.size_unit == "octets" and spec.workload == POD_RESIZES else {}
    if spec.beside != HALF_LOAD:
        return there | used, back | used
    return there | used | LOAD, back | used | WAY_BACK


def executions(number: int, planned: Planned[ActsSpec]) -> Iterator[ActsResult]:
    there, back = figures(planned.spec)
    for seq in range(5):
        one = there_and_back(told=there)
        own_ns = 10 * number + seq  # that no two executions are the same
        lives = (
            replace(one.lives[0], last_frame_ns=one.lives[0].last_frame_ns + own_ns),
            replace(one.lives[1], told=back),
        )
        yield replace(one, lives=lives)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return acts_run(tmp_path_factory.mktemp("resizes"), PROFILE, executions)


def test_the_run_verifies_and_its_page_tells_shares_and_the_load_beside_of_each_way(made) -> None:
    assert verify_folder(made).findings == ()
    place = "pvp, kernel-l3, bridge, half-load"
    page = (made / "report.rst").read_text(encoding="utf-8").replace("\\", "").replace("\u00a0", " ")
    for said in (
        "The life of resizes",
        "1 / 2 / 2 replicas",
        "2 / 1 / 1 replicas",
        "Frames by replica while nothing changes, all executions together",
        "2,500\n     - 2,505\n     - 55.6%",
        f"{place}, to the other size\n     - 8,000\n     - 4,000\n     - 4,000\n     - 25,000\n     - 50\n",
        f"{place}, back\n     - 8,000\n     - 4,000\n     - 4,000\n     - 25,000\n     - 0\n",
    ):
        assert said in page, said


@pytest.mark.parametrize(
    "told", [{"replica_1_came_frames": 600}, {"beside_received_frames": 5001}, {"actual_replicas": 3}]
)
def test_shares_and_loads_that_cannot_be_are_found(run, told) -> None:
    def change(lines, document) -> None:
        for line in lines:
            if line["spec"]["workload"] == REPLICAS and line["spec"]["beside"]:
                line["result"]["lives"][0]["told"].update(told)

    assert {"VER-03", "VER-34"} <= forged(run, change)


def test_a_run_of_servers_verifies_and_its_page_tells_what_their_guests_have_found(tmp_path) -> None:
    def fewer(number: int, planned: Planned[ActsSpec]) -> Iterator[ActsResult]:
        for one in islice(executions(number, planned), planned.asked.wanted):
            # offered every 10 ms
            lives = (replace(life, offered_frames=90, received_frames=90) for life in one.lives)
            yield replace(one, lives=tuple(lives))

    made = acts_run(tmp_path, profile.PROFILES.load("cloud-resize"), fewer)
    assert verify_folder(made).findings == ()
    page = (made / "report.rst").read_text(encoding="utf-8").replace("\\", "").replace("\u00a0", " ")
    assert "1 / 2 / 2 CPUs, its guest counts 2" in page
    assert "2 / 1 / 1 CPUs, its guest counts 1" in page
    assert "Metric server_resize" in page
