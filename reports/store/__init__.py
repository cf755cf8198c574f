"""The files of a run: written by RunStore as the run goes, read back and checked by read_run."""

from bmwg.reports.store.codec import PlannedCell
from bmwg.reports.store.frame_trials import JournalTrial
from bmwg.reports.store.read import Run, read_run
from bmwg.reports.store.run import RunHeader, RunStore

__all__ = ["JournalTrial", "PlannedCell", "Run", "RunHeader", "RunStore", "read_run"]
