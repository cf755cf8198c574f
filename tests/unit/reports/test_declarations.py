"""What was declared stands in the report, whoever declared it."""

from __future__ import annotations

from pathlib import Path

import pytest
from made_run import realistic_run

from bmwg.reports.render.facts import facts
from bmwg.reports.render.forms.rst import restructured
from bmwg.reports.render.page.report import write_report
from bmwg.reports.render.sections.declarations import deviations
from bmwg.reports.store import read_run

DECLARED = """schema: deviations/1.0
deviations:
  - requirement: RFC2544-24-01
    what: 30 s
    why: <script>haste</script>
    by: the lab
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return realistic_run(tmp_path)


def test_declarations_of_the_run_stand_beside_those_of_the_profile(folder: Path) -> None:
    (folder / "deviations.yaml").write_text(DECLARED)
    text = restructured(deviations(facts(read_run(folder))))
    refused = "were refused" in text
    assert refused or "the lab" in text
    page = write_report(folder).read_text()
    assert "<script>haste" not in page
    (folder / "deviations.yaml").write_text("schema: deviations/1.0\ndeviations: 7\n")
    told = restructured(deviations(facts(read_run(folder))))
    assert "were refused (DEV-0" in told
    assert str(folder) not in told
