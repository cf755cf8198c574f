"""The report: everything in it comes from the run, reads as written, and is the same each time."""

from __future__ import annotations

import dataclasses
import html.parser
import json
import re
import shutil
from pathlib import Path

import made_run
import pytest
from docutils.core import publish_doctree
from hypothesis import given, settings
from hypothesis import strategies as st
from made_parts import LATENCY, TESTBED, THROUGHPUT, Maker, cell, header
from made_run import realistic_run

from bmwg.methodology.records import Bound, Cell, Outcome, OutcomeType, Quantity, Validity
from bmwg.reports.bundle.archive import RENDERED_PARTS
from bmwg.reports.render.facts import facts
from bmwg.reports.render.forms.rst import esc
from bmwg.reports.render.page.report import PAGES, TEXT_FILE, write_report
from bmwg.reports.render.page.summary import summary_lines
from bmwg.reports.render.plots.extent import extent
from bmwg.reports.render.sections.results import answer, banner
from bmwg.reports.render.text import (
    MAX_CHARACTERS,
    NONE,
    nanoseconds,
    percent,
    plain,
    sequence,
    told_apart,
    unit,
)
from bmwg.reports.store import RunStore, read_run

HOSTILE = (
    '<script>alert("x")</script>',
    ".. raw:: html\n\n   <b>x</b>",
    "`x <javascript:alert(1)>`_ |sub| *em* **b** [1]_ __ ``lit`` :role:`x` http://example.net a_ _b: _`t`",
    "1. one",
    "- list\n* list",
    "=====\nTitle\n=====",
    "+---+\n| x |\n+---+",
    "\x00\x1b[31m\ud800\u2028\x85end",
    "A. Letter",
    "\\ \\x",
    ">>> doctest",
    "::",
    "$x^2$ \\mathdefault{}",
)


class Page(html.parser.HTMLParser):
    """Collects what a test asks of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.rows: list[list[str]] = []
        self.text: list[str] = []
        self._cell: list[str] | None = None
        self._style = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._style = tag == "style" or (self._style and tag != "/style")
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self._cell = []

    def handle_endtag(self, tag: str) -> None:
        if tag == "style":
            self._style = False
        if tag in ("td", "th") and self._cell is not None:
            self.rows[-1].append(" ".join("".join(self._cell).split()))
            self._cell = None

    def handle_data(self, data: str) -> None:
        if self._style:
            return
        self.text.append(data)
        if self._cell is not None:
            self._cell.append(data)


@pytest.fixture(scope="module")
def pages(made_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Page]:
    folder = tmp_path_factory.mktemp("page") / made_folder.name
    shutil.copytree(made_folder, folder)
    write_report(folder)
    return {file.name: Page(file.read_text(encoding="utf-8")) for file in folder.glob("report*.html")}


@pytest.fixture
def page(pages: dict[str, Page]) -> Page:
    return pages["report.html"]


def rendered(folder: Path) -> Page:
    return Page(write_report(folder).read_text(encoding="utf-8"))


def test_rendering_twice_gives_equal_octets(made_folder: Path, tmp_path: Path) -> None:
    made = []
    for name in ("a", "b"):
        folder = tmp_path / name / made_folder.name
        shutil.copytree(made_folder, folder)
        write_report(folder)
        made.append(
            {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        )
    assert made[0] == made[1]
    assert {str(path) for path in made[0]} >= {*PAGES, "report.rst", "plots/search.svg"}


def test_no_page_fetches_or_runs_anything(pages: dict[str, Page]) -> None:
    forbidden = {"script", "link", "iframe", "object", "embed", "img", "base", "form"}
    assert set(pages) == set(PAGES) == {*RENDERED_PARTS} - {TEXT_FILE}
    tags = [tag for page in pages.values() for tag in page.tags]
    assert not forbidden & {tag for tag, _ in tags}
    for tag, attributes in tags:
        for name, value in attributes.items():
            assert name != "src"
            assert not name.startswith("on"), (tag, name)
            if name in ("href", "xlink:href"):
                assert value is not None
                assert value.startswith("#") or value in PAGES
            for target in re.findall(r"url\(([^)]*)\)", value or ""):
                assert target.startswith("#")


def test_ids_are_unique_and_each_plot_is_described(pages: dict[str, Page]) -> None:
    drawn = {}
    for name, page in pages.items():
        ids = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
        assert len(ids) == len(set(ids))
        plots = [attributes for tag, attributes in page.tags if tag == "svg"]
        drawn[name] = len(plots)
        for attributes in plots:
            assert attributes["role"] == "img"
            assert set((attributes["aria-labelledby"] or "").split()) <= set(ids)
    assert {name: count for name, count in drawn.items() if count} == {
        "report.html": 3,
        "report-searches.html": 1,
    }


def test_every_measured_value_stands_with_unit_and_trials(made_folder: Path, page: Page) -> None:
    run = read_run(made_folder)
    text = {tuple(row) for row in page.rows}
    joined = "\n".join(" | ".join(row) for row in text)
    for outcome in run.outcomes:
        if outcome.metric != LATENCY and outcome.type is OutcomeType.MEASURED:
            value = " ".join(str(extent(facts(run), outcome)).split())
            assert any(value in row and sequence(outcome.trials) in row for row in text)
        if outcome.metric == LATENCY and outcome.type is OutcomeType.MEASURED:
            for quantity in outcome.values:
                assert " ".join(nanoseconds(quantity.number).split()) in joined


def test_only_measured_answers_are_bare_figures(made_folder: Path, page: Page) -> None:
    words = {"at the floor", "at the ceiling", "tester limited", "unstable", "invalid", "not assessed"}
    seen = set()
    for row in page.rows:
        if len(row) == 8 and row[1].endswith("octets") and row[2] in words:
            seen.add(row[2])
            assert row[3] == "—" or re.match(r"[a-z]", row[3]), row
        if len(row) == 12 and row[2] in words:
            assert row[4:10] == ["—"] * 6, row
    assert seen == words
    for line in summary_lines(facts(read_run(made_folder))):
        for word in words:
            assert not re.search(rf"{word}: [\d  ]+frames/s$", line)


def test_not_assessed_cells_name_reason_and_mend(page: Page) -> None:
    row = next(row for row in page.rows if row[0] == "pvp ipvlan" and row[-1].startswith("modprobe"))
    assert row[2:] == ["latency.all_frames", "the kernel has no ipvlan module", "modprobe ipvlan"]


def test_the_ladder_compares_measured_rungs_only(made_folder: Path, page: Page) -> None:
    run = read_run(made_folder)
    values = {o.cell.cell_id: o.values[0].number for o in run.outcomes if o.metric != LATENCY and o.values}
    ratio = values[cell("node").cell_id] / values[cell("wire").cell_id]
    rows = [row for row in page.rows if len(row) == 8 and row[1] == "64 octets"]
    node = next(row for row in rows if row[0] == "node" and row[4].endswith("%"))
    assert node[4].split() == [f"{ratio * 100:.1f}".rstrip("0").rstrip("."), "%"]
    limited = next(
        row for row in rows if row[0] == "pvp host-device" and "limited" in row[7] and row[4] == "—"
    )
    assert limited[4:7] == ["—", "—", "—"]


def test_set_aside_trials_stand_beside_the_value_over_all(page: Page) -> None:
    row = next(row for row in page.rows if row[0] == "pvp macvlan" and "%" in row[-1])
    aside = "2 of 4 trials set aside (tester stalled 1, the SUT's host stalled 1)"
    assert row[-2:] == [
        "no lossless load",
        f"50 %: {aside}, in which 48000 of 1600000 frames were lost",
    ]


def test_banner_is_computed_from_the_run(tmp_path: Path) -> None:
    plain_profile = {"name": "full", "deviations": []}
    quiet = RunStore.create(tmp_path, "quiet", header(profile=plain_profile))
    quiet.close(None, "complete")
    assert [kind for kind, _ in banner(facts(read_run(quiet.folder)))] == ["fine"]
    loud = RunStore.create(
        tmp_path, "loud", header(simulated=True, toolkit_dirty=True, plan=made_run.full_plan())
    )
    kinds = [kind for kind, _ in banner(facts(read_run(loud.folder)))]
    assert kinds == ["simulated", "indicative", "interrupted", "interrupted", "interrupted"]
    loud.close(None, "interrupted", reason="Ctrl-C")
    assert any("Ctrl-C" in line for line in summary_lines(facts(read_run(loud.folder))))


def test_a_run_without_anything_has_a_page(tmp_path: Path) -> None:
    with RunStore.create(tmp_path, "empty", header()) as store:
        pass
    page = rendered(store.folder)
    assert "The run holds no answer." in "".join(page.text)
    assert not any("throughput" in cell.lower() for row in page.rows for cell in row)
    assert summary_lines(facts(read_run(store.folder)))[-1] == "no answer"


def test_the_theoretical_maximum_is_drawn_where_the_medium_has_one(tmp_path: Path) -> None:
    folder = realistic_run(tmp_path, "line", medium_kind="10GBASE-T", line_rate_bps=10_000_000_000)
    page = rendered(folder)
    assert any("14,880,952 frames/s" in row for row in page.rows)
    assert "theoretical maximum" in (folder / "plots/throughput.svg").read_text(encoding="utf-8")


@pytest.mark.parametrize("evil", HOSTILE)
def test_hostile_names_read_as_they_are_written(tmp_path: Path, evil: str) -> None:
    testbed = TESTBED | {"name": evil}
    profile = {"name": evil, "deviations": [{"requirement": evil, "what": evil, "why": evil}]}
    one = cell("pvp", plain(evil) or "x")
    with RunStore.create(
        tmp_path,
        "evil",
        header(testbed=testbed, profile=profile, testbed_source=evil, drivers=({evil: evil},)),
    ) as store:
        maker = Maker(store)
        store.set_platform(before={evil: {"value": evil, "how": {"kind": evil, "from": evil}}})
        store.add_deployment("d", {evil: [evil, {evil: evil}]})
        maker.measured(one, 300_000, 1_000_000)
        maker.measured(dataclasses.replace(one, frame_octets=512), 300_000, 1_000_000)
        maker.outcome(
            cell("p2p", plain(evil) or "x"), THROUGHPUT, OutcomeType.NOT_ASSESSED, reason=evil, mend=evil
        )
    page = rendered(store.folder)
    assert not {"script", "b", "em", "strong", "h3"} & {tag for tag, _ in page.tags}
    links = [attributes for tag, attributes in page.tags if tag == "a"]
    targets = {link.get("href") or "" for link in links}  # of the contents, and of the pages beside
    assert all(target[:1] == "#" or target in PAGES for target in targets)
    expected = " ".join(plain(evil).split())
    assert any(row[1:2] == [expected] for row in page.rows), expected
    assert "system-message" not in str(page.tags)
    assert plain(evil) in "\n".join(summary_lines(facts(read_run(store.folder))))


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=60))
def test_any_text_survives_restructuredtext(text: str) -> None:
    words = plain(text) or NONE
    made = publish_doctree(
        f"x {esc(words)} y\n\n{esc(words)}\n",
        settings_overrides={"report_level": 1, "halt_level": 1, "raw_enabled": False},
    )
    assert [" ".join(node.astext().split()) for node in made.children] == [
        " ".join(f"x {words} y".split()),
        " ".join(words.split()),
    ]


def test_numbers_never_lose_their_meaning() -> None:
    assert plain("x" * 5000) == "x" * (MAX_CHARACTERS - 1) + "…"
    assert percent(1e-9) == "< 0.001\u00a0%"
    assert (unit(0.00042, "s"), unit(0.0, "s"), unit(12.5, "s")) == (
        "0.00042\u00a0s",
        "0\u00a0s",
        "12.5\u00a0s",
    )
    assert percent(0) == "0\u00a0%"
    assert percent(1) == "100\u00a0%"
    assert percent(0.999_996) == "> 99.999\u00a0%"  # not every frame was lost
    assert percent(0.9996, 1) == "> 99.9\u00a0%"
    assert unit(1_450_000, "frames/s") == "1,450,000\u00a0frames/s"
    assert (nanoseconds(999), nanoseconds(1_500), nanoseconds(2.5e9)) == (
        "999\u00a0ns",
        "1.5\u00a0µs",
        "2.5\u00a0s",
    )
    assert sequence([9, 1, 2, 3, 7, 9]) == "1-3, 7, 9"


def test_p99_9_is_told_under_both_spellings(tmp_path: Path) -> None:
    one = cell("wire")
    with RunStore.create(tmp_path, "spelling", header()) as store:
        seq = Maker(store).trial(one, 1000, metric=LATENCY)
        Maker(store).outcome(
            one,
            LATENCY,
            OutcomeType.MEASURED,
            trials=(seq,),
            values=(Quantity(metric=f"{LATENCY}.p99.9", number=1234, unit="ns"),),
        )
    row = next(row for row in rendered(store.folder).rows if row[0] == "wire" and "1.234 µs" in row)
    assert row[7] == "1.234 µs"


def test_invalid_trials_are_never_drawn_or_told_as_bounds(made_folder: Path) -> None:
    run = read_run(made_folder)
    for outcome in run.outcomes:
        bounds: list[Bound] = [bound for bound in (outcome.lower, outcome.upper) if bound]
        for seq in (seq for bound in bounds for seq in bound.trials):
            assert run.trial(seq).validity is Validity.VALID


def test_the_console_lines_are_short_and_plain(made_folder: Path) -> None:
    lines = summary_lines(facts(read_run(made_folder)))
    assert lines[0].startswith("Indicative: profile quick")
    assert lines[0].endswith("(2 declared deviations; the report says which are touched).")
    assert any(
        line.startswith("pvp bridge 64 ") and "317,187 to 339,843" in " ".join(line.split()) for line in lines
    )
    assert all("\n" not in line and len(line) < 180 for line in lines)
    assert json.dumps(lines)


def test_a_number_of_a_wide_interval_never_stands_alone():
    cell = Cell(path="pvp", hosting="pod", function="kernel-l3", network="bridge", frame_octets=64)
    one = Outcome(
        outcome_id="x",
        metric="throughput.rfc2544_26_1",
        cell=cell,
        type=OutcomeType.MEASURED,
        values=(Quantity(metric="throughput.rfc2544_26_1", number=400_000, unit="frames/s"),),
        lower=Bound(load_fps=400_000, trials=(1,)),
        upper=Bound(load_fps=500_000, trials=(2,)),
    )
    assert "loss from 500" in answer(one)
    assert "loss from" not in answer(dataclasses.replace(one, upper=Bound(load_fps=410_000, trials=(2,))))


@pytest.mark.parametrize(
    ("ids", "common", "left"),
    [
        (["rate/pod/1p/a", "rate/native/1p/b"], "rate, 1p", ["pod/a", "native/b"]),
        (["rate/pod/a", "rate/pod/a/tls"], "rate, pod", ["a", "a/tls"]),  # nothing of one would be left
        (["rate", "rate/tls"], "", ["rate", "rate/tls"]),
        (["a/b"], "", ["a/b"]),
        (["a/b", "a/b"], "", ["a/b", "a/b"]),
        ([], "", []),
    ],
)
def test_what_ids_have_in_common_is_said_once(ids, common, left):
    assert told_apart(ids) == (common, left)
