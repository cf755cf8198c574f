"""The forms beside HTML: mail keeps its columns, Markdown its text, RFCXML passes xml2rfc."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from xml.etree import ElementTree as Xml

import pytest
from docutils import nodes
from docutils.core import publish_doctree
from hypothesis import given, settings
from hypothesis import strategies as st
from made_parts import THROUGHPUT, Maker, cell, header
from test_render import Page

from bmwg.methodology.records import OutcomeType
from bmwg.reports.render.blocks import (
    Block,
    Code,
    Fold,
    Grid,
    Group,
    Heading,
    Items,
    Paragraph,
    Part,
    Repeat,
    Rich,
    banner,
    code,
    flat,
    fold,
    items,
    link,
    pairs,
    paragraph,
    title,
)
from bmwg.reports.render.facts import facts
from bmwg.reports.render.forms.html import html
from bmwg.reports.render.forms.mail import COLUMNS, mail_text
from bmwg.reports.render.forms.markdown import escaped, markdown
from bmwg.reports.render.forms.rfcxml import rfcxml
from bmwg.reports.render.forms.rst import restructured
from bmwg.reports.render.page.page import page
from bmwg.reports.render.page.report import FILES, write_form
from bmwg.reports.render.text import plain
from bmwg.reports.store import RunStore, read_run

HOSTILE = (
    "<script>alert(1)</script>",
    "a|b `c` **d** [e](f) ![g](h) <b> &amp; # i",
    "1. one",
    "]]> <!-- x --> <?pi?> &lt;",
    "\x00\x1b[31m\ud800\u2028end",
    "ä € 😀",
    "$x$ www.example.net http://example.net a@example.net",
)
_DRAFT = """<?xml version="1.0" encoding="UTF-8"?>
<rfc xmlns:xi="http://www.w3.org/2001/XInclude" version="3" ipr="trust200902" category="info"
     docName="draft-made-bmwg-report-00" submissionType="IETF" consensus="true" xml:lang="en">
<front><title>A Report</title><seriesInfo name="Internet-Draft" value="draft-made-bmwg-report-00"/>
<author fullname="A. Nobody" initials="A." surname="Nobody">
<address><email>a@example.net</email></address></author>
<date/><abstract><t>A report.</t></abstract></front>
<middle>{section}</middle></rfc>
"""


def hostile_run(results: Path) -> Path:
    with RunStore.create(results, "hostile", header(testbed={"name": HOSTILE[1]})) as store:
        maker = Maker(store)
        for number, text in enumerate(HOSTILE):
            one = cell("pvp", f"net{number}")
            maker.outcome(one, THROUGHPUT, OutcomeType.NOT_ASSESSED, reason=text, mend=text)
        maker.measured(cell("pvp", HOSTILE[0]), 300_000, 900_000)
    return store.folder


@pytest.fixture(scope="module", params=["made", "hostile"])
def told(request: pytest.FixtureRequest, made_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("forms")
    if request.param == "hostile":
        return hostile_run(place)
    return Path(shutil.copytree(made_folder, place / made_folder.name))


def test_each_form_is_the_same_each_time_and_says_the_numbers(told: Path) -> None:
    for form in ("text", "md", "rfcxml"):
        first = write_form(told, form).read_bytes()
        assert write_form(told, form).read_bytes() == first
        text = first.decode()
        best = next(
            o.values[0].number for o in read_run(told).outcomes if o.metric == THROUGHPUT and o.values
        )
        assert f"{best:,}" in text, form
        assert "Indicative: profile quick" in text


def test_mail_keeps_to_seventy_two_columns_of_ascii(told: Path) -> None:
    lines = write_form(told, "text").read_text("ascii").splitlines()
    long = [line for line in lines if len(line) > COLUMNS and " " in line.strip()]
    assert long == []
    assert all(line.isprintable() for line in lines)


def test_a_table_without_room_names_each_value() -> None:
    grid = Grid(caption="c", head=("name", "first", "second"), rows=(("x" * 40, "1" * 30, "2" * 30),))
    text = mail_text([grid])
    assert f"* {'x' * 40}" in text
    assert f"first: {'1' * 30}" in text
    narrow = mail_text([Grid(caption="", head=("a", "b"), rows=(("1", "2"),))])
    assert [line.split() for line in narrow.splitlines()] == [["a", "b"], ["-", "-"], ["1", "2"]]


@pytest.mark.parametrize("text", HOSTILE)
def test_markdown_shows_no_markup_of_others(text: str) -> None:
    bare = re.sub(r"\\(.)", "", escaped(text))
    assert not set(bare) & set("`*_[]<>|&!$@")


def test_markdown_tables_have_equal_rows(told: Path) -> None:
    lines = write_form(told, "md").read_text("utf-8").splitlines()
    rows = [re.sub(r"\\\|", "", line).count("|") for line in lines if line.startswith("|")]
    assert rows
    assert all(count >= 3 for count in rows)
    assert any(line.startswith("![") and "plots/" in line for line in lines)
    for line in lines:
        for file in re.findall(r"\]\((plots/[^)]*)\)", line):
            assert (told / file).is_file()


def test_rfcxml_is_one_section_whose_anchors_are_unique(told: Path) -> None:
    root = Xml.fromstring(write_form(told, "rfcxml").read_text("ascii"))
    assert root.tag == "section"
    anchors = [element.get("anchor") for element in root.iter() if element.get("anchor")]
    assert len(anchors) == len(set(anchors))
    assert anchors[0] == f"run-{told.name}"
    assert {element.tag for element in root.iter()} <= {
        *("section", "name", "t", "strong", "table", "thead", "tbody", "tr", "th", "td"),
        *("dl", "dt", "dd", "ul", "li", "sourcecode"),
    }


def test_xml2rfc_renders_it_without_a_warning(told: Path, tmp_path: Path) -> None:
    pytest.importorskip("xml2rfc", reason="xml2rfc is not installed")
    draft = tmp_path / "draft-made-bmwg-report-00.xml"
    draft.write_text(_DRAFT.format(section=write_form(told, "rfcxml").read_text("ascii")))
    for form in ("--text", "--html"):
        done = subprocess.run(
            [
                sys.executable,
                "-m",
                "xml2rfc.run",
                form,
                "--no-network",
                "--no-external-css",
                "--path",
                tmp_path,
                draft,
            ],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
            env={"HOME": str(tmp_path), "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"},
        )
        assert done.returncode == 0, done.stderr
        said = done.stdout + done.stderr
        assert not re.search(r"warning|error", said, re.IGNORECASE), said
    assert "Statement in the Form of RFC 2544".lower() in draft.with_suffix(".txt").read_text().lower()


@settings(max_examples=60, deadline=None)
@given(st.lists(st.text(max_size=60), min_size=1, max_size=4))
def test_no_text_breaks_a_form(texts: list[str]) -> None:
    clean = tuple(text.replace("\x00", "") for text in texts)
    made = (
        Heading(level=1, text="x"),
        Paragraph(text=clean[0]),
        Grid(caption="t", head=tuple("abcd"[: len(clean)]), rows=(clean,)),
        Fold(summary="s", inside=()),
        Items(texts=clean),
        Code(text="a --b" + " word" * 40),
    )
    assert mail_text(made).isascii()
    assert markdown(made)


def grids_of(within: Iterable[Block]) -> Iterator[Grid]:
    for block in within:
        if isinstance(block, Grid):
            yield block
        elif isinstance(block, Fold | Group | Repeat):
            yield from grids_of(block.inside)


def test_rst_and_html_read_as_the_blocks_that_they_were_made_of(told: Path) -> None:
    made = page(facts(read_run(told)), ())
    rows = [row for grid in grids_of(made) for row in (grid.head, *grid.rows) if row]
    assert len(rows) > 20
    tree = publish_doctree(
        restructured(made), settings_overrides={"report_level": 2, "halt_level": 2, "raw_enabled": False}
    )
    assert [[cell.astext() for cell in row] for row in tree.findall(nodes.row)] == [list(row) for row in rows]
    assert Page(html(made, {})).rows == [[" ".join(cell.split()) for cell in row] for row in rows]
    titles = [block.text for block in made if isinstance(block, Heading)]
    assert [
        title.astext() for title in tree.findall(nodes.title) if isinstance(title.parent, nodes.section)
    ] == titles[1:]


@pytest.mark.parametrize("text", HOSTILE)
def test_no_form_takes_a_text_for_markup(text: str) -> None:
    one = Rich(Part(text=plain(text), role="command"), Part(text=f" {plain(text)}"))
    made = [
        *title(text, 0),
        *banner("fine", text),
        *paragraph(one, lead=True),
        *title(f"{text} {text}"),
        *items([text, one]),
        *fold(text, [*pairs([(text, link(text, "a/b.html"))]), *code([text])]),
    ]
    tree = publish_doctree(
        restructured(made), settings_overrides={"report_level": 2, "halt_level": 2, "raw_enabled": False}
    )
    expected = " ".join(plain(text).split())
    for kind, count in ((nodes.title, 2), (nodes.paragraph, 7), (nodes.literal_block, 1)):
        found = [" ".join(node.astext().split()) for node in tree.findall(kind)]
        assert len(found) == count
        assert set(found) <= {expected, f"{expected} {expected}"}
    shown = Page(html(made, {}))
    assert not {"script", "b", "strong", "em", "img"} & {tag for tag, _ in shown.tags}
    assert [dict(rest)["href"] for tag, rest in shown.tags if tag == "a"] == ["a/b.html"]
    assert " ".join("".join(shown.text).split()).count(expected) >= 10
    assert Xml.fromstring(rfcxml(made, "x")).tag == "section"


def test_the_statement_has_the_four_parts_of_rfc_2544_26_1(made_folder: Path) -> None:
    grids = [block for block in flat(page(facts(read_run(made_folder)), ())) if isinstance(block, Grid)]
    stated = next(grid for grid in grids if grid.caption.startswith("Measured maximum frame rate"))
    assert stated.head[1:] == (
        *("maximum frame rate", "frame size", "theoretical limit of the medium"),
        "protocol",
    )
    run = read_run(made_folder)
    measured = [o for o in run.outcomes if o.metric == THROUGHPUT and o.type is OutcomeType.MEASURED]
    assert len(stated.rows) == len(measured)
    assert all(row[3] == "none (veth)" and row[4] == "UDP over IPv4" for row in stated.rows)
    paragraphs = [block.text for block in flat(page(facts(run), ())) if isinstance(block, Paragraph)]
    assert any("lasted 1\u00a0s; RFC 2544 section 24 asks for 60\u00a0s" in text for text in paragraphs)


def test_a_line_rate_gives_the_theoretical_limit(tmp_path: Path) -> None:
    with RunStore.create(tmp_path, "wire", header(medium_kind="pci", line_rate_bps=10_000_000_000)) as store:
        Maker(store).measured(cell("pvp", "bridge"), 900_000, 1_000_000)
    grids = [block for block in flat(page(facts(read_run(store.folder)), ())) if isinstance(block, Grid)]
    stated = next(grid for grid in grids if grid.caption.startswith("Measured maximum frame rate"))
    assert stated.rows[0][3] == "14,880,952\u00a0frames/s"


def test_the_command_writes_each_form(
    made_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from bmwg.cli.main import main

    folder = Path(shutil.copytree(made_folder, tmp_path / made_folder.name))
    for form in ("text", "rfcxml"):
        assert main(["report", str(folder), "--format", form]) == 0
        assert capsys.readouterr().out.strip() == str(folder / FILES[form])
        assert (folder / FILES[form]).is_file()
