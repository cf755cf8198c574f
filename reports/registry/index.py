"""The index page of a registry, computed from its bundles: a submission with findings is not listed as
published.
"""

from __future__ import annotations

from bmwg.reports.registry.check import Checked, published
from bmwg.reports.registry.entry import Entry
from bmwg.reports.render.text import NONE, esc, table, title
from bmwg.reports.submissions.names import shown
from bmwg.reports.submissions.standing import PROVES


def index_page(checked: Checked) -> str:
    """Return the page as reStructuredText, the same for the same registry."""
    name = "Published benchmark submissions"
    lines = ["=" * len(name), name, "=" * len(name), ""]
    good = published(checked)
    lines += [
        esc(
            f"{len(good)} of {len(checked.entries)} submissions verify and keep to the convention. "
            "Verified is that every number follows from the recorded trials; who forges trials with the key "
            "at hand is not found by that. Each has a page that this registry rendered itself."
        ),
        "",
    ]
    lines += ["By product, function, network option, profile and level: `search <pages/search.html>`__.", ""]
    lines += title("Submissions", 1)
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
    lines += table(head, map(_row, good)) or ["None.", ""]
    lines += _levels(good)
    lines += title("Announced runs without a bundle", 1)
    rows = [[esc(organization), esc(run.run_id), esc(run.words)] for organization, run in checked.unsubmitted]
    lines += table(["organization", "run", "what was said of it"], rows) or ["None is known.", ""]
    if checked.findings:
        lines += title("Findings", 1)
        rows = [
            [esc(one.rule_id), esc(one.place), esc(one.expected), esc(one.found)] for one in checked.findings
        ]
        lines += table(["rule", "where", "expected", "found"], rows)
    return "\n".join(lines) + "\n"


def _levels(good: list[Entry]) -> list[str]:
    """Say what each level proves, and of each entry why it has no higher one."""
    lines = title("Levels", 1)
    lines += table(
        ["level", "what it proves"], [[esc(level.value), esc(text)] for level, text in PROVES.items()]
    )
    rows = [
        [esc(one.place), esc(standing.level.value), esc(standing.why_not or NONE)]
        for one in good
        if one.examined and (standing := one.examined.standing)
    ]
    return lines + table(["submission", "level", "why no higher one"], rows)


def _row(entry: Entry) -> list[str]:
    seen = entry.examined
    if seen is None:
        return [esc(entry.organization), *[NONE] * 8, esc(entry.place)]
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
        *(esc(text) for text in texts),
        esc(seen.standing.level.value if seen.standing else NONE),
        esc(grades or NONE),
        esc("; ".join(seen.state) or NONE),
        f"`{esc(entry.place)} <{entry.page}>`__",
    ]
