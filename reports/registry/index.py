"""The index page of a registry, computed from its bundles: a submission with findings is not listed as
published.
"""

from __future__ import annotations

from bmwg.reports.registry.check import Checked, published
from bmwg.reports.registry.entry import Entry
from bmwg.reports.render.blocks import Block, Part, Rich, link, paragraph, table, title
from bmwg.reports.render.text import NONE
from bmwg.reports.submissions.names import shown
from bmwg.reports.submissions.standing import PROVES


def index_page(checked: Checked) -> list[Block]:
    """Return the page, the same for the same registry."""
    lines = title("Published benchmark submissions", 0)
    good = published(checked)
    lines += paragraph(
        f"{len(good)} of {len(checked.entries)} submissions verify and keep to the convention. "
        "Verified is that every number follows from the recorded trials; who forges trials with the key "
        "at hand is not found by that. Each has a page that this registry rendered itself."
    )
    said = "By product, function, network option, profile and level: "
    lines += paragraph(Rich(Part(text=said), *link("search", "pages/search.html").parts, Part(text=".")))
    lines += title("Submissions")
    head = [
        "organization",
        "product",
        "version",
        "toolkit",
        "profile",
        "run",
        "level",
        "grades",
        "state",
        "folder",
    ]
    lines += table(head, map(_row, good)) or paragraph("None.")
    lines += _levels(good)
    lines += title("Announced runs without a bundle")
    rows = [[organization, run.run_id, run.words] for organization, run in checked.unsubmitted]
    lines += table(["organization", "run", "what was said of it"], rows) or paragraph("None is known.")
    if checked.findings:
        lines += title("Findings")
        rows = [
            [finding.rule_id, finding.place, finding.expected, finding.found] for finding in checked.findings
        ]
        lines += table(["rule", "where", "expected", "found"], rows)
    return lines


def _levels(good: list[Entry]) -> list[Block]:
    """Say what each level proves, and of each entry why it has no higher one."""
    lines = title("Levels")
    lines += table(["level", "what it proves"], [[level.value, text] for level, text in PROVES.items()])
    rows = [
        [entry.place, standing.level.value, standing.why_not or NONE]
        for entry in good
        if entry.examined and (standing := entry.examined.standing)
    ]
    return lines + table(["submission", "level", "why no higher one"], rows)


def _row(entry: Entry) -> list[str]:
    seen = entry.examined
    if seen is None:
        return [entry.organization, *[NONE] * 8, entry.place]
    given = [
        one for one in seen.grades if one[2] not in ("not assessed", "coverage", "counted", "not graded")
    ]
    grades = "; ".join(f"{document} {benchmark}: {grade}".strip() for document, benchmark, grade in given)
    texts = (
        shown(seen.organization),
        shown(seen.product),
        seen.version,
        seen.toolkit_version,
        seen.profile,
        seen.run_id,
    )
    return [
        *texts,
        seen.standing.level.value if seen.standing else NONE,
        grades or NONE,
        "; ".join(seen.state) or NONE,
        link(entry.place, entry.page),
    ]
