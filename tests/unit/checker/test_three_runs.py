"""Each clause rule on three runs made by real code: one that meets it, one that does not, one without it."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest
import runs
from three import Three

from bmwg.methodology.requirements.rows import Basis, requirement
from bmwg.reports.checker.table import RULES
from bmwg.reports.checker.verdicts import Verdict

MODULES = sorted(file.stem for file in Path(__file__).parent.glob("cases_*.py"))
CASES: dict[str, Three] = {}
NOT_YET: set[str] = set()
for name in MODULES:
    module = import_module(name)
    assert not CASES.keys() & module.CASES.keys()
    CASES |= module.CASES
    NOT_YET |= module.NOT_YET


def test_every_rule_has_its_three_runs():
    ruled = [one.requirement for one in RULES]
    assert len(ruled) == len(set(ruled))
    assert sorted(set(ruled) - CASES.keys() - NOT_YET) == []
    assert sorted((CASES.keys() | NOT_YET) - set(ruled)) == []
    assert sorted(CASES.keys() & NOT_YET) == []


def found(row: str, make: object, case: Three) -> str:
    verdict = runs.verdict_of(make(), row, case.benchmark)
    return "absent" if verdict is None else f"{verdict.original.value}: {verdict.found}"


# a rule that always says the same fails one of the three: each is asked for another verdict
@pytest.mark.parametrize("row", sorted(CASES))
def test_a_rule_is_met(row):
    case = CASES[row]
    assert found(row, case.met, case).startswith(f"{Verdict.MET.value}:")


@pytest.mark.parametrize("row", sorted(CASES))
def test_a_rule_is_not_met(row):
    case = CASES[row]
    said = found(row, case.not_met, case)
    if requirement(row).basis is not Basis.TEXT:  # a row whose text nobody read fails nobody
        assert said.startswith(f"{Verdict.NOT_ASSESSED.value}:"), said
        assert "text was not read" in said
    else:
        assert said.startswith(f"{Verdict.NOT_MET.value}:"), said


@pytest.mark.parametrize("row", sorted(CASES))
def test_a_rule_does_not_apply(row):
    case = CASES[row]
    said = found(row, case.not_applicable, case)
    assert said == "absent" or said.startswith(f"{Verdict.NOT_APPLICABLE.value}:"), said
