"""Writes the report of a run, from the run alone: the same run gives the same octets."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from bmwg.reports.render.blocks import Block
from bmwg.reports.render.facts import Facts, facts
from bmwg.reports.render.forms.html import html
from bmwg.reports.render.forms.mail import mail_text
from bmwg.reports.render.forms.markdown import markdown
from bmwg.reports.render.forms.rfcxml import rfcxml
from bmwg.reports.render.forms.rst import restructured
from bmwg.reports.render.page.beside import FILES as BESIDE
from bmwg.reports.render.page.beside import REPORT, joined, links
from bmwg.reports.render.page.page import PLOT_FOLDER, page, pages, whole
from bmwg.reports.render.plots.drawing import Plot, alone
from bmwg.reports.render.plots.plots import plots
from bmwg.reports.render.sections.grades import read_judged
from bmwg.reports.render.sections.results import SIMULATED
from bmwg.reports.store.files import not_written, write_atomically

HTML_FILE = REPORT
PAGES = (HTML_FILE, *BESIDE)
TEXT_FILE = "report.rst"
FILES = {  # of each form that `bmwg report --format` names
    "html": HTML_FILE,
    "rst": TEXT_FILE,
    "text": "report.txt",
    "md": "report.md",
    "rfcxml": "report.rfc.xml",
}


def write_report(run_dir: Path) -> Path:
    """Write `report.html`, the pages beside it, `report.rst` and `plots/*.svg` into the run folder.

    Return the page's path. A page of which this run has nothing is taken away where one was left.
    Raises ConfigError when the run cannot be read, TestbedError STORE-08 when the folder cannot be written.
    """
    return report_of(run_dir)[0]


def report_of(run_dir: Path) -> tuple[Path, Facts]:
    """Write what `write_report` does; return the page's path, and the run as it was read for it."""
    told = facts(*read_judged(run_dir))
    made = {plot.name: plot for plot in plots(told)}
    besides = pages(told, made.values())
    report = page(told, made.values(), links=links(besides))
    text = restructured(joined(report, besides))
    files = {beside.file: html(beside.page(told.run.run_id), made) for beside in besides}
    files[HTML_FILE] = html(report, made)
    _write_plots(told, made)
    write_atomically(run_dir / TEXT_FILE, text.encode("utf-8"))
    for name in PAGES:
        if name in files:
            write_atomically(run_dir / name, files[name].encode("utf-8"))
        else:
            (run_dir / name).unlink(missing_ok=True)
    _let_caller_read(run_dir, files)
    return run_dir / HTML_FILE, told


def _let_caller_read(run_dir: Path, pages_made: Iterable[str]) -> None:
    """Let the group of who called root by sudo read the pages: a browser does not run as root.

    Nothing else of the folder is opened, and nobody else may write there.
    """
    group = os.environ.get("SUDO_GID", "")
    if os.geteuid() != 0 or not group.isdecimal():
        return
    for path, mode in ((run_dir, 0o710), *((run_dir / name, 0o640) for name in pages_made)):
        os.chown(path, -1, int(group))
        path.chmod(mode)


def _write_plots(told: Facts, made: Mapping[str, Plot]) -> None:
    folder = told.run.folder / PLOT_FOLDER
    words = SIMULATED if told.run.simulated else ""
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise not_written(folder, error) from error
    for plot in made.values():
        write_atomically(folder / f"{plot.name}.svg", alone(plot, words).encode("utf-8"))


def write_form(run_dir: Path, form: str) -> Path:
    """Write the report in one of `FILES` and return its path; plots are written for the forms that show them.

    Raises as `write_report` does, and LookupError for a form that there is not.
    """
    file = run_dir / FILES[form]
    if form in ("html", "rst"):
        write_report(run_dir)
        return file
    told = facts(*read_judged(run_dir))
    made = {plot.name: plot for plot in plots(told)} if form == "md" else {}
    if made:
        _write_plots(told, made)
    write_atomically(file, form_of(whole(told, made.values()), form, told.run.run_id).encode("utf-8"))
    return file


def form_of(blocks: Sequence[Block], form: str, name: str, figures: Mapping[str, Plot] | None = None) -> str:
    """Return a page in one of the forms; `figures` are drawn by HTML alone, by name.

    `name` parts the anchors of RFCXML sections.
    """
    match form:
        case "rst":
            return restructured(blocks)
        case "html":
            return html(blocks, figures or {})
        case "text":
            return mail_text(blocks)
        case "md":
            return markdown(blocks)
        case "rfcxml":
            return rfcxml(blocks, name)
        case _:
            raise LookupError(f"form {form!r}: expected one of {', '.join(FILES)}")
