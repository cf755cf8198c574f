"""Rows without a rule: the shipped reasons hold, and each fault of a reason is told."""

from __future__ import annotations

from collections import Counter
from importlib import resources

import pytest
import yaml

from bmwg.cli import sync
from bmwg.cli.coverage_page import Place, owed_rules, place
from bmwg.methodology.record.coverage import configuration_rows
from bmwg.methodology.requirements.rows import Level, catalogue
from bmwg.methodology.requirements.unjudged_rows import RowClass, Source, faults, read, shipped, unjudged
from bmwg.reports.checker.table import RULES
from bmwg.schemas.validation import problems

HEAD = "schema: unjudged/1.0\ndocument: RFC2889\ngroups:\n"
GROUP = "  - name: ports\n    class: not_here\n    says: the tester attaches two ports at most\n    rows:\n"
RULED = {one.requirement for one in RULES}


def found(text: str, ruled: frozenset[str] = frozenset()) -> list[str]:
    """Return the faults of one file, but not that it leaves out most of the catalogue."""
    rows, wrong = read([Source(name="a.yaml", text=text)])
    return wrong + [one for one in faults(rows, ruled, ()) if "neither a rule" not in one]


def test_the_shipped_reasons_have_no_fault() -> None:
    assert sync.row_faults(sync.checkout()) == []


def test_every_shipped_file_keeps_to_its_schema() -> None:
    assert read(shipped())[1] == []
    folder = resources.files("bmwg.methodology.catalogue")
    files = [file for file in folder.iterdir() if file.name.endswith(".yaml")]
    assert len(files) == len(shipped()) > 10
    for file in files:
        assert problems(yaml.safe_load(file.read_text(encoding="utf-8")), "catalogue") == [], file.name


def test_each_row_of_each_document_is_in_exactly_one_class() -> None:
    entries, _ = read(shipped())
    placed = place(catalogue().values(), RULED, owed_rules(sync.checkout()), entries)
    assert [one.row.id for one in placed] == list(catalogue())
    assert Counter(one.row.id for one in placed).most_common(1)[0][1] == 1
    assert not RULED & entries.keys()
    assert all(isinstance(one.place, Place) for one in placed)
    for one in placed:
        ways = [one.row.id in RULED, one.row.id in entries]
        assert sum(ways) == 1 or (not any(ways) and one.row.id in configuration_rows()), one.row.id


def test_every_must_and_should_row_has_a_rule_or_a_sentence_of_its_own() -> None:
    demanding = (Level.MUST, Level.MUST_NOT, Level.SHOULD, Level.SHOULD_NOT)
    rows = [row for row in catalogue().values() if row.level in demanding]
    assert [row.id for row in rows if row.id not in RULED and not unjudged()[row.id].reason] == []


def test_a_reason_is_read_with_its_group() -> None:
    rows, wrong = read([Source(name="a.yaml", text=HEAD + GROUP + "      RFC2889-3-04:\n")])
    assert wrong == []
    entry = rows["RFC2889-3-04"]
    assert (entry.row_class, entry.group) == (RowClass.NOT_HERE, "RFC2889/ports")
    assert entry.sentence == "the tester attaches two ports at most"


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ("      RFC2889-3-1: no such id in the catalogue\n", "did you mean RFC2889-3-01"),
        ("      RFC2544-3: stands in the wrong file\n", "the file of another document"),
        ("      RFC2889-3-01: ''\n", "MUST without a reason of its own"),
        ("      RFC2889-3-02:\n", "SHOULD without a reason of its own"),
        ("      RFC2889-3-01: not covered\n", "does not say what is missing"),
        ("      RFC2889-3-01: not yet implemented\n", "does not say what is missing"),
        ("      RFC2889-3-01: ports\n", "does not say what is missing"),
        ("      RFC2889-3-01: one row of\n      RFC2889-3-01: two of it\n", "RFC2889-3-01"),
    ],
    ids=["unknown", "other document", "empty", "none", "lazy", "lazy too", "short", "key twice"],
)
def test_a_bad_reason_is_told(rows: str, said: str) -> None:
    wrong = found(HEAD + GROUP + rows)
    assert len(wrong) == 1
    assert said in wrong[0]


def test_a_row_in_two_groups_is_told() -> None:
    again = GROUP.replace("ports", "more-ports")
    row = "      RFC2889-3-01: a sentence of its own\n"
    assert "stands twice: in RFC2889/ports and more-ports" in found(HEAD + GROUP + row + again + row)[0]


def test_a_row_with_a_rule_and_a_reason_is_told() -> None:
    text = HEAD + GROUP + "      RFC2889-3-01: a sentence of its own\n"
    assert found(text, frozenset({"RFC2889-3-01"})) == [
        "RFC2889-3-01: has a rule and a reason why it has none; remove the reason"
    ]


def test_a_row_with_neither_is_told_unless_the_record_answers_it() -> None:
    rows, _ = read([Source(name="a.yaml", text=HEAD + GROUP + "      RFC2889-3-04:\n")])
    wrong = faults(rows, RULED, configuration_rows())
    assert "RFC2889-2: has neither a rule nor a reason why it has none" in wrong
    assert not any(one.startswith(configuration_rows()[0]) for one in wrong)


def test_one_sentence_for_seven_rows_is_a_groups() -> None:
    ids = [row for row in catalogue() if row.startswith("RFC2889-5.9.3-")] + [
        "RFC2889-5.9.2",
        "RFC2889-5.9.5",
    ]
    for count, expected in ((6, 0), (7, 1)):
        rows = "".join(f"      {row}: Needs {n} ports.\n" for n, row in enumerate(ids[:count]))
        wrong = found(HEAD + GROUP + rows)
        assert len(wrong) == expected
    assert "the same sentence" in wrong[0]


@pytest.mark.parametrize(
    ("group", "said"),
    [
        ("class: carried_out\n    says: done by the tests named here", "by"),
        (
            "class: not_here\n    by: [tests/unit/test_sync.py]\n    says: it has tests all the same",
            "test_sync",
        ),
        ("class: carried_out\n    by: [docs/README.md]\n    says: a page that is no test at all", "form"),
        ("class: nowhere\n    says: a class that is none of the four", "class"),
        ("class: not_here\n    says: short", "says"),
    ],
)
def test_a_group_without_what_its_class_needs_is_told(group: str, said: str) -> None:
    wrong = found(HEAD + f"  - name: ports\n    {group}\n    rows:\n      RFC2889-3-04:\n")
    assert wrong
    assert said in wrong[0]


def test_flags_claim_no_more_than_class_level_and_catalogue_allow() -> None:
    carried = "  - name: a\n    class: carried_out\n    by: [tests/unit/test_sync.py]\n"
    carried += "    says: done by that test, says this\n"
    never = carried + "    never_applies: true\n    rows:\n      RFC2889-3-04:\n"
    assert "carried out, and never applies" in found(HEAD + never)[0]
    must = carried + "    by_construction: true\n    rows:\n      RFC2889-3-01: a sentence of its own\n"
    wrong = found(HEAD + must)
    assert any("MUST is kept by construction where single tests show it" in one for one in wrong)
    assert any("verdict_basis" in one for one in wrong)
    absent = (
        GROUP.replace("    rows", "    by_construction: true\n    rows")
        + "      RFC2889-3-02: a sentence here\n"
    )
    assert any("not carried out here" in one for one in found(HEAD + absent))


def test_a_test_that_is_not_there_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    group = "  - name: a\n    class: carried_out\n    says: done by tests that are not there\n"
    group += "    by: [tests/unit/no_such.py, 'tests/unit/test_sync.py::test_no_such']\n"
    text = HEAD + group + "    rows:\n      RFC2889-3-04:\n"
    monkeypatch.setattr(sync, "shipped", lambda: (Source(name="a.yaml", text=text),))
    wrong = sync.row_faults(sync.checkout())
    assert "tests/unit/no_such.py: no such file in the checkout" in wrong
    assert "tests/unit/test_sync.py::test_no_such: no such test in the file" in wrong
