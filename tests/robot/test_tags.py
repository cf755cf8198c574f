"""Holds the suites' tags and syntax against the house rules; each rule has a suite here that breaks it."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from robot import api
from robot.api.parsing import ModelVisitor, get_model

from bmwg.methodology import suites

ROOT = Path(__file__).resolve().parents[2]
SUITES = ROOT / "testcases"
CATALOGUE = ROOT / "methodology" / "catalogue"
KEYS = {"id", "req", "clause", "metric", "path", "needs", "level", "topology", "model"}
PLAIN = {"slow"}
ID = re.compile(r"^[A-Z][A-Z0-9]{1,5}-[A-Z0-9]+-\d+(\.\d+)*$")
CLAUSE = re.compile(r"^(rfc\d+|tst009|draft-[a-z0-9-]+)-(\d+(\.\d+)*|[a-z](\.\d+)*)$")


def cases_of(suite: api.TestSuite) -> Iterator[Any]:
    """All test cases, whatever the depth."""
    yield from suite.tests
    for child in suite.suites:
        yield from cases_of(child)


def requirement_ids(folder: Path) -> set[str]:
    """Every `id` in the catalogue's files."""
    found: set[str] = set()

    def walk(item: Any) -> None:
        if isinstance(item, dict):
            if isinstance(item.get("id"), str):
                found.add(item["id"])
            for value in item.values():
                walk(value)
        elif isinstance(item, list):
            for value in item:
                walk(value)

    for file in sorted(folder.glob("*.yaml")):
        walk(
            yaml.load(file.read_text(encoding="utf-8"), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
        )
    return found


def tag_findings(folder: Path, known: set[str] | None) -> list[str]:
    """Everything wrong with the tags of the suites below `folder`; `known` are the catalogue's ids."""
    findings = []
    owners: dict[str, str] = {}
    for test in cases_of(api.TestSuite.from_file_system(folder)):
        where = f"{test.source}:{test.lineno} '{test.name}'"
        by_key: dict[str, list[str]] = {}
        for tag in test.tags:
            key, _, value = str(tag).partition(":")
            if str(tag) in PLAIN:
                continue
            if key not in KEYS or not value:
                findings.append(f"{where}: unknown tag '{tag}'; known: {', '.join(sorted(KEYS))}")
            by_key.setdefault(key, []).append(value)
        ids = by_key.get("id", [])
        if len(ids) != 1:
            findings.append(f"{where}: expected exactly one id: tag, found {len(ids)}")
        for value in ids:
            if not ID.match(value):
                findings.append(f"{where}: id:{value} is not of the form CN-TPUT-1")
            if value in owners:
                findings.append(f"{where}: id:{value} belongs to {owners[value]} already")
            owners.setdefault(value, where)
        if not by_key.get("clause"):
            findings.append(f"{where}: no clause: tag")
        findings += [
            f"{where}: clause:{value} is not of the form rfc2544-26.1"
            for value in by_key.get("clause", [])
            if not CLAUSE.match(value)
        ]
        if not by_key.get("req"):
            findings.append(f"{where}: no req: tag")
        if known is not None:
            findings += [
                f"{where}: req:{value} is no row of the catalogue"
                for value in by_key.get("req", [])
                if value not in known
            ]
    return findings


class _Syntax(ModelVisitor):
    """Collects what a suite or resource file holds against the house rules."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.findings: list[str] = []

    def _found(self, node: Any, what: str) -> None:
        self.findings.append(f"{self.file}:{node.lineno}: {what}")

    def visit_If(self, node: Any) -> None:  # noqa: N802 - the visitor's name for it
        self._found(node, "IF belongs into Python")

    def visit_For(self, node: Any) -> None:  # noqa: N802
        self._found(node, "FOR belongs into Python")

    def visit_While(self, node: Any) -> None:  # noqa: N802
        self._found(node, "WHILE belongs into Python")

    def visit_Try(self, node: Any) -> None:  # noqa: N802
        self._found(node, "TRY belongs into Python")

    def visit_KeywordCall(self, node: Any) -> None:  # noqa: N802
        name = (node.keyword or "").lower().replace("_", " ").removeprefix("builtin.")
        if name == "sleep":
            self._found(node, "Sleep: wait until a stated condition instead")
        if name.startswith(("run keyword if", "run keyword unless")) or name == "exit for loop":
            self._found(node, f"'{node.keyword}' is an old form, and a condition belongs into Python")

    def visit_ReturnSetting(self, node: Any) -> None:  # noqa: N802
        if any(token.value.lower() == "[return]" for token in node.tokens):
            self._found(node, "[Return] is deprecated: RETURN")

    def visit_Error(self, node: Any) -> None:  # noqa: N802
        self._found(node, "; ".join(node.errors))

    def visit_Statement(self, node: Any) -> None:  # noqa: N802
        first = node.tokens[0].value.lower() if node.tokens else ""
        if first in ("force tags", "default tags"):
            self._found(node, f"'{node.tokens[0].value}' is deprecated: Test Tags")
        if re.match(r"^\*+ *(setting|variable|test case|task|keyword|comment) *\**$", first):
            self._found(node, f"'{node.tokens[0].value}' is a deprecated header: use the plural")


def syntax_findings(*folders: Path) -> list[str]:
    """Everything in the files below `folders` that the house rules forbid."""
    findings = []
    for folder in folders:
        for file in sorted(folder.rglob("*.robot")) + sorted(folder.rglob("*.resource")):
            visitor = _Syntax(file)
            visitor.visit(get_model(str(file)))
            findings += visitor.findings
    return findings


def test_tags_of_the_suites() -> None:
    assert tag_findings(SUITES, None) == []


def test_each_case_has_one_robot_test_whose_path_is_the_cases() -> None:
    folders = {
        suites.CONTAINERIZED: (
            suites.CONTAINERIZED,
            *(
                one
                for one in suites.NAMED
                if one not in (suites.FACTORS, suites.FUNCTIONS, suites.RFC2889, suites.RFC8204)
            ),
        ),
        suites.FACTORS: (suites.FACTORS,),
        suites.FUNCTIONS: (suites.FUNCTIONS,),
        suites.RFC2544: (suites.RFC2544,),
        suites.RFC2889: (suites.RFC2889,),
    }
    for folder, within in folders.items():
        found = {}
        for test in cases_of(api.TestSuite.from_file_system(SUITES / folder)):
            said = dict(str(tag).split(":", 1) for tag in test.tags)
            found[said["id"]] = said.get("path", "")
        assert found == {case.test_id: case.path for case in suites.cases() if case.suite in within}


def test_suites_run_in_the_order_of_their_numbers() -> None:
    for folder in {file.parent for file in SUITES.rglob("*.robot")}:
        suite = api.TestSuite.from_file_system(folder)
        numbers = [int(child.source.name.partition("__")[0]) for child in suite.suites]
        assert numbers == sorted(set(numbers)), folder.name


def test_requirements_of_the_suites_are_rows_of_the_catalogue() -> None:
    if not list(CATALOGUE.glob("*.yaml")):
        pytest.skip("methodology/catalogue holds no documents yet")
    known = requirement_ids(CATALOGUE)
    assert len(known) > 100
    assert tag_findings(SUITES, known) == []


def test_syntax_of_suites_and_resources() -> None:
    assert syntax_findings(SUITES, ROOT / "resources") == []


def test_suites_resolve_in_a_dry_run(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "robot", "--dryrun", "--outputdir", str(tmp_path), str(SUITES)]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=120, cwd=tmp_path)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    assert "[ WARN ]" not in done.stderr, done.stderr
    assert "[ ERROR ]" not in done.stderr, done.stderr


GOOD = """\
*** Test Cases ***
Throughput At 64 Octets
    [Tags]    id:CN-TPUT-1    req:RFC2544-26.1-01    clause:rfc2544-26.1
    No Operation
"""


@pytest.mark.parametrize(
    ("change", "finding"),
    [
        (("id:CN-TPUT-1    ", ""), "expected exactly one id: tag, found 0"),
        (("id:CN-TPUT-1", "id:CN-TPUT-1    id:CN-TPUT-2"), "expected exactly one id: tag, found 2"),
        (("id:CN-TPUT-1", "id:throughput"), "is not of the form CN-TPUT-1"),
        (("req:RFC2544-26.1-01", "req:RFC2544-99-01"), "req:RFC2544-99-01 is no row of the catalogue"),
        (("req:RFC2544-26.1-01    ", ""), "no req: tag"),
        (("clause:rfc2544-26.1", "clause:2544 26.1"), "is not of the form rfc2544-26.1"),
        (("    clause:rfc2544-26.1", ""), "no clause: tag"),
        (("clause:", "speed:10g    clause:"), "unknown tag 'speed:10g'"),
    ],
)
def test_each_tag_rule_finds_what_breaks_it(tmp_path: Path, change: tuple[str, str], finding: str) -> None:
    file = tmp_path / "suite.robot"
    file.write_text(GOOD)
    assert tag_findings(tmp_path, {"RFC2544-26.1-01"}) == []
    file.write_text(GOOD.replace(*change))
    findings = tag_findings(tmp_path, {"RFC2544-26.1-01"})
    assert any(finding in found for found in findings), findings


def test_an_id_is_used_once_over_all_files(tmp_path: Path) -> None:
    (tmp_path / "a.robot").write_text(GOOD)
    (tmp_path / "b.robot").write_text(GOOD)
    findings = tag_findings(tmp_path, {"RFC2544-26.1-01"})
    assert len(findings) == 1, findings
    assert "belongs to" in findings[0]


@pytest.mark.parametrize(
    ("body", "finding"),
    [
        ("    IF    ${TRUE}    No Operation", "IF belongs"),
        ("    FOR    ${i}    IN    1    2\n        Log    ${i}\n    END", "FOR belongs"),
        ("    Sleep    1s", "Sleep"),
        ("    Run Keyword If    ${TRUE}    No Operation", "old form"),
        ("    [Return]    1", "[Return]"),
    ],
)
def test_each_syntax_rule_finds_what_breaks_it(tmp_path: Path, body: str, finding: str) -> None:
    (tmp_path / "a.resource").write_text(f"*** Keywords ***\nDo Something\n    No Operation\n{body}\n")
    assert any(finding in found for found in syntax_findings(tmp_path)), syntax_findings(tmp_path)


@pytest.mark.parametrize(
    ("text", "finding"),
    [
        ("*** Settings ***\nForce Tags    a\n", "Test Tags"),
        ("*** Setting ***\nDocumentation    a\n", "plural"),
    ],
)
def test_each_settings_rule_finds_what_breaks_it(tmp_path: Path, text: str, finding: str) -> None:
    (tmp_path / "a.robot").write_text(text)
    assert any(finding in found for found in syntax_findings(tmp_path)), syntax_findings(tmp_path)
