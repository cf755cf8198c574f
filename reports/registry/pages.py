"""What a registry publishes of each submission: its own rendering of the bundle's data, nothing brought.

`pages/<toolkit version>/<organization>/<product>-<version>-<profile>.html` is rendered here from the trials
and records of a bundle that verified; a page, a script or an address that somebody brought is never among it.
`generated` gives all files that the registry writes by itself, `strange` what stands in their place.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from bmwg.reports.bundle.archive import Archive
from bmwg.reports.registry.check import Checked, published
from bmwg.reports.registry.entry import BUNDLE, GENERATED, PAGES, Entry, Finding
from bmwg.reports.registry.index import index_page
from bmwg.reports.registry.site import site
from bmwg.reports.render.blocks import Block, items, pairs, paragraph, title
from bmwg.reports.render.report import form_of, html_of
from bmwg.reports.render.text import NONE, plain
from bmwg.reports.submissions.names import shown
from bmwg.reports.submissions.standing import lines as level_lines

_EVIDENCE = ("run.json", "platform.json", "trials.jsonl", "deviations.yaml")


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
    """Return the page of one submission."""
    with tempfile.TemporaryDirectory(prefix="bmwg-registry-") as temporary:
        folder = Path(temporary) / "run"
        folder.mkdir()
        with Archive(entry.folder / BUNDLE) as archive:
            for name in _EVIDENCE:
                if archive.has(name):
                    (folder / name).write_bytes(archive.octets(name))
        text = html_of(folder, head=_head(entry))
    return text.encode("utf-8")


def _head(entry: Entry) -> list[Block]:
    """Return what stands before the report: whose it is, who signed, what that shows and what it does not."""
    seen = entry.examined
    if seen is None:
        return []
    levels = level_lines(seen.standing) if seen.standing else []
    rows = [
        ("organization", shown(seen.organization)),
        ("product", shown(seen.product)),
        ("version of the product", seen.version),
        ("run", seen.run_id),
        ("state", "; ".join(seen.state) or NONE),
        ("bundle", f"{entry.place}/{BUNDLE}"),
    ]
    said = (
        "This page was rendered by the registry from the trials and records of a signed bundle. "
        "No page of the organization stands here. It hid the texts that begin with redacted or sealed."
    )
    lines = [*paragraph(said, lead=True), *pairs(rows, "Submission")]
    return [*lines, *title("What verifying it shows"), *items((*levels, *seen.said))]
