"""What a person sees while a run is under way: a line a cell and a heartbeat, or a live display."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TextIO

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn
from rich.table import Column

from bmwg.methodology.search.offer import Spec

HEARTBEAT_S = 10.0  # choice: the longest silence of the line display while trials run
_LEAST_SHARE, _LEAST_S = 0.1, 300.0  # choice: before one is reached a run's set-up is most of it


def clock_text(seconds: float) -> str:
    """Format seconds as `m:ss` or `h:mm:ss`."""
    whole = max(0, round(seconds))
    hours, rest = divmod(whole, 3600)
    minutes, second = divmod(rest, 60)
    return f"{hours}:{minutes:02}:{second:02}" if hours else f"{minutes}:{second:02}"


class Estimate:
    """How far a run is, by the traffic that was planned for what is answered; wall seconds follow from that.

    An answer counts as a whole, whatever traffic it took: a search that ends early leaves nothing open.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._started = clock()
        self._left: dict[tuple[str, str], float] = {}
        self._planned_s = self._most_s = 0.0
        self._open = ("", 0.0)  # cell, and traffic for its next answer

    def expect(self, traffic_s: Mapping[tuple[str, str], float]) -> None:
        """Take what is still to be answered, by metric and cell id: seconds of traffic."""
        self._left |= traffic_s
        self._planned_s += sum(traffic_s.values())

    def sent(self, cell_id: str, seconds: float) -> None:
        """Count traffic for a cell that has no answer yet: never more than is planned for it."""
        before = self._open[1] if self._open[0] == cell_id else 0.0
        self._open = (cell_id, before + seconds)

    def answered(self, metric: str, cell_id: str) -> None:
        """Count an answer as a whole."""
        if self._left.pop((metric, cell_id), None):
            self._open = ("", 0.0)

    @property
    def done_s(self) -> float:
        """Planned traffic that is behind, seconds; it never goes back."""
        cell_id, open_s = self._open
        most_s = max((left for (_, cell), left in self._left.items() if cell == cell_id), default=0.0)
        done_s = self._planned_s - sum(self._left.values()) + min(open_s, most_s)
        self._most_s = max(self._most_s, done_s)
        return self._most_s

    @property
    def elapsed_s(self) -> float:
        """Wall seconds since the start."""
        return self._clock() - self._started

    @property
    def share(self) -> float:
        """Share of the planned traffic that is behind, 0..1."""
        return min(1.0, self.done_s / self._planned_s) if self._planned_s > 0 else 0.0

    @property
    def total_s(self) -> float | None:
        """Estimated wall seconds of the whole run, `None` while too little is behind to tell."""
        told = self.share >= _LEAST_SHARE or (self.share > 0 and self.elapsed_s >= _LEAST_S)
        return self.elapsed_s / self.share if told else None

    def __str__(self) -> str:
        """Format as `[ 12 %  0:23 of about 3:10]`."""
        total = clock_text(self.total_s) if self.total_s is not None else "?"
        return f"[{self.share:4.0%}  {clock_text(self.elapsed_s)} of about {total}]"


class LineDisplay:
    """What is noted (a line a cell) and a heartbeat; for logs and plain `robot`.

    `verbose` shows a line for each trial too; `alone` says that nobody else writes between the lines.
    """

    def __init__(
        self,
        stream: TextIO | None = None,
        estimate: Estimate | None = None,
        *,
        verbose: bool = False,
        alone: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._stream = stream
        self._alone = alone
        self._fresh = not alone
        self._verbose = verbose
        self._clock = clock
        self._spoken_s = clock()
        self.estimate = estimate or Estimate()

    def _print(self, text: str) -> None:
        # Robot replaces sys.stdout while a keyword runs; a person looks at the real one.
        stream = self._stream or sys.__stdout__
        if stream is None or stream.closed:
            return
        stream.write(("\n" if self._fresh else "") + text + "\n")
        stream.flush()
        self._fresh = False
        self._spoken_s = self._clock()

    def fresh_line(self) -> None:
        """Somebody else has begun a line: start the next one of ours on a new line."""
        self._fresh = not self._alone

    def note(self, text: str) -> None:
        """Show one line that is no trial."""
        self._print(f"  {text}")

    @contextmanager
    def trial(self, cell_id: str, phase: str, spec: Spec) -> Iterator[None]:
        """Cover the time of one trial; in a long one say every ten seconds that it is alive."""
        stop = threading.Event()

        def beat() -> None:
            begun = time.monotonic()
            while not stop.wait(HEARTBEAT_S):
                spent = clock_text(time.monotonic() - begun)
                self._print(
                    f"  {self.estimate} {cell_id}: {phase} at {spec.load:,} {spec.unit}, "
                    f"{spent} of {clock_text(spec.duration_s)}"
                )

        thread = threading.Thread(target=beat, daemon=True, name="progress")
        if spec.duration_s > HEARTBEAT_S:
            thread.start()
        try:
            yield
        finally:
            stop.set()
            if thread.is_alive():
                thread.join(1.0)
            self.estimate.sent(cell_id, spec.duration_s)

    def result(self, cell_id: str, phase: str, sequence: int, text: str, bounds: str) -> None:
        """Show a finished trial when all are shown, or as sign of life after a silence."""
        if self._verbose:
            self._print(f"  {self.estimate} {cell_id}: trial {sequence} {phase:<12} {text}; bounds {bounds}")
        elif self._silent_s() >= HEARTBEAT_S:
            self._print(f"  {self.estimate} {cell_id}: {phase}, trial {sequence}; bounds {bounds}")

    def _silent_s(self) -> float:
        return self._clock() - self._spoken_s

    def close(self) -> None:
        """End the display."""


class LiveDisplay(LineDisplay):
    """A live bar with the running trial beneath the lines; for a terminal. The bar is the sign of life."""

    def __init__(
        self, console: Console | None = None, estimate: Estimate | None = None, *, verbose: bool = False
    ) -> None:
        super().__init__(estimate=estimate, verbose=verbose, alone=True)
        self._console = console or Console(file=sys.__stdout__)
        self._progress = Progress(
            SpinnerColumn(),
            BarColumn(bar_width=16),
            TextColumn("{task.description}", table_column=Column(no_wrap=True, overflow="ellipsis", ratio=1)),
            console=self._console,
            expand=True,  # what has no room is cut from the words, never from the bar
            transient=True,
            refresh_per_second=2,  # choice: cheap enough not to disturb the DUT's CPU
        )
        self._task = self._progress.add_task("starting", total=1.0)
        self._progress.start()

    def _print(self, text: str) -> None:
        self._progress.console.print(text, markup=False, highlight=False, soft_wrap=True)

    @contextmanager
    def trial(self, cell_id: str, phase: str, spec: Spec) -> Iterator[None]:
        """Cover the time of one trial; the bar says what runs."""
        running = f"{cell_id}: {phase} at {spec.load:,} {spec.unit} for {spec.duration_s:g} s"
        self._progress.update(
            self._task, completed=self.estimate.share, description=f"{self.estimate} {running}"
        )
        try:
            yield
        finally:
            self.estimate.sent(cell_id, spec.duration_s)
            self._progress.update(self._task, completed=self.estimate.share)

    def _silent_s(self) -> float:
        return 0.0

    def close(self) -> None:
        """End the display and leave the lines."""
        self._progress.stop()


def open_display(console: str, *, verbose: bool = False) -> LineDisplay:
    """Open the display that the settings name, `lines`, `alone` or `live`; `verbose` shows every trial."""
    if console == "live":
        return LiveDisplay(verbose=verbose)
    return LineDisplay(verbose=verbose, alone=console == "alone")
