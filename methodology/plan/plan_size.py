"""How many cells a profile may ask for: axes multiply, and a short file can ask for millions. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeVar

from bmwg.methodology.errors import ConfigError

MOST_CELLS = 20_000  # choice: at some seconds a cell this is a run of days

T = TypeVar("T")


def bounded(cells: Iterable[T]) -> Iterator[T]:
    """Give the cells of a plan one by one. Raises ConfigError PRF-10 at the first that is too many."""
    for number, one in enumerate(cells):
        if number == MOST_CELLS:
            raise ConfigError(
                "PRF-10",
                "profile: more cells than a run can have",
                expected=f"at most {MOST_CELLS} cells",
                found="more",
                hint="axes multiply: leave out values, or measure in several runs",
            )
        yield one
