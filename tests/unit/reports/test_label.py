"""What stands beside an axis: the end of a name, which tells it from the others, is never cut off."""

import pytest

from bmwg.reports.render.plots.drawing import label, not_drawn

NAMES = [f"chain combination testpmd reverse of {count} functions" for count in (1, 2)]


@pytest.mark.parametrize("lines", [1, 2])
def test_names_that_begin_alike_stay_apart(lines):
    longer = [f"chain combination testpmd with a name that goes on and on to {number}" for number in (1, 2)]
    shown = [label(name, 30, lines=lines) for name in (*NAMES, *longer)]
    assert len(set(shown)) == 4
    assert all(text.count("\n") == lines - 1 for text in shown)
    assert all(len(line) <= 30 for text in shown for line in text.split("\n"))


def test_a_name_that_fits_is_left_as_it_is():
    assert label("pvp bridge", 30, lines=2) == "pvp bridge"
    assert label("", 30, lines=2) == ""


def test_two_lines_are_broken_between_words():
    assert label(NAMES[1], 30, lines=2) == "chain combination testpmd\nreverse of 2 functions"


def test_a_figure_counts_what_it_leaves_out_where_it_does() -> None:
    assert not_drawn(0, "curves") == ""
    assert not_drawn(3, "curves") == " Further curves in the tables only: 3."
