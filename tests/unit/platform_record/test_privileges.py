"""The table of privileges in the docs is that of the code, and covers what pods are given."""

from pathlib import Path

from bmwg.drivers.containers.bundle import CAPABILITIES
from bmwg.drivers.platform_record.doctor.privileges import NEEDED

PAGE = Path(__file__).resolve().parents[3] / "docs" / "privileges.md"


def test_the_page_names_every_capability_that_the_doctor_looks_for():
    rows = [line for line in PAGE.read_text().splitlines() if line.startswith("| CAP_")]
    named = {word.strip() for row in rows for word in row.split("|")[1].split(",")}
    assert named == set(NEEDED)


def test_a_pod_is_given_nothing_that_a_run_does_not_ask_for():
    assert set(CAPABILITIES) <= set(NEEDED)
    assert len({number for number, _ in NEEDED.values()}) == len(NEEDED)
