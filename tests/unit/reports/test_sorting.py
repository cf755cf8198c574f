"""Long tables are sorted by value and filtered by the style sheet alone."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from importlib import resources

import pytest

from bmwg.reports.render.blocks import table
from bmwg.reports.render.forms.html import html
from bmwg.reports.render.sections.sorting import LEAST_ROWS, MAX_COLUMNS, MAX_VALUES, sort_key, sorting
from bmwg.reports.render.text import NONE, nanoseconds, percent, unit

STYLE = resources.files("bmwg.reports.render.forms").joinpath("style.css").read_text(encoding="utf-8")


def test_values_sort_by_what_they_are_worth() -> None:
    rising = [
        *(percent(ratio) for ratio in (1e-9, 0.00001, 0.5)),
        *(nanoseconds(ns) for ns in (512, 36_350, 1_384_000, 2.5e9)),
    ]
    assert sorted(rising[:3], key=sort_key) == rising[:3]
    assert sorted(rising[:2:-1], key=sort_key) == rising[3:]
    loads = [unit(fps, "frames/s") for fps in (9_999, 10_000, 1_450_000)]
    falling = loads[::-1]
    assert sorted(falling, key=sort_key) == loads
    mixed = ["3", "20", "unstable", NONE]
    turned = mixed[::-1]
    assert sorted(turned, key=sort_key) == mixed
    assert sort_key("4.543\u00a0µs / 36.35\u00a0µs")[1] == 4543.0
    assert sort_key("0.2\u00a0s")[1] == 2e8
    assert sort_key("64 streams")[1] == 64.0


def rows_of(count: int) -> list[list[str]]:
    return [[f"option {n}", unit((n * 7919) % count * 1000, "frames/s"), "ab"[n % 2]] for n in range(count)]


def test_ranks_follow_values_and_words_stay_behind_numbers() -> None:
    rows = [*rows_of(LEAST_ROWS), ["x", "unstable", "a"], ["y", NONE, "b"]]
    made = sorting(["option", "load", "kind"], rows, "t1")
    assert made is not None
    ranks = [int(re.search(r"--b1:(\d+)", style)[1]) for _, style in made.rows]  # type: ignore[index]
    by_rank = [rows[n][1] for n in sorted(range(len(rows)), key=lambda n: ranks[n])]
    assert by_rank == sorted((row[1] for row in rows), key=sort_key)

    # as in style.css: order = rank * sign, and far behind for words
    def order(rank: int, sign: int) -> int:
        return rank * sign + max(0, rank - 9999) * 100000

    falling = [rows[n][1] for n in sorted(range(len(rows)), key=lambda n: order(ranks[n], -1))]
    assert falling[-2:] == ["unstable", NONE]
    assert falling[0] == unit((LEAST_ROWS - 1) * 1000, "frames/s")


def test_filters_are_columns_of_few_values_and_every_rule_is_there() -> None:
    made = sorting(["option", "load", "kind"], rows_of(30), "t1")
    assert made is not None
    assert made.controls.count('class="q') == 2
    assert [classes for classes, _ in made.rows[:2]] == ["f0", "f1"]
    for number in range(MAX_COLUMNS):
        assert f".sortable:has(.b{number}:checked) tbody tr {{ --k: var(--b{number}); }}" in STYLE
    for number in range(MAX_VALUES):
        assert f".sortable:has(.q{number}:checked) tbody tr:not(.f{number}) {{ display: none; }}" in STYLE


@pytest.mark.parametrize("count", [1, LEAST_ROWS - 1])
def test_a_short_table_gets_no_controls(count: int) -> None:
    assert sorting(["option", "load", "kind"], rows_of(count), "t1") is None


class _Tags(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))


def test_a_page_sorts_without_any_script_and_hostile_words_stay_words() -> None:
    evil = '"><script>alert(1)</script><input onclick=x>'
    rows = [[evil if n % 2 else "b", str(n), evil] for n in range(LEAST_ROWS)]
    page = _Tags(html(table([evil, "n", "x"], rows), {}))
    assert "script" not in {tag for tag, _ in page.tags}
    assert not any(name.startswith("on") for _, attributes in page.tags for name in attributes)
    bodies = [attributes for tag, attributes in page.tags if tag == "tr" and "style" in attributes]
    assert len(bodies) == LEAST_ROWS
    assert all(re.fullmatch(r"--b\d+:\d+(;--b\d+:\d+)*", str(attributes["style"])) for attributes in bodies)
    groups = {attributes["name"] for tag, attributes in page.tags if tag == "input" and "name" in attributes}
    assert groups == {"t1-by", "t1-0"}
    policy = next(a["content"] for tag, a in page.tags if a.get("http-equiv") == "Content-Security-Policy")
    assert policy == "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


def test_a_long_value_breaks_its_line_instead_of_the_page() -> None:
    assert (
        ".sift fieldset { border: 0; min-width: 0;" in STYLE
    )  # a fieldset is as wide as its words otherwise
    assert ".sift label { min-width: 0; overflow-wrap: anywhere; }" in STYLE


def test_values_that_sort_alike_stand_as_the_table_lists_them() -> None:
    goals = [f"0.2f0.{place}d" for place in (7, 3, 5, 1)]
    rows = [[goal, str(place)] for place, goal in enumerate(goals * 4)]
    made = sorting(["goal", "trial"], rows, "t1")
    assert made is not None
    assert [made.controls.index(f"/>{goal}<") for goal in goals] == sorted(
        made.controls.index(f"/>{goal}<") for goal in goals
    )
