"""The keyword library of the HTTP proxy suites: one instance a Robot run, and the listener that closes it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from robot.api import SkipExecution, logger
from robot.api.deco import keyword, library

from bmwg.methodology.errors import ToolkitBug, ToolkitError, TrialInvalid
from bmwg.methodology.records import Outcome, OutcomeType
from bmwg.resources.http_proxy.bench import HttpBench
from bmwg.resources.http_proxy.line import line_of
from bmwg.resources.settings import Settings


@library(scope="GLOBAL", listener="SELF", auto_keywords=False)
class HttpProxy:
    """Keywords that run one experiment on one hosting form."""

    ROBOT_LISTENER_API_VERSION = 3

    def __init__(self) -> None:
        self._bench: HttpBench | None = None
        self._broken: ToolkitError | None = None
        self._tags: tuple[str, ...] = ()
        self._selected: set[str] = set()
        self._suite = ""

    @keyword(tags=["bench"])
    def open_http_bench(self) -> None:
        """Open a new run; does nothing when one is open already."""
        if self._broken is not None:
            raise self._broken
        if self._bench is None:
            try:
                self._bench = HttpBench.open(Settings.from_environment(), self._selected)
            except ToolkitError as error:
                self._broken = error
                raise
        logger.info(f"run {self._bench.run_id}")  # by it a bundle knows Robot's output as this run's
        self._bench.begin_suite(self._suite)

    @keyword(tags=["measurement"])
    def measure_http_experiment(self, experiment: str, form: str) -> list[Outcome]:
        """Measure an experiment's cells on a hosting form; an invalid procedure fails the test."""
        self.open_http_bench()
        assert self._bench is not None
        return _judged(self._bench.outcomes(experiment, form, _only_id(self._tags)), self._bench.mends)

    @keyword(tags=["measurement"])
    def measure_http_experiments(self, form: str, *experiments: str) -> list[Outcome]:
        """Measure the cells of some experiments on one hosting form: one test with one judgement."""
        self.open_http_bench()
        assert self._bench is not None
        tag = _only_id(self._tags)
        return _judged(
            [one for name in experiments for one in self._bench.outcomes(name, form, tag)], self._bench.mends
        )

    def start_suite(self, data: Any, result: Any) -> None:
        """Note once what all suites of this Robot run will measure: the plan of the run."""
        self._suite = str(data.name)
        if not self._selected:
            while data.parent is not None:
                data = data.parent
            for test in data.all_tests:
                self._selected.update(_ids(tuple(str(tag) for tag in test.tags)))

    def start_test(self, data: Any, result: Any) -> None:
        """Note the tags of the test."""
        self._tags = tuple(str(tag) for tag in result.tags)
        if self._bench is not None:
            self._bench.display.fresh_line()

    def close(self) -> None:
        """End the run: remove what was made, write the report, say where it is."""
        if self._bench is not None:
            bench, self._bench = self._bench, None
            bench.close()


def _judged(outcomes: list[Outcome], mends: Mapping[str, str]) -> list[Outcome]:
    for outcome in outcomes:
        logger.info(f"{outcome.cell.cell_id}: {line_of(outcome)}")
    invalid = [outcome for outcome in outcomes if outcome.type is OutcomeType.INVALID]
    if invalid:
        raise TrialInvalid(
            "TRIAL-01",
            f"{len(invalid)} of {len(outcomes)} cells have no valid procedure",
            expected="valid repetitions (profile's limits)",
            found="".join(f"\n            {outcome.cell.cell_id}: {outcome.reason}" for outcome in invalid),
            hint="the journal trials.jsonl holds every repetition and what was wrong with it",
        )
    lacking = [outcome for outcome in outcomes if outcome.type is OutcomeType.NOT_ASSESSED]
    if len(lacking) == len(outcomes):
        told = {(outcome.reason, mends.get(outcome.outcome_id, "")) for outcome in lacking}
        reasons = "; ".join(sorted(f"{reason} ({mend})" if mend else reason for reason, mend in told))
        raise SkipExecution(f"not assessed: {reasons or 'profile and testbed plan no cell here'}")
    return outcomes


def _ids(tags: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(tag.partition(":")[2] for tag in tags if tag.startswith("id:"))


def _only_id(tags: tuple[str, ...]) -> str:
    ids = _ids(tags)
    if len(ids) != 1:
        raise ToolkitBug(
            "TAG-01", "a test has exactly one id: tag", expected="one", found=", ".join(ids) or "none"
        )
    return ids[0]
