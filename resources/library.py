"""The keyword library: one instance for all suites of a Robot run, and the listener that closes it."""

from __future__ import annotations

from typing import Any

from robot.api import SkipExecution, logger
from robot.api.deco import keyword, library

from bmwg.methodology.errors import ToolkitBug, ToolkitError, TrialInvalid
from bmwg.methodology.records import Outcome, OutcomeType
from bmwg.resources.bench import Bench
from bmwg.resources.settings import Settings


@library(scope="GLOBAL", listener="SELF", auto_keywords=False)
class Bmwg:
    """Keywords that speak the documents' words. Each is typed and logs the one line that a reader needs."""

    ROBOT_LISTENER_API_VERSION = 3

    def __init__(self) -> None:
        self._bench: Bench | None = None
        self._tags: tuple[str, ...] = ()
        self._broken: ToolkitError | None = None
        self._selected: set[str] = set()
        self._suite = "the run"

    @keyword(tags=["bench"])
    def open_bench(self) -> None:
        """Open the testbed, the tester and a new run, unless they are open; have the doctor look."""
        if self._broken is not None:
            raise self._broken
        if self._bench is None:
            try:
                self._bench = Bench.open(Settings.from_environment(), self._selected)
            except ToolkitError as error:
                self._broken = error
                raise
            logger.info(f"run {self._bench.run_id}")  # by it a bundle knows Robot's output as this run's
        self._bench.begin_suite(self._suite)

    @keyword(tags=["measurement"])
    def measure_its_cells(self) -> list[Outcome]:
        """Measure what the test's id says on every cell planned for it; a broken procedure fails the test.

        Which benchmark on which path an id stands for is said once, in `methodology/suites.py`.
        """
        return self._judge(self._opened().outcomes(_only_id(self._tags)))

    def start_suite(self, data: Any, result: Any) -> None:
        """Note once what all suites of this Robot run will measure: the plan of the run."""
        self._suite = str(data.name)
        if not self._selected:
            while data.parent is not None:
                data = data.parent
            for test in data.all_tests:
                self._selected.update(_tagged(tuple(str(tag) for tag in test.tags), "id"))

    def start_test(self, data: Any, result: Any) -> None:
        """Note the tags of the test: its stable id and the catalogue rows that it serves."""
        self._tags = tuple(str(tag) for tag in result.tags)
        if self._bench is not None:
            self._bench.fresh_line()

    def close(self) -> None:
        """End the run: take the closing record, remove what was made, write the report, say where it is."""
        if self._bench is not None:
            bench, self._bench = self._bench, None
            bench.close()

    def _opened(self) -> Bench:
        self.open_bench()
        assert self._bench is not None
        return self._bench

    def _judge(self, outcomes: list[Outcome]) -> list[Outcome]:
        for outcome in outcomes:
            line = f"{outcome.cell.cell_id}: {outcome.type.value}  {outcome.statement or outcome.reason}"
            if outcome.type is OutcomeType.UNSTABLE:
                logger.warn(line)
            else:
                logger.info(line)
        invalid = [outcome for outcome in outcomes if outcome.type is OutcomeType.INVALID]
        if invalid:
            raise TrialInvalid(
                "TRIAL-01",
                f"{len(invalid)} of {len(outcomes)} cells have no valid procedure",
                expected="valid trials (profile's limits)",
                found="".join(
                    f"\n            {outcome.cell.cell_id}: {outcome.reason}" for outcome in invalid
                ),
                hint="the report lists the trials; a quieter machine or a longer list of repeats helps",
            )
        if all(outcome.type is OutcomeType.NOT_ASSESSED for outcome in outcomes):
            reasons = (
                "; ".join(sorted({outcome.reason for outcome in outcomes}))
                or "the profile plans no cell here"
            )
            raise SkipExecution(f"not assessed: {reasons}")
        return outcomes


def _tagged(tags: tuple[str, ...], key: str) -> tuple[str, ...]:
    return tuple(tag.partition(":")[2] for tag in tags if tag.startswith(f"{key}:"))


def _only_id(tags: tuple[str, ...]) -> str:
    ids = _tagged(tags, "id")
    if len(ids) != 1:
        raise ToolkitBug(
            "TAG-01", "a test has exactly one id: tag", expected="one", found=", ".join(ids) or "none"
        )
    return ids[0]
