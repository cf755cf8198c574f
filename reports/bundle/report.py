"""The report of a bundle's run, rendered here from its data alone; one that somebody brought is not read."""

from __future__ import annotations

import tempfile
from pathlib import Path

from bmwg.reports.bundle.archive import Archive
from bmwg.reports.render.page.report import write_report
from bmwg.reports.store.files import write_atomically

_EVIDENCE = ("run.json", "platform.json", "trials.jsonl", "deviations.yaml")


def write_report_of(bundle: Path, to: Path) -> None:
    """Write the page of a bundle's run with its plots inside. Raises as `write_report` does."""
    with tempfile.TemporaryDirectory(prefix="bmwg-report-") as temporary:
        folder = Path(temporary)
        with Archive(bundle) as archive:
            for name in _EVIDENCE:
                if archive.has(name):
                    (folder / name).write_bytes(archive.octets(name))
        write_atomically(to, write_report(folder).read_bytes())
