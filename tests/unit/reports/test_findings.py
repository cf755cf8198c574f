"""What the doctor found, how the platform changed, and what was declared stands in the report."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from made_run import realistic_run

from bmwg.reports.render import write_report
from bmwg.reports.render.facts import facts
from bmwg.reports.render.findings import deviations, doctor, drift
from bmwg.reports.store import read_run

FINDING = {"finding_id": "DOC-07", "weight": "distorts", "what": "governor powersave", "breaks": "rates"}
LOOK = {"at": "2026-01-31T08:00:00Z", "suite": "containerized", "findings": [FINDING | {"mend": "set it"}]}
DRIFT = {
    "at": "2026-01-31T08:00:09Z",
    "deployment": "pvp-1",
    "outcomes": ["CN-TPUT-1.3:x"],
    "changes": [{"path": "cpu/governor", "before": "performance", "after": "powersave"}],
}
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


def with_platform(folder: Path, **parts: object) -> None:
    file = folder / "platform.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | parts))


def test_findings_of_the_doctor_stand_once_with_all_suites(folder: Path) -> None:
    with_platform(folder, doctor=[LOOK, LOOK | {"suite": "rfc2544"}])
    text = "\n".join(doctor(facts(read_run(folder))))
    assert text.count("governor powersave") == 1
    assert "containerized, rfc2544" in text
    assert "distorts" in text
    page = write_report(folder).read_text()
    assert "What the doctor found" in page


def test_a_look_that_found_nothing_says_so_and_no_look_says_nothing(folder: Path) -> None:
    assert doctor(facts(read_run(folder))) == []
    with_platform(folder, doctor=[LOOK | {"findings": []}])
    assert any("Nothing that blocks" in line for line in doctor(facts(read_run(folder))))


def test_a_change_names_the_answers_that_it_makes_invalid(folder: Path) -> None:
    assert drift(facts(read_run(folder))) == []
    with_platform(folder, drift=[DRIFT])
    text = "\n".join(drift(facts(read_run(folder))))
    for word in ("cpu/governor", "performance", "powersave", "CN-TPUT-1.3"):
        assert word in text


def test_declarations_of_the_run_stand_beside_those_of_the_profile(folder: Path) -> None:
    (folder / "deviations.yaml").write_text(DECLARED)
    text = "\n".join(deviations(facts(read_run(folder))))
    refused = "were refused" in text
    assert refused or "the lab" in text
    page = write_report(folder).read_text()
    assert "<script>haste" not in page
    (folder / "deviations.yaml").write_text("schema: deviations/1.0\ndeviations: 7\n")
    told = "\n".join(deviations(facts(read_run(folder))))
    assert "were refused (DEV-0" in told
    assert str(folder) not in told
