"""A run of jobs verifies from its executions, as folder and as bundle; no changed one does."""

from __future__ import annotations

import pytest
from jobs_run import SEED, made_run
from repeated_run import forged, require_whole, times_first_answer
from tests.unit.jobs.made import QUICK, S

from bmwg.cli.main import main
from bmwg.reports.verify.repetitions import Line, room_ns


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Native and pods measured in turns, other forms and NBench not there."""
    return made_run(tmp_path_factory.mktemp("jobs"), QUICK)


def test_folder_and_bundle_verify(made, tmp_path) -> None:
    require_whole(made, tmp_path / "j.bmwg.tar")


def test_the_page_shows_forms_against_native_and_the_document_beside(made) -> None:
    page = (made / "report.rst").read_text(encoding="utf-8").replace("\\", "")
    assert "Hosts and forms" in page
    assert "0.900 (0.900 to 0.900), 4 blocks" in page
    assert "10.0% (10.0% to 10.0%)" in page
    assert "docker, published" in page
    assert "What the document did not see" in page
    assert "0.997" in page  # STREAM's copy in Docker, by the document
    assert "RFC 8172 section 2" in page
    assert "no kvm here" in page
    assert "these are figures of caches, not of memory" in page
    assert f"The seed is {SEED}" in page


def test_the_published_page_has_the_runs_own_ratios(made, capsys) -> None:
    assert main(["compare", "--published", str(made), "--format", "md"]) == 0
    told = capsys.readouterr().out.replace("\\", "")
    own = told[told.index("This run beside them") : told.index("All published figures")]
    assert "copy" in own
    assert "0.997" in own  # STREAM's copy in Docker, by the document
    assert "0.900 (0.900 to 0.900), 4 blocks" in own


def test_a_better_answer_does_not_follow_from_the_executions(run) -> None:
    assert "VER-16" in forged(run, times_first_answer(1.1))


def test_another_seed_is_not_the_one_by_which_forms_took_turns(run) -> None:
    def change(lines, document) -> None:
        document["order_seed"] = SEED + 1

    assert "VER-57" in forged(run, change)


def test_a_run_without_a_seed_does_not_verify(run) -> None:
    def change(lines, document) -> None:
        del document["order_seed"]

    assert "VER-57" in forged(run, change)


def test_two_executions_that_change_places_are_found(run) -> None:
    def change(lines, document) -> None:
        at = next(n for n in range(1, len(lines)) if lines[n]["cell"] != lines[n - 1]["cell"])
        lines[at], lines[at - 1] = lines[at - 1], lines[at]

    assert "VER-57" in forged(run, change)


def test_an_execution_that_was_longer_than_its_line_allows_is_found(run) -> None:
    def change(lines, document) -> None:
        for one in lines[:10]:
            one["result"]["wall_ns"] = 600 * S

    assert "VER-30" in forged(run, change)


def test_a_program_that_counted_longer_than_its_execution_took_is_found(run) -> None:
    def change(lines, document) -> None:
        for one in lines[:10]:
            one["result"]["wall_ns"] = S // 2

    assert {"VER-03", "VER-31"} & forged(run, change)


def test_operations_that_no_matrix_of_that_order_has_are_found(run) -> None:
    def change(lines, document) -> None:
        for one in lines:
            if one["spec"]["job"] == "hpl":
                one["result"]["told"]["operations"] *= 2

    assert "VER-34" in forged(run, change)


def test_the_turn_of_another_form_is_no_room_for_a_repetition() -> None:
    def lines(others_ns: int) -> list[Line]:
        times = [f"2026-11-23T00:00:{second:02}.000000Z" for second in (10, 14, 18)]
        return [
            Line(at=at, wall_ns=2 * S, valid=True, deployment_id="d", others_ns=others_ns) for at in times
        ]

    assert room_ns(lines(2 * S)) == 0
    assert room_ns(lines(0)) == 2 * S


def test_the_first_figure_has_its_headlines(made) -> None:
    text = (made / "plots" / "headlines.svg").read_text(encoding="utf-8")
    assert "What was found" in text
    assert "of other kinds of load" not in text  # the run holds no frames
    page = (made / "report.html").read_text(encoding="utf-8")
    assert page.index('id="at-a-glance"') < page.index('id="headlines-t"') < page.index('id="what-to-trust"')
