"""The keyword library: one instance for all suites of a Robot run, and the listener that closes it."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from robot.api import SkipExecution, logger
from robot.api.deco import keyword, library

from bmwg.methodology.errors import ToolkitBug, ToolkitError, TrialInvalid
from bmwg.methodology.records import Outcome, OutcomeType
from bmwg.resources.rooms import Bench
from bmwg.resources.run import not_reached
from bmwg.resources.run.machines import LOST_HOST
from bmwg.resources.run.open_run import OpenRun, open_run
from bmwg.resources.run.outcomes import one_line
from bmwg.resources.run.settings import ROBOT_SILENT, Settings


@library(scope="GLOBAL", listener="SELF", auto_keywords=False)
class Bmwg:
    """Keywords that speak the documents' words. Each is typed and logs the one line that a reader needs.

    All suites of a Robot run are one run of the toolkit, whatever kinds of load they measure.
    """

    ROBOT_LISTENER_API_VERSION = 3

    def __init__(self) -> None:
        self._run: OpenRun | None = None
        self._failures: set[str] = set()
        self._tags: tuple[str, ...] = ()
        self._broken: ToolkitError | None = None
        self._selected: set[str] = set()
        self._suite = "the run"
        self._suite_tests: set[str] = set()

    @keyword(tags=["bench"])
    def open_bench(self) -> None:
        """Open testbed, tester, hosting forms and a new run, unless they are open; have the doctor look."""
        if self._broken is not None:
            raise self._broken
        if self._run is None:
            try:
                self._run = open_run(Settings.from_environment(), self._selected)
            except ToolkitError as error:
                self._broken = error
                raise
            logger.info(f"run {self._run.run_id}")  # by it a bundle knows Robot's output as this run's
        with _not_failed_by_a_lost_host():
            self._run.begin_suite(self._suite, self._suite_tests)

    @keyword(tags=["measurement"])
    def measure_its_cells(self) -> list[Outcome]:
        """Measure what the test's id says on every cell planned for it; a broken procedure fails the test.

        What an id stands for is said once, by its kind of load: of frames in `methodology/suites.py`.
        """
        self.open_bench()
        assert self._run is not None
        test_id = _only_id(self._tags)
        with _not_failed_by_a_lost_host():
            outcomes = self._run.outcomes(test_id)
        if not outcomes:
            self._run.left_out.append(self._suite)
            raise SkipExecution(f"not part of profile {self._run.settings.profile}")
        return _judged(outcomes, self._run.bench(test_id))

    def start_suite(self, data: Any, result: Any) -> None:
        """Note once what all suites of this Robot run will measure: the plan of the run."""
        self._suite = str(data.name)
        self._suite_tests = {test_id for test in data.all_tests for test_id in _ids(test.tags)}
        if not self._selected:
            while data.parent is not None:
                data = data.parent
            self._selected.update(test_id for test in data.all_tests for test_id in _ids(test.tags))

    def start_test(self, data: Any, result: Any) -> None:
        """Note the tags of the test: its stable id and the catalogue rows that it serves."""
        self._tags = tuple(str(tag) for tag in result.tags)
        if self._run is not None:
            self._run.display.fresh_line()

    def end_test(self, data: Any, result: Any) -> None:
        """Tell why a test failed where Robot's own console is silent; the same reason once."""
        not_reached.end_test(data, result)
        if (
            result.failed
            and os.environ.get("BMWG_CONSOLE") in ROBOT_SILENT
            and result.message not in self._failures
        ):
            self._failures.add(result.message)
            line = f"FAILED {data.name}: {result.message}"
            if self._run is not None:
                self._run.display.note(line)
            else:
                print(line, file=sys.__stdout__, flush=True)

    def close(self) -> None:
        """End the run: take the closing record, remove what was made, write the report, say where it is."""
        if self._run is not None:
            run, self._run = self._run, None
            run.close()


@contextmanager
def _not_failed_by_a_lost_host() -> Iterator[None]:
    """Have a test that a lost host cut off skipped, as one that a signal cut off (`not_reached`)."""
    try:
        yield
    except ToolkitError as error:
        if error.error_id != LOST_HOST:
            raise
        raise SkipExecution(f"the run was interrupted: {one_line(error)}") from error


def _judged(outcomes: list[Outcome], bench: Bench) -> list[Outcome]:
    for outcome in outcomes:
        logger.info(f"{outcome.cell.cell_id}: {bench.line(outcome)}")
    invalid = [outcome for outcome in outcomes if outcome.type is OutcomeType.INVALID]
    if invalid:
        raise TrialInvalid(
            "TRIAL-01",
            f"{len(invalid)} of {len(outcomes)} cells have no valid procedure",
            expected="valid trials (profile's limits)",
            found="".join(f"\n            {outcome.cell.cell_id}: {outcome.reason}" for outcome in invalid),
            hint="the report lists the trials; a quieter machine or a longer list of repeats helps",
        )
    if all(outcome.type is OutcomeType.NOT_ASSESSED for outcome in outcomes):
        told = {(outcome.reason, bench.mends.get(outcome.outcome_id, "")) for outcome in outcomes}
        reasons = "; ".join(sorted(f"{reason} ({mend})" if mend else reason for reason, mend in told))
        raise SkipExecution(f"not measured: {reasons}")
    return outcomes


def _ids(tags: Any) -> tuple[str, ...]:
    return tuple(str(tag).partition(":")[2] for tag in tags if str(tag).startswith("id:"))


def _only_id(tags: tuple[str, ...]) -> str:
    ids = _ids(tags)
    if len(ids) != 1:
        raise ToolkitBug(
            "TAG-01", "a test has exactly one id: tag", expected="one", found=", ".join(ids) or "none"
        )
    return ids[0]
