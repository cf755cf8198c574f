"""The quick reader of tables and docutils' own give the same tree; each package can be imported first."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from docutils.core import publish_doctree
from docutils.parsers.rst import directives
from test_render import HOSTILE

from bmwg.reports.render.facts import facts
from bmwg.reports.render.html import SETTINGS
from bmwg.reports.render.page import ROLES, page
from bmwg.reports.render.plots import plots
from bmwg.reports.render.quick_tables import quick_tables
from bmwg.reports.render.text import esc, pairs, role, table
from bmwg.reports.store import read_run

_ROLES = "".join(f".. role:: {name}\n\n" for name in ROLES)


def tree(text: str) -> str:
    return publish_doctree(text, settings_overrides=SETTINGS).pformat()


def test_a_whole_page_is_the_same(made_folder: Path) -> None:
    told = facts(read_run(made_folder))
    text = page(told, plots(told))
    stock = tree(text)
    with quick_tables():
        assert tree(text) == stock


@pytest.mark.parametrize("value", HOSTILE)
def test_any_cell_is_the_same(value: str) -> None:
    rows = [[esc(value), role("command", value)], [esc(value), esc("x")]]
    text = _ROLES + "\n".join([*table(["a", value], rows, value), *pairs([("name", esc(value))])])
    stock = tree(text)
    with quick_tables():
        assert tree(text) == stock


@pytest.mark.parametrize(
    "body",
    [
        "   * - one\n\n       two\n     - three\n",  # two paragraphs in a cell
        "   * -\n     - empty\n",
    ],
)
def test_a_table_of_another_form_is_left_to_docutils(body: str) -> None:
    text = f".. list-table:: t\n\n{body}"
    stock = tree(text)
    with quick_tables():
        assert tree(text) == stock


def test_docutils_is_left_as_it_was() -> None:
    before = directives._directives.get("list-table")
    with quick_tables():
        assert directives._directives["list-table"] is not before
    assert directives._directives.get("list-table") is before


_PACKAGES = ("published.ratios", "published.figures", "http.section", "render.page", "compare", "importers")


@pytest.mark.parametrize("name", _PACKAGES)
def test_each_can_be_the_first_import(name: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", f"import bmwg.reports.{name}"],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
