"""The answers of one kind of load in one run: kept, told, and what an error makes of cells without one."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import contextmanager

from robot.errors import ExecutionFailed

from bmwg.methodology.errors import ToolkitBug, ToolkitError
from bmwg.methodology.records import Outcome, OutcomeType
from bmwg.reports.store.redact import redact
from bmwg.resources.run.machines import LOST_HOST
from bmwg.resources.run.open_run import OpenRun
from bmwg.resources.run.outcomes import one_line

# Errors that stop the run: disk full, ledger failure, leaked frame, corrupt journal, a lost lease or host.
STOPPING = frozenset({"STORE-08", "LEDGER-05", "ISO-03", "RES-06", "LEASE-02", LOST_HOST})


def is_of_cell(error: BaseException) -> bool:
    """Whether an error is the affair of one cell; all others (Ctrl-C, a full disk, a leak) end the run."""
    return (
        isinstance(error, ToolkitError)
        and not isinstance(error, ToolkitBug)
        and error.error_id not in STOPPING
        and interrupt_behind(error) is None
    )


def interrupt_behind(error: BaseException) -> BaseException | None:
    """Return the Ctrl-C or time limit during which an error came about; None where there was none.

    What an interrupted cell has made is then removed, and where that fails its error stands in front.
    """
    behind, seen = [error], set[int]()
    while behind:
        one = behind.pop()
        if not isinstance(one, Exception) or isinstance(one, ExecutionFailed):  # Robot's own, for a signal
            return one
        seen.add(id(one))
        behind += [each for each in (one.__cause__, one.__context__) if each and id(each) not in seen]
    return None


class Answers:
    """What stands for the cells of one kind of load, those of a run that goes on among them."""

    def __init__(
        self,
        run: OpenRun,
        kind: str,
        say: Callable[[Outcome], str],
        *,
        key: Callable[[Outcome], Hashable] = lambda outcome: outcome.cell.cell_id,
    ) -> None:
        """`say` puts an answer into a line with its cell; `key` is by what it is asked for."""
        earlier = run.continued
        self._run = run
        self._key = key
        self._say = say
        self._standing = {key(one): one for one in (earlier.of_kind(kind) if earlier else ())}
        self._mends = dict(earlier.mends) if earlier else {}

    def __contains__(self, key: Hashable) -> bool:
        """Whether an answer stands."""
        return key in self._standing

    def __getitem__(self, key: Hashable) -> Outcome:
        """Return an answer that stands."""
        return self._standing[key]

    def get(self, key: Hashable) -> Outcome | None:
        """Return an answer, None where none stands."""
        return self._standing.get(key)

    @property
    def mends(self) -> Mapping[str, str]:
        """The line that supplies what a cell lacked, by the id of its outcome."""
        return self._mends

    def keep(self, outcome: Outcome, mend: str = "") -> None:
        """Record an answer and tell it; what could not be tried is told at the end of the run."""
        self._run.store.add_outcome(outcome, mend=mend)
        self._standing[self._key(outcome)] = outcome
        if mend:
            self._mends[outcome.outcome_id] = mend
        self._run.display.estimate.answered(outcome.metric, outcome.cell.cell_id)
        if outcome.type is not OutcomeType.NOT_ASSESSED:
            self._run.display.note(self._say(outcome))

    @contextmanager
    def measuring(self, failed: Callable[[str], None]) -> Iterator[None]:
        """Measure cells: an error that is theirs goes to `failed` in a line, any other one ends the run.

        Raises at once what has stopped the run before.
        """
        try:
            with self._run.held():
                yield
        except ToolkitError as error:
            if not is_of_cell(error):
                self._run.stopped = interrupt_behind(error) or error
                raise self._run.stopped from None
            failed(redact(one_line(error)))
        except BaseException as error:
            self._run.stopped = error
            raise
