"""Functions that count what they do: their counts beside the tester's, and a figure against a setting."""

from __future__ import annotations

from pathlib import Path

import pytest
from made_parts import THROUGHPUT, Maker, cell, header

from bmwg.methodology.records import Bound, OutcomeType
from bmwg.reports.render.facts import facts
from bmwg.reports.render.page.report import write_report
from bmwg.reports.render.sections.function_section import function_plot, section, series_of
from bmwg.reports.store import RunStore, read_run

RULES, LOOKUP = "functions.firewall.rules", "functions.firewall.lookup"
FRAMES = 10_000  # sent and received in each trial: the load, for a second


def counted(offered: int, passed: int) -> dict[str, int]:
    """Return what a function in the node's kernel counted."""
    told = {"forward.offered_frames": offered, "forward.passed_frames": passed, "dropped_frames": 0}
    return {f"host.dut.node.function.{name}": value for name, value in told.items()}


def behind(rules: int, lookup: str = "list"):
    """Return a cell of the firewall."""
    return cell("node", function="firewall", axes=((LOOKUP, lookup), (RULES, rules)))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with RunStore.create(tmp_path, "one", header()) as store:
        maker = Maker(store)
        for rules, passed in ((10, FRAMES), (1000, FRAMES), (100_000, FRAMES - 4)):
            one = behind(rules)
            seq = maker.trial(one, FRAMES, used=counted(FRAMES, passed))
            end = Bound(load_fps=FRAMES, trials=(seq,))
            maker.outcome(one, THROUGHPUT, OutcomeType.AT_CEILING, lower=end, trials=(seq,), reason="made")
        maker.measured(behind(10, "set"), 500_000, 1_400_000, 7_000)
        maker.measured(cell("node"), 500_000, 1_400_000, 7_000)
    return tmp_path / "one"


def test_each_number_is_a_point_of_what_is_alike(folder: Path) -> None:
    (((setting, alike), points),) = series_of(facts(read_run(folder))).items()
    assert setting == RULES
    assert dict(alike.axes) == {LOOKUP: "list"}
    assert [number for number, _ in points] == [10, 1000, 100_000]


def test_counts_of_both_stand_beside_each_other_and_say_whether_they_agree(folder: Path) -> None:
    text = " ".join(str(block) for block in section(facts(read_run(folder)), []))
    assert text.count("'yes'") == 2
    assert text.count("'no'") == 1
    assert "'10,000', '10,000', '9,996', '10,000'" in text  # sent, came, let through, received


def test_the_report_has_the_section_and_its_figure(folder: Path) -> None:
    assert function_plot(facts(read_run(folder))) is not None
    write_report(folder)
    page = (folder / "report.html").read_text("utf-8")
    assert "Functions that filter or translate" in page
    assert "plots/functions.svg" in page or "Throughput and latency against functions.firewall.rules" in page


def test_a_run_without_such_functions_has_neither(tmp_path: Path) -> None:
    with RunStore.create(tmp_path, "two", header()) as store:
        Maker(store).measured(cell("node"), 500_000, 1_400_000, 7_000)
    found = facts(read_run(tmp_path / "two"))
    assert section(found, []) == []
    assert function_plot(found) is None
