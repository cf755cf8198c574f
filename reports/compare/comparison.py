"""A comparison: each cell's numbers, and what differs beside them; differences only where they are fair."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bmwg.methodology.errors import ConfigError
from bmwg.reports.compare.field_rules import Place, Role
from bmwg.reports.compare.fields import (
    UNDER_TEST,
    UNWAIVABLE,
    Difference,
    differences,
    unknown_everywhere,
)
from bmwg.reports.compare.options import turns
from bmwg.reports.compare.rows import Row, rows_of
from bmwg.reports.compare.sides import Side, check_once
from bmwg.schemas.validation import near_name


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """All of it. `passing` are fields that differ because each run names or measures them anew.

    While confounders on the path are open, rows have numbers and no verdict; measured beside simulated runs
    have no rows. `unverified` says that nobody computed the figures anew.
    """

    sides: tuple[Side, ...]
    under_test: tuple[Difference, ...]
    confounders: tuple[Difference, ...]
    unknown: tuple[str, ...]
    order: tuple[str, ...]
    rows: tuple[Row, ...]
    passing: tuple[Difference, ...] = ()
    unverified: bool = False

    @property
    def open_confounders(self) -> tuple[Difference, ...]:
        """Those on the compared path that were not waived: while there are any, no difference is judged."""
        return tuple(
            confounder
            for confounder in self.confounders
            if confounder.place is Place.ON_PATH and not confounder.waived
        )

    @property
    def mixed(self) -> bool:
        """Whether measured runs stand beside simulated ones: no number of one is held against the other."""
        return any(confounder.path in UNWAIVABLE for confounder in self.confounders)

    @property
    def off_path(self) -> tuple[Difference, ...]:
        """Fields that differ and lie on no path of these runs; they forbid nothing and are listed."""
        return tuple(confounder for confounder in self.confounders if confounder.place is Place.OFF_PATH)


def compare(
    sides: Sequence[Side], *, waive: Sequence[str] = (), under_test: Sequence[str] = UNDER_TEST
) -> Comparison:
    """Compare sides with the first. Pure.

    Raises ConfigError CMP-01 (fewer than two sides), CMP-02 (a run on two sides), CMP-03 (a waiver that names
    no confounder), CMP-04 (a waiver of what cannot be waived, also under another name).
    """
    if len(sides) < 2:
        raise ConfigError(
            "CMP-01",
            "compare",
            expected="two runs or more",
            found=str(len(sides)),
            hint="--network, given twice, holds options of the same runs against each other",
        )
    _check_under_test(under_test)
    for option in {side.option for side in sides}:
        check_once([run for side in sides if side.option == option for run in side.runs])
    found = differences(sides, under_test=under_test, waived=waive)
    passing = tuple(one for one in found if one.role is not Role.CONFIGURATION)
    held = [difference for difference in found if difference.role is Role.CONFIGURATION]
    confounders = tuple(
        sorted((one for one in held if not one.under_test), key=lambda one: one.place is not Place.ON_PATH)
    )
    _check_waivers(waive, confounders)
    open_ones = [
        confounder
        for confounder in confounders
        if confounder.place is Place.ON_PATH and not confounder.waived
    ]
    mixed = any(one.path in UNWAIVABLE for one in confounders)
    return Comparison(
        sides=tuple(sides),
        under_test=tuple(one for one in held if one.under_test),
        confounders=confounders,
        unknown=unknown_everywhere(sides),
        order=_order(sides),
        rows=() if mixed else rows_of(sides, _unfair(open_ones)),
        passing=passing,
    )


def _unfair(open_ones: Sequence[Difference]) -> str:
    """Return why no row is judged; empty when rows are."""
    count = len(open_ones)
    return f"{count} field{'s' if count != 1 else ''} on the compared path differ" if count else ""


def _check_under_test(under_test: Sequence[str]) -> None:
    for name in under_test:
        for path in UNWAIVABLE:
            if path == name or path.startswith(name.rstrip("/") + "/"):
                raise ConfigError(
                    "CMP-04",
                    f"under test {name}: cannot be what is compared",
                    expected="runs that are all measured, or all simulated",
                    found="both",
                )


def _check_waivers(waive: Sequence[str], confounders: Sequence[Difference]) -> None:
    paths = [confounder.path for confounder in confounders]
    for name in waive:
        if name in UNWAIVABLE:
            raise ConfigError(
                "CMP-04",
                f"waiver {name}: cannot be waived",
                expected="runs that are all measured, or all simulated",
                found="both",
            )
        if not any(path == name or path.startswith(name.rstrip("/") + "/") for path in paths):
            near = near_name(name, paths)
            raise ConfigError(
                "CMP-03",
                f"waiver {name}: names no field that differs",
                expected="a field of the list of confounders, or the beginning of several up to a slash",
                found=repr(name),
                hint=f"did you mean {near}?" if near else "bmwg compare without --waive lists them",
            )


def _order(sides: Sequence[Side]) -> tuple[str, ...]:
    """Say where a side's repeats all came before another's: whatever changed with time went with the side."""
    told = []
    first = sides[0]
    for other in sides[1:]:
        for early, late in ((first, other), (other, first)):
            if early.runs[-1].started_at < late.runs[0].started_at:
                told.append(f"All runs of {early.name} began before all runs of {late.name}.")
    return (*told, *(turns(sides) if first.option else ()))
