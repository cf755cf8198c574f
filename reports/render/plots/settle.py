"""Makes the layout of a figure deterministic: the same figure has the same octets in every process.

The solver behind the layout orders its terms by their addresses in memory: its last digits differ between two
drawings of one figure, and they reach the SVG as names of clip paths, or as another number of ticks.
"""

from __future__ import annotations

from typing import Any

_MAX_STEPS = 12  # choice: figures of this report rest after two or three
_REST = 1e-3  # of a figure's width or height, half a pixel: choice, the second step moves 3e-4 of it at most
_DIGITS = 6  # of a place, as share of the figure: choice, far above the solver's noise and below a pixel


def settle(figure: Any) -> None:
    """Lay a figure out until its axes rest within half a pixel, twelve times at most; drawing moves none.

    Ticks are chosen before, from the places that the axes are made with. A figure that does not rest
    stays where the last step left it, the same each time.
    """
    _hold_ticks(figure)
    engine = figure.get_layout_engine()
    before: list[tuple[float, ...]] | None = None
    for _ in range(_MAX_STEPS):
        engine.execute(figure)
        places = [
            tuple(round(float(part), _DIGITS) for part in axes.get_position().bounds) for axes in figure.axes
        ]
        for axes, place in zip(figure.axes, places, strict=True):
            axes.set_position(place)
            axes.set_in_layout(True)  # the library takes axes that were placed out of the next step
        if before is not None and _moved(before, places) < _REST:
            break
        before = places
    figure.set_layout_engine("none")


def _moved(before: list[tuple[float, ...]], after: list[tuple[float, ...]]) -> float:
    """Return the largest move of an edge, as share of the figure."""
    pairs = zip(before, after, strict=True)
    return max((abs(b - a) for old, new in pairs for a, b in zip(old, new, strict=True)), default=0.0)


def _hold_ticks(figure: Any) -> None:
    from matplotlib.ticker import FixedLocator

    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_locator(FixedLocator(axis.get_majorticklocs()))
            axis.set_minor_locator(FixedLocator(axis.get_minorticklocs()))
