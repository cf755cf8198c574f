"""Test cases of several distributions, and those that only a run's header has."""

from pathlib import Path

import pytest

from bmwg.methodology import offers, suites
from bmwg.methodology.errors import TestbedError
from bmwg.methodology.records import Direction, FrameFormat
from bmwg.methodology.suites import Case

MODULE = """
from bmwg.methodology.suites import Case
GOOD = (Case(test_id="TOY-TPUT-1.1", suite="toy", measurement="throughput", path="toy"),)
TWICE = (Case(test_id="CN-TPUT-1.1", suite="toy", measurement="throughput"),)
NOT_CASES = ["TOY-TPUT-1.1"]
"""


@pytest.fixture
def offered(tmp_path: Path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "toy_cases.py").write_text(MODULE)
    info = tmp_path / "toy-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: toy\nVersion: 1.0\n")

    def offer(name: str) -> None:
        (info / "entry_points.txt").write_text(f"[bmwg.cases]\ntoy = toy_cases:{name}\n")
        offers.read.cache_clear()
        suites.cases.cache_clear()

    yield offer
    monkeypatch.undo()
    suites.cases.cache_clear()


def test_cases_of_another_distribution_follow_ours(offered):
    ours = suites.cases()
    offered("GOOD")
    assert suites.cases()[: len(ours)] == ours
    assert suites.suites()[-1] == "toy"
    assert suites.case("TOY-TPUT-1.1").path == "toy"
    assert [one.test_id for one in suites.outside({"TOY-TPUT-1.1", "CN-TPUT-1.1"})] == ["TOY-TPUT-1.1"]


@pytest.mark.parametrize(("name", "error_id"), [("NOT_CASES", "CASE-01"), ("TWICE", "CASE-02")])
def test_what_is_no_tuple_of_cases_or_takes_an_id_is_refused(offered, name, error_id):
    offered(name)
    with pytest.raises(TestbedError, match=error_id):
        suites.cases()


def test_a_header_adds_unknown_cases_and_changes_none_of_ours():
    lighter = Case(test_id="R2544-TPUT-1.1", suite="rfc2544", measurement="soak")
    foreign = Case(test_id="TOY-TPUT-1.1", suite="toy", measurement="throughput", path="toy")
    known = suites.with_those([lighter, foreign])
    assert suites.case("R2544-TPUT-1.1", known).measurement == "throughput_rfc2544"
    assert suites.case("TOY-TPUT-1.1", known) == foreign


def test_a_case_survives_the_header():
    case = Case(
        test_id="TOY-1.1",
        suite="toy",
        measurement="throughput",
        directions=(Direction.BOTH,),
        frame_formats=(FrameFormat.IPV6_UDP,),
        flows=(1, 256),
        imix=True,
    )
    assert Case.from_builtins(case.as_builtins()) == case
    assert "path" not in case.as_builtins()
