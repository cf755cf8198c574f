"""Writes the report of a run, from the run alone: the same run gives the same octets."""

from __future__ import annotations

from pathlib import Path

from bmwg.reports.render.facts import facts
from bmwg.reports.render.html import html
from bmwg.reports.render.page import PLOT_FOLDER, page
from bmwg.reports.render.plots import plots
from bmwg.reports.store import read_run
from bmwg.reports.store.files import not_written, write_atomically

HTML_FILE = "report.html"
TEXT_FILE = "report.rst"


def write_report(run_dir: Path) -> Path:
    """Write `report.html`, `report.rst` and `plots/*.svg` into the run folder; return the page's path.

    Raises ConfigError when the run cannot be read, TestbedError STORE-08 when the folder cannot be written.
    """
    told = facts(read_run(run_dir))
    made = {plot.name: plot for plot in plots(told)}
    text = page(told, made.values())
    content = html(text, made)
    folder = run_dir / PLOT_FOLDER
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise not_written(folder, error) from error
    for plot in made.values():
        write_atomically(folder / f"{plot.name}.svg", plot.svg.encode("utf-8"))
    write_atomically(run_dir / TEXT_FILE, text.encode("utf-8"))
    write_atomically(run_dir / HTML_FILE, content.encode("utf-8"))
    return run_dir / HTML_FILE
