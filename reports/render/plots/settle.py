"""Makes the layout of a figure deterministic: the same figure has the same octets in every process.

The solver behind the layout orders its terms by their addresses in memory: its last digits differ between two
drawings of one figure, and they reach the SVG as names of clip paths, or as another number of ticks.
"""

from __future__ import annotations

from typing import Any

_MAX_STEPS = 12  # choice: figures of this report rest after two to five, adr/0224
_DIGITS = 6  # of a place, as share of the figure: choice, far above the solver's noise and below a pixel


def settle(figure: Any) -> None:
    """Lay a figure out until its axes rest, twelve times at most; drawing then moves nothing more.

    Ticks are chosen before, from the places that the axes are made with. A figure that does not rest
    stays where the last step left it, the same each time.
    """
    _hold_ticks(figure)
    engine = figure.get_layout_engine()
    before: list[tuple[float, ...]] = []
    for _ in range(_MAX_STEPS):
        engine.execute(figure)
        places = [
            tuple(round(float(part), _DIGITS) for part in axes.get_position().bounds) for axes in figure.axes
        ]
        for axes, place in zip(figure.axes, places, strict=True):
            axes.set_position(place)
            axes.set_in_layout(True)  # the library takes axes that were placed out of the next step
        if places == before:
            break
        before = places
    figure.set_layout_engine("none")


def _hold_ticks(figure: Any) -> None:
    from matplotlib.ticker import FixedLocator

    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_locator(FixedLocator(axis.get_majorticklocs()))
            axis.set_minor_locator(FixedLocator(axis.get_minorticklocs()))
