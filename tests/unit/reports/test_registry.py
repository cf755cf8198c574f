"""A registry of submissions: each rule has a good and a bad case, and the index is computed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import pytest

from bmwg.methodology.errors import ConfigError
from bmwg.reports.registry import Entry, Examined, check, index_page
from bmwg.reports.registry.against import changed
from bmwg.reports.registry.site import MAX_PAIRS, SEARCH, compare_name, site
from bmwg.reports.render.forms.rst import restructured
from bmwg.reports.render.page.report import form_of
from bmwg.reports.submissions.names import problems, skeleton, slug

GOOD = Examined(
    findings=(),
    trusted=True,
    run_id="run1",
    toolkit_version="0.1.0",
    organization="Example Org",
    product="Fast Router",
    version="v2.1",
    profile="rfc2544",
    grades=(("RFC 2544", "throughput", "conditional"),),
)
PLACE = "published/0.1.0/example-org/fast-router-v2.1-rfc2544"


def registry(root: Path, place: str = PLACE) -> Path:
    folder = root / place
    folder.mkdir(parents=True)
    (root / "keys").mkdir(exist_ok=True)
    (root / "keys" / "example-org.pem").write_text("key")
    (folder / "README.md").write_text("# Router\n\n## Reproduce\n\nRun it.\n")
    (folder / "submission.bmwg.tar").write_bytes(b"bundle")
    return folder


def rules(root: Path, examined: Examined = GOOD) -> list[str]:
    def examine(bundle: Path, key: Path | None) -> Examined:
        assert bundle.read_bytes() == b"bundle"
        return examined if key else replace(examined, trusted=False)

    return sorted({finding.rule_id for finding in check(root, examine).findings})


def test_a_registry_that_keeps_to_the_convention_has_no_finding(tmp_path: Path) -> None:
    registry(tmp_path)
    assert rules(tmp_path) == []


@pytest.mark.parametrize(
    ("breaks", "rule_id"),
    [
        (lambda root, folder: (folder.parent / "Bad Name").mkdir(), "REG-01"),
        (lambda root, folder: (root / "published" / "stray.txt").write_text("x"), "REG-01"),
        (lambda root, folder: (folder.parent / "link").symlink_to("/etc"), "REG-01"),
        (lambda root, folder: (folder / "README.md").write_text("# Router\n"), "REG-02"),
        (lambda root, folder: (folder / "README.md").write_text("## Reproduce\n\n## Next\nx\n"), "REG-02"),
        (lambda root, folder: (folder / "README.md").write_bytes(b"\xff\xfe"), "REG-02"),
        (lambda root, folder: (folder / "extra.bin").write_text("x"), "REG-03"),
        (lambda root, folder: (folder / "submission.bmwg.tar").unlink(), "REG-03"),
        (lambda root, folder: (root / "keys" / "example-org.pem").unlink(), "REG-08"),
    ],
)
def test_each_rule_of_the_folder_finds_its_bad_case(
    tmp_path: Path, breaks: Callable[[Path, Path], object], rule_id: str
) -> None:
    folder = registry(tmp_path)
    breaks(tmp_path, folder)
    assert rules(tmp_path) == [rule_id]


@pytest.mark.parametrize(
    ("examined", "rule_id"),
    [
        (replace(GOOD, findings=("CHN-01 broken",)), "REG-04"),
        (replace(GOOD, version="v2.2"), "REG-05"),
        (replace(GOOD, organization="Another"), "REG-05"),
        (replace(GOOD, toolkit_version="0.2.0"), "REG-05"),
        (replace(GOOD, state=("simulated: no frame was sent",)), "REG-06"),
        (replace(GOOD, state=("dirty: files differed",)), "REG-06"),
        (replace(GOOD, trusted=False), "REG-08"),
    ],
)
def test_each_rule_of_the_bundle_finds_its_bad_case(tmp_path: Path, examined: Examined, rule_id: str) -> None:
    registry(tmp_path)
    assert rules(tmp_path, examined) == [rule_id]


def test_an_indicative_run_may_stand_there_and_is_shown_as_that(tmp_path: Path) -> None:
    registry(tmp_path)
    examined = replace(GOOD, state=("indicative: the profile shortens the procedures",))
    checked = check(tmp_path, lambda _bundle, _key: examined)
    assert checked.findings == ()
    assert "indicative" in restructured(index_page(checked))


def test_a_run_stands_there_once(tmp_path: Path) -> None:
    registry(tmp_path)
    registry(tmp_path, PLACE + "-again")
    assert rules(tmp_path) == ["REG-05", "REG-07"]


def test_an_empty_registry_is_no_success(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="REG-09"):
        check(tmp_path, lambda _bundle, _key: GOOD)
    (tmp_path / "published").mkdir()
    assert rules(tmp_path) == ["REG-01"]


def test_the_index_lists_what_verifies_and_is_the_same_each_time(tmp_path: Path) -> None:
    registry(tmp_path)
    other = registry(tmp_path, "published/0.1.0/example-org/fast-router-v2.1-rfc25440")
    (other / "extra").write_text("x")
    runs = {"fast-router-v2.1-rfc2544": GOOD, "fast-router-v2.1-rfc25440": replace(GOOD, run_id="<script>")}
    pages = [
        form_of(index_page(check(tmp_path, lambda bundle, _key: runs[bundle.parent.name])), form, "index")
        for form in ("md", "md", "html")
    ]
    assert pages[0] == pages[1]
    assert "1 of 2 submissions" in pages[0]
    assert "RFC 2544 throughput: conditional" in pages[0]
    assert "<script>" not in pages[2]


def entries(count: int) -> list[Entry]:
    return [
        Entry(folder=Path(f"{n}"), toolkit_version="0.1.0", organization=f"org-{n}", name="x", examined=GOOD)
        for n in range(count)
    ]


def test_pairs_without_a_page_are_counted_where_the_others_are_linked() -> None:
    made = site(entries(22))
    compared = [name for name in made if name.startswith("pages/compare/")]
    said = made[SEARCH].decode("utf-8")
    assert len(compared) == MAX_PAIRS
    assert "31 more pairs have no page" in said
    assert "bmwg compare --reproduce A B" in said
    assert said.count('href="compare/') == MAX_PAIRS
    few = site(entries(3))
    assert [name for name in few if name.startswith("pages/compare/")] == [
        compare_name(*pair) for pair in combinations(entries(3), 2)
    ]
    assert "more pairs" not in few[SEARCH].decode("utf-8")


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("A & B, Inc.", "a-b-inc"),
        ("../x", "x"),
        ("v1.2 RC", "v1.2-rc"),
        ("\u534e\u4e3a", "xn--siqq7j"),
        ("M\u00fcller AG", "m-ller-ag-xn--tda"),
    ],
)
def test_names_become_folder_names(text: str, name: str) -> None:
    assert slug(text) == name


def many(root: Path, runs: dict[str, Examined], order: list[str]) -> dict[str, list[str]]:
    for place in runs:
        folder = registry(root, place)
        organization = folder.parent.name
        (root / "keys" / f"{organization}.pem").write_text("key")
    (root / "accepted.txt").write_text("".join(f"{place}\n" for place in order))

    def examine(bundle: Path, key: Path | None) -> Examined:
        return runs[bundle.parent.relative_to(root).as_posix()]

    found: dict[str, list[str]] = {}
    for finding in check(root, examine).findings:
        found.setdefault(finding.rule_id, []).append(finding.place)
    return found


def test_the_same_trials_under_other_names_are_refused_and_the_first_accepted_stays(tmp_path: Path) -> None:
    trials = frozenset(map(str, range(100)))
    copycat = "published/0.1.0/a-first-org/fast-router-v2.1-rfc2544"
    runs = {
        PLACE: replace(GOOD, trials=trials),
        copycat: replace(GOOD, organization="A First Org", run_id="run2", trials=trials | {"more"}),
    }
    assert many(tmp_path, runs, [PLACE, copycat]) == {"REG-07": [copycat]}


def test_runs_of_their_own_stand_beside_each_other(tmp_path: Path) -> None:
    other = "published/0.1.0/other-org/fast-router-v2.1-rfc2544"
    runs = {
        PLACE: replace(GOOD, trials=frozenset("abc")),
        other: replace(GOOD, organization="Other Org", run_id="run2", trials=frozenset("xyz")),
    }
    assert many(tmp_path, runs, [PLACE, other]) == {}


def test_a_name_that_looks_like_another_is_refused(tmp_path: Path) -> None:
    name = "Ex\u0430mple Org"  # a Cyrillic letter
    other = f"published/0.1.0/{slug(name)}/fast-router-v2.1-rfc2544"
    runs = {PLACE: GOOD, other: replace(GOOD, organization=name, run_id="run2")}
    found = many(tmp_path, runs, [PLACE, other])
    assert found["REG-13"] == [other]
    assert set(found) == {"REG-11", "REG-13"}


@pytest.mark.parametrize("text", ["Ex\u200bample", "Ex\u0430mple", "\uff25xample", "a\u202eb"])
def test_what_nobody_can_read_is_said(text: str) -> None:
    assert problems(text)


@pytest.mark.parametrize(
    "text", ["Example Org", "\u534e\u4e3a", "M\u00fcller", "\u042f\u043d\u0434\u0435\u043a\u0441"]
)
def test_names_in_any_script_can_be_shown(text: str) -> None:
    assert problems(text) == []
    assert slug(text)


def test_alike_is_alike() -> None:
    assert skeleton("Examp1e") == skeleton("ExampIe") == skeleton("example") != skeleton("sample")


@pytest.mark.parametrize(
    ("examined", "rule_id"),
    [
        (replace(GOOD, redacted=False), "REG-12"),
        (replace(GOOD, beside=("report.html",)), "REG-10"),
        (replace(GOOD, state=("unreleased toolkit: commit x",)), "REG-06"),
    ],
)
def test_what_a_registry_does_not_publish(tmp_path: Path, examined: Examined, rule_id: str) -> None:
    registry(tmp_path)
    assert rules(tmp_path, examined) == [rule_id]


@pytest.mark.parametrize(
    ("change", "rule_ids"),
    [
        (lambda root: None, []),
        (lambda root: registry(root, PLACE + "-new"), []),
        (lambda root: (root / PLACE / "README.md").write_text("x"), ["REG-14"]),
        (lambda root: (root / "accepted.txt").write_text("other\n"), ["REG-14"]),
        (lambda root: (root / "keys" / "example-org.pem").write_text("mine"), ["REG-15", "REG-16"]),
        (lambda root: (root / "keys" / "example-org_1.pem").write_text("mine"), ["REG-16"]),
        (lambda root: (root / "keys" / "new-org.pem").write_text("theirs"), []),
        (lambda root: (root / "keys" / "example-org.1.pem").write_text("theirs"), []),  # of "Example Org.1"
    ],
)
def test_a_change_takes_nothing_away(
    tmp_path: Path, change: Callable[[Path], object], rule_ids: list[str]
) -> None:
    for name in ("before", "now"):
        registry(tmp_path / name)
        (tmp_path / name / "accepted.txt").write_text(f"{PLACE}\n")
    change(tmp_path / "now")
    assert [one.rule_id for one in changed(tmp_path / "before", tmp_path / "now")] == rule_ids


def test_the_key_of_a_name_that_ends_in_a_number_signs_for_that_name_alone(tmp_path: Path) -> None:
    registry(tmp_path)
    (tmp_path / "keys" / f"{slug('Example Org.1')}.pem").write_text("theirs")
    signed = lambda _bundle, key: replace(GOOD, trusted=key is not None and key.read_text() == "theirs")  # noqa: E731
    assert [one.rule_id for one in check(tmp_path, signed).findings] == ["REG-08"]


def test_a_key_of_earlier_years_still_verifies(tmp_path: Path) -> None:
    registry(tmp_path)
    (tmp_path / "keys" / "example-org_1.pem").write_text("old key")
    signed = lambda _bundle, key: replace(GOOD, trusted=key is not None and key.read_text() == "old key")  # noqa: E731
    assert check(tmp_path, signed).findings == ()
