"""A plot has the same octets whichever way the layout's solver rounds, drawn first or later."""

from __future__ import annotations

from typing import Any

import pytest
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.ticker import AutoLocator

from bmwg.reports.render.plots.drawing import draw_plot
from bmwg.reports.render.plots.settle import settle

_SIZE_INCHES = (5.2, 3.6)


def panels(figure: Any) -> None:
    """Draw panels whose numbers hang over their ends: their layout takes several steps to rest."""
    for number, axes in enumerate(figure.subplots(2, 2).flat):
        axes.barh(range(3), [1.0 + number, 2.0, 0.7])
        axes.set_yticks(range(3), ["native", "routed", "emulated"])
        axes.text(2.1, 1, "1.002 ms", va="center")
        axes.set_title(f"panel {number}", loc="left")


def drawn() -> str:
    return draw_plot("panels", "title", "description", _SIZE_INCHES, panels).svg


def laid_out() -> Figure:
    figure = Figure(figsize=_SIZE_INCHES, layout="constrained")
    FigureCanvasSVG(figure)
    panels(figure)
    return figure


def test_the_first_drawing_has_the_octets_of_every_later_one(monkeypatch: pytest.MonkeyPatch) -> None:
    steps = 0
    exact = ConstrainedLayoutEngine.execute

    def rounds_otherwise(engine: ConstrainedLayoutEngine, figure: Figure) -> None:
        nonlocal steps
        exact(engine, figure)
        steps += 1
        for axes in figure.axes:
            left, bottom, width, height = axes.get_position().bounds
            axes.set_position((left + steps * 1e-15, bottom, width - steps * 1e-15, height))
            axes.set_in_layout(True)

    first = drawn()
    monkeypatch.setattr(ConstrainedLayoutEngine, "execute", rounds_otherwise)
    assert [drawn() == first for _ in range(5)] == [True] * 5
    assert steps > 5


def test_a_settled_figure_rests() -> None:
    figure = laid_out()
    settle(figure)
    rest = [axes.get_position().bounds for axes in figure.axes]
    figure.set_layout_engine("constrained")
    engine = figure.get_layout_engine()
    assert engine is not None
    engine.execute(figure)
    moved = [axes.get_position().bounds for axes in figure.axes]
    for before, after in zip(rest, moved, strict=True):
        assert after == pytest.approx(before, abs=1e-6)


def test_the_places_do_not_choose_the_ticks() -> None:
    figure = laid_out()
    settle(figure)
    axes = figure.axes[0]
    chosen = list(axes.get_xticks())
    axes.set_position((0, 0, 1, 1))
    assert list(axes.get_xticks()) == chosen
    axes.xaxis.set_major_locator(AutoLocator())
    assert list(axes.get_xticks()) != chosen
