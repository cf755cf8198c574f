"""What a registry publishes of each submission: its own rendering of what verifying found, nothing brought.

`pages/<toolkit version>/<organization>/<product>-<version>-<profile>.html` tells who signed, what that shows,
and each answer of a bundle that verified. It holds what verifying computed anyway, so that `registry check`
makes every page anew at little cost and finds a forged one; the whole report is for who asks for it
(`bmwg verify BUNDLE --report FILE`). A page, a script or an address that somebody brought is never among it.
`generated` gives all files that the registry writes by itself, `strange` what stands in their place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from bmwg.methodology.records import FRAMES_PER_S, Outcome, OutcomeType
from bmwg.reports.registry.check import Checked, published
from bmwg.reports.registry.entry import BUNDLE, GENERATED, PAGES, Entry, Examined, Finding
from bmwg.reports.registry.index import index_page
from bmwg.reports.registry.site import site
from bmwg.reports.render.blocks import Block, items, pairs, paragraph, table, title
from bmwg.reports.render.page.report import form_of
from bmwg.reports.render.sections.common_columns import TYPE_WORDS, remarks_of
from bmwg.reports.render.text import NONE, plain, quantity_text
from bmwg.reports.submissions.names import shown
from bmwg.reports.submissions.standing import lines as level_lines

_SAID = (
    "This page was made by the registry from what verifying a signed bundle found. No page of the "
    "organization stands here. Texts that begin with redacted or sealed were hidden by it. The whole report, "
    "with plots and every trial, is written from the bundle by: bmwg verify BUNDLE --report FILE"
)


def generated(checked: Checked) -> dict[str, bytes]:
    """Return every file that the registry writes, by its way from the root; the same for the same bundles."""
    page = index_page(checked)
    made = {
        name: form_of(page, form, "index").encode("utf-8")
        for name, form in zip(GENERATED, ("md", "html"), strict=True)
    }
    good = published(checked)
    return made | site(good) | {entry.page: entry_page(entry) for entry in good}


def strange(root: Path, render: Callable[[], Mapping[str, bytes]]) -> Iterator[Finding]:
    """REG-17: where the registry has written pages, each is its own rendering and none is somebody's."""
    there = [path for path in (root / PAGES).rglob("*") if path.is_symlink() or not path.is_dir()]
    there += [root / name for name in GENERATED if (root / name).is_symlink() or (root / name).exists()]
    if not there:
        return  # nobody has asked for them yet
    made = render()
    names = {path.relative_to(root).as_posix(): path for path in there}
    for name in sorted(names.keys() | made.keys()):
        path = names.get(name)
        found = ""
        if path is None:
            found = "none"
        elif name not in made:
            found = "a file that the registry did not write"
        elif path.is_symlink() or path.read_bytes() != made[name]:
            found = "another"
        if found:
            yield Finding(
                rule_id="REG-17",
                place=plain(name),
                expected="the registry's own rendering (bmwg registry index)",
                found=found,
            )


def entry_page(entry: Entry) -> bytes:
    """Return the page of one submission: whose it is, what verifying it shows, its grades and answers."""
    seen = entry.examined
    blocks = title(f"{entry.organization} {entry.name}", 0)
    if seen is not None:
        blocks += [*_head(entry, seen), *_answers(seen)]
    return form_of(blocks, "html", "submission").encode("utf-8")


def _head(entry: Entry, seen: Examined) -> list[Block]:
    """Return whose it is, who signed, what that shows and what it does not."""
    levels = level_lines(seen.standing) if seen.standing else []
    rows = [
        ("organization", shown(seen.organization)),
        ("product", shown(seen.product)),
        ("version of the product", seen.version),
        ("profile", seen.profile),
        ("run", seen.run_id),
        ("state", "; ".join(seen.state) or NONE),
        ("bundle", f"{entry.place}/{BUNDLE}"),
    ]
    lines = [*paragraph(_SAID, lead=True), *pairs(rows, "Submission")]
    lines += [*title("What verifying it shows"), *items((*levels, *seen.said))]
    grades = table(["document", "benchmark", "grade"], seen.grades)
    return [*lines, *title("Grades"), *(grades or paragraph("None was given."))]


def _answers(seen: Examined) -> list[Block]:
    """Return each answer of the run with its figures and bounds, and what has to be read with it."""
    rows = [
        [
            answer.metric,
            answer.cell.cell_id,
            TYPE_WORDS[answer.type],
            ": ".join(filter(None, (seen.marks.get(answer.outcome_id, ""), _figures(answer)))),
            "; ".join(remarks_of(answer)),
        ]
        for answer in seen.answers
    ]
    answers = table(["metric", "cell", "type", "figures", "to be read with it"], rows)
    return [*title("Answers"), *(answers or paragraph("None."))]


def _figures(outcome: Outcome) -> str:
    """Return the figures of a measured answer by name, else its statement: no bare figure of another type."""
    if outcome.type is not OutcomeType.MEASURED:
        return outcome.statement
    texts = []
    for value in outcome.values:
        name = value.metric.removeprefix(outcome.metric).lstrip(".")
        texts.append(f"{name} {quantity_text(value.number, value.unit)}".strip())
    ends = (("passed at", outcome.lower), ("failed at", outcome.upper))
    texts += [f"{word} {quantity_text(end.load_fps, FRAMES_PER_S)}" for word, end in ends if end is not None]
    return "; ".join(texts)
