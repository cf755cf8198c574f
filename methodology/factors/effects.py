"""What each factor of a design does to the throughput: ratios of levels with intervals. Pure.

Least squares on the logarithm of the throughput, with a constant for each replicate (a block of
docs/adr/0267), all main effects, and those interactions of two factors that the measured combinations tell
apart. An effect is a ratio: a level's throughput over that of the factor's first level, averaged over the
other factors' levels.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from bmwg.methodology.answers.student import CONFIDENCE, quantile
from bmwg.methodology.answers.throughput import ends
from bmwg.methodology.cells import axes
from bmwg.methodology.factors.design import Design, Term, design_of, in_design, independent
from bmwg.methodology.records import Cell, Outcome, OutcomeType


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """A ratio of throughputs with its 95 % interval; None where nothing is left to estimate the spread from.

    Of an interaction the ratio by which one factor's effect differs between the levels of the other one.
    `levels` and `against` are level names, one for each factor of the term. `resolution` is how far the
    intervals of the answers alone could have moved the ratio.
    """

    term: Term
    levels: tuple[str, ...]
    against: tuple[str, ...]
    ratio: float
    low: float | None
    high: float | None
    resolution: float

    @property
    def moved(self) -> bool | None:
        """Whether the figure moved: the interval is clear of 1, the ratio beyond those of the answers."""
        if self.low is None or self.high is None:
            return None
        return self.clear and abs(math.log(self.ratio)) > math.log(self.resolution)

    @property
    def clear(self) -> bool:
        """Whether the interval is clear of 1; those of the answers may still explain the ratio."""
        return self.low is not None and self.high is not None and not self.low <= 1 <= self.high


@dataclass(frozen=True, slots=True, kw_only=True)
class Effects:
    """What a run says of its design.

    `used` counts answers that are plain numbers; `left_out` are the others, `unreached` counts planned cells
    without an answer. `unmeasured` are combinations without any, `unseen` levels of factors without any: the
    effects are those of the levels that are left. `inseparable` are terms with those that they cannot be told
    from (none named: several together). `assumed` are the interactions that had to be taken as nil. `freedom`
    are degrees of freedom, `spread` is the residual standard deviation as a ratio, `resolution` the widest
    answer's upper end over its lower one.
    """

    design: Design
    replicates: tuple[int, ...]
    used: int
    left_out: tuple[Outcome, ...]
    unreached: int
    unmeasured: tuple[tuple[int, ...], ...]
    unseen: tuple[tuple[str, tuple[str, ...]], ...]
    main: tuple[Effect, ...]
    interactions: tuple[Effect, ...]
    inseparable: tuple[tuple[Term, tuple[Term, ...]], ...]
    assumed: tuple[Term, ...]
    freedom: int
    spread: float | None
    resolution: float


def effects_of(outcomes: Sequence[Outcome], planned: Iterable[Cell] = ()) -> Effects | None:
    """Return the effects that the throughputs of a run's design show; None for a run without a design.

    `planned` are the cells of the plan: a run that was cut short has not answered all of them.
    """
    answered = {outcome.cell for outcome in outcomes}
    cells = list(dict.fromkeys([*planned, *(outcome.cell for outcome in outcomes)]))
    design = design_of(cells)
    if design is None:
        return None
    mine = [outcome for outcome in outcomes if axes.replicate(outcome.cell.axes) is not None]
    plain = [one for one in mine if one.type is OutcomeType.MEASURED and one.lower]
    left_out = tuple(one for one in mine if one not in plain)
    measured = {design.place(one.cell) for one in plain}
    seen = design.restricted(measured)
    rows = [(seen.place(one.cell), axes.replicate(one.cell.axes) or 0, _log_fps(one)) for one in plain]
    every = [*seen.main, *seen.pairs]
    inseparable = [
        (term, seen.confounded_with(term, every)) for term in every if not seen.separable(term, every)
    ]
    bad = {term for term, _ in inseparable}
    told = [term for term in seen.main if seen.separable(term, seen.main)]
    pairs = [term for term in seen.pairs if term not in bad]
    widths = [_log_width(one) for one in plain]
    fitted = _fit(seen, rows, [*seen.main, *pairs], widths)
    if fitted is not None and fitted.freedom < 1 and pairs:
        fitted, pairs = _fit(seen, rows, list(seen.main), widths), []
    known = fitted is not None
    return Effects(
        design=design,
        replicates=tuple(sorted({replicate for _, replicate, _ in rows})),
        used=len(plain),
        left_out=left_out,
        unreached=sum(in_design(cell) and cell not in answered for cell in cells),
        unmeasured=tuple(one for one in design.combinations if one not in measured),
        unseen=tuple(
            (factor.name, tuple(level for level in factor.levels if level not in left.levels))
            for factor, left in zip(design.factors, seen.factors, strict=True)
            if factor != left
        ),
        main=tuple(effect for term in told for effect in fitted.effects(term)) if fitted else (),
        interactions=tuple(one for term in pairs for one in fitted.effects(term)) if fitted else (),
        inseparable=tuple(inseparable),
        assumed=tuple(term for term in seen.pairs if term not in pairs),
        freedom=fitted.freedom if fitted else 0,
        spread=math.exp(math.sqrt(fitted.variance)) if known and fitted and fitted.freedom > 0 else None,
        resolution=math.exp(max(widths, default=0.0)),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Fit:
    design: Design
    places: dict[Term, list[int]]  # of a term's columns among those that were fitted
    columns: list[list[float]]  # those that were fitted, a row an answer
    widths: list[float]  # of the interval of each answer, logarithm of its ends' ratio
    values: list[float]
    inverse: list[list[float]]
    variance: float
    freedom: int

    def effects(self, term: Term) -> list[Effect]:
        """Return the effect of each combination of levels of a term, but for the first ones."""
        columns = self.places[term]
        if len(columns) != self.design.width(term):
            return []
        sizes = [len(self.design.factors[place].levels) for place in term]
        found = []
        for chosen in _above_first(sizes):
            weights = [0.0] * len(self.values)
            for signs in _corners(len(term)):
                levels = [level if sign else 0 for level, sign in zip(chosen, signs, strict=True)]
                factor = (-1) ** (len(term) - sum(signs))
                whole = [0] * len(self.design.factors)
                for place, level in zip(term, levels, strict=True):
                    whole[place] = level
                for column, value in zip(columns, self.design.columns(term, whole), strict=True):
                    weights[column] += factor * value
            middle = sum(w * v for w, v in zip(weights, self.values, strict=True))
            half = self._half(weights)
            factors = [self.design.factors[place] for place in term]
            found.append(
                Effect(
                    term=term,
                    levels=tuple(one.levels[level] for one, level in zip(factors, chosen, strict=True)),
                    against=tuple(one.levels[0] for one in factors),
                    ratio=math.exp(middle),
                    low=None if half is None else math.exp(middle - half),
                    high=None if half is None else math.exp(middle + half),
                    resolution=math.exp(self._by_widths(weights)),
                )
            )
        return found

    def _by_widths(self, weights: Sequence[float]) -> float:
        """Return how far answers that lie anywhere in their intervals could move what the weights make."""
        turned = [_dot(row, weights) for row in self.inverse]
        shares = [_dot(turned, row) for row in zip(*self.columns, strict=True)]
        return max(
            math.fsum(share * width for share, width in zip(shares, self.widths, strict=True) if share > 0),
            math.fsum(-share * width for share, width in zip(shares, self.widths, strict=True) if share < 0),
        )

    def _half(self, weights: Sequence[float]) -> float | None:
        if self.freedom < 1:
            return None
        scaled = sum(
            a * row[place] * weights[place]
            for a, row in zip(weights, self.inverse, strict=True)
            for place in range(len(weights))
        )
        return quantile(0.5 + CONFIDENCE / 2, self.freedom) * math.sqrt(max(0.0, scaled * self.variance))


def _fit(
    design: Design,
    rows: Sequence[tuple[tuple[int, ...], int, float]],
    terms: Sequence[Term],
    widths: list[float],
) -> _Fit | None:
    """Fit constant, replicates and terms; None without any answer."""
    if not rows:
        return None
    replicates = sorted({replicate for _, replicate, _ in rows})[1:]
    table = [
        [
            1.0,
            *(float(replicate == other) for other in replicates),
            *(value for term in terms for value in design.columns(term, combination)),
        ]
        for combination, replicate, _ in rows
    ]
    columns = [list(column) for column in zip(*table, strict=True)]
    kept = independent(columns)
    used = [columns[place] for place in kept]
    at = 1 + len(replicates)
    places: dict[Term, list[int]] = {}
    for term in terms:
        width = design.width(term)
        places[term] = [kept.index(place) for place in range(at, at + width) if place in kept]
        at += width
    target = [value for _, _, value in rows]
    inverse = _inverse([[_dot(one, other) for other in used] for one in used])
    right = [_dot(one, target) for one in used]
    values = [_dot(row, right) for row in inverse]
    told = [sum(v * column[row] for v, column in zip(values, used, strict=True)) for row in range(len(rows))]
    freedom = len(rows) - len(used)
    squares = math.fsum((a - b) ** 2 for a, b in zip(target, told, strict=True))
    return _Fit(
        design=design,
        places=places,
        columns=used,
        widths=widths,
        values=values,
        inverse=inverse,
        variance=squares / freedom if freedom > 0 else 0.0,
        freedom=freedom,
    )


def _log_width(outcome: Outcome) -> float:
    low, high = ends(outcome)
    return math.log(high / low) if low and high else 0.0


def _log_fps(outcome: Outcome) -> float:
    assert outcome.lower is not None
    return math.log(outcome.lower.load_fps)


def _above_first(sizes: Sequence[int]) -> list[tuple[int, ...]]:
    found: list[tuple[int, ...]] = [()]
    for size in sizes:
        found = [(*one, level) for one in found for level in range(1, size)]
    return found


def _corners(factors: int) -> list[tuple[int, ...]]:
    found: list[tuple[int, ...]] = [()]
    for _ in range(factors):
        found = [(*one, sign) for one in found for sign in (0, 1)]
    return found


def _dot(one: Sequence[float], other: Sequence[float]) -> float:
    return math.fsum(a * b for a, b in zip(one, other, strict=True))


def _inverse(matrix: Sequence[Sequence[float]]) -> list[list[float]]:
    """Invert a small matrix of full rank, by Gauss and Jordan's way with pivots."""
    size = len(matrix)
    rows = [[*row, *(float(place == other) for other in range(size))] for place, row in enumerate(matrix)]
    for place in range(size):
        pivot = max(range(place, size), key=lambda row: abs(rows[row][place]))
        rows[place], rows[pivot] = rows[pivot], rows[place]
        divisor = rows[place][place]
        rows[place] = [value / divisor for value in rows[place]]
        for row in range(size):
            if row != place and rows[row][place]:
                factor = rows[row][place]
                rows[row] = [a - factor * b for a, b in zip(rows[row], rows[place], strict=True)]
    return [row[size:] for row in rows]
