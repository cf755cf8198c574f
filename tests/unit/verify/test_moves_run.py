"""A run of moves verifies from its executions and no changed one does; its page tells the outages."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest
from acts_run import acts_run
from repeated_run import each_life, forged, times_first_answer
from tests.unit.acts.test_moves import LOAD, by_post_copy, figures, of_a_server, started, there_and_back

from bmwg.methodology.kinds.acts import profile
from bmwg.methodology.kinds.acts.records import ActsResult, ActsSpec
from bmwg.methodology.kinds.repeated.profile import Planned
from bmwg.reports.verify.verify import verify_folder

MOVES = profile.PROFILES.load("moves")
MS = 1_000_000
LOADED = "".join(f"     - {told}\n" for told in ("16,000", "8,000", "8,000", "60,000", "5,000"))


def executions(number: int, planned: Planned[ActsSpec]) -> Iterator[ActsResult]:
    told = {}
    if planned.spec.beside == "half-load":
        told = {"told": LOAD} if planned.metric == "guest_start" else figures(**LOAD)
    for seq in range(5):
        if planned.metric == "guest_start":
            yield started(**told, removed_ns=3200 * MS + 10 * number + seq)
            continue
        moved = there_and_back(100 * number + seq, **told)
        yield by_post_copy(moved) if planned.spec.mode == "post-copy" else moved


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return acts_run(tmp_path_factory.mktemp("moves"), MOVES, executions, {"accelerator": "tcg"})


def test_the_run_verifies_and_its_page_says_where_each_outage_went(made) -> None:
    assert verify_folder(made).findings == ()
    page = (made / "report.rst").read_text(encoding="utf-8").replace("\\", "").replace("\u00a0", " ")
    for said in (
        "The life of moves and guests",
        "pvp-moving, kernel-l3, none, pre-copy, half-load",
        "pvp-moving, kernel-l3, none, post-copy",
        "the guest ran nowhere",
        "octets sent",
        "switches have learnt the place",
        "Where the outage went",
        "pvp-moving, kernel-l3, none, half-load",
        "QEMU runs, and its guest boots",
        f"half-load, to the other node\n{LOADED}",
        f"half-load, back\n{LOADED}",
        "The load beside",
        "a virtual machine under TCG, made by qemu",
        "102 ms (100 ms to 104 ms)\n     - 100, 101, 102, 103, 104\n",
        "none, pre-copy, to the other node\n     - 83 ms (81 ms to 85 ms)\n     - 82 ms",
        "80,000,000 (80,000,000 to 80,000,000)\n     - 3 (3 to 3)\n",
        "guest stopped to guest running at the other place\n     - 83 ms",
        "until one came after the last lost one\n     - 0 ns",
        "switches have learnt the place\n     - 1 ms",
        "until the first frame came that it forwarded there\n     - 19 ms",
    ):
        assert said in page, said
    matrices = (made / "report-matrices.html").read_text(encoding="utf-8")
    assert 'href="#operation-by-reliability"' in matrices


def later(life) -> None:
    life["steps"]["guest_resumed"] = life["first_frame_ns"] + 6 * MS


def test_frames_that_came_while_the_guest_ran_nowhere_are_found(run) -> None:
    found = forged(run, each_life(later))
    assert {"VER-03", "VER-34"} <= found


def test_a_pre_copy_that_was_a_post_copy_is_found(run) -> None:
    assert {"VER-03", "VER-34"} <= forged(run, each_life(lambda life: life["told"].update(asked_pages=7)))


def test_a_shorter_outage_does_not_follow_from_the_executions(run) -> None:
    assert "VER-16" in forged(run, times_first_answer(0.5))


@pytest.fixture(scope="module")
def servers(tmp_path_factory):
    def by_nova(number: int, planned: Planned[ActsSpec]) -> Iterator[ActsResult]:
        for one in islice(executions(number, planned), planned.asked.wanted):
            lives = tuple(of_a_server(life) for life in one.lives)
            yield replace(one, lives=lives)

    folder = tmp_path_factory.mktemp("servers")
    return acts_run(folder, profile.PROFILES.load("cloud-moves"), by_nova, {"accelerator": "tcg"})


def test_a_run_of_servers_verifies_and_its_page_tells_libvirts_figures(servers) -> None:
    assert verify_folder(servers).findings == ()
    page = (servers / "report.rst").read_text(encoding="utf-8").replace("\\", "").replace("\u00a0", " ")
    for said in (
        "pvp-vm-moving, kernel-l3, none, post-copy, half-load",
        "Metric server_move",
        "What libvirt tells of the moves",
        "none, pre-copy, to the other node\n     - 82 ms (81 ms to 83 ms, 75%)\n     - 81 ms",
    ):
        assert said in page, said
    assert "QEMU's downtime" not in page


def test_an_outage_of_a_server_that_has_booted_anew_is_found(servers, tmp_path) -> None:
    run = Path(shutil.copytree(servers, tmp_path / "m"))
    assert {"VER-03", "VER-34"} <= forged(run, each_life(lambda life: life["told"].update(guest_boots=2)))
