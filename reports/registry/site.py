"""Static pages beside those of the submissions: search, two entries side by side, badges.

Nothing in them is a script: searching is a page whose headings are the values, comparing one page for each
pair of entries of one product. A badge is a drawing with level and date.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from html import escape
from itertools import islice

from bmwg.reports.compare.reproduce import Stated, reproduce
from bmwg.reports.registry.entry import PAGES, Entry
from bmwg.reports.render.blocks import Block, Part, Rich, link, paragraph, role, table, title
from bmwg.reports.render.page.report import form_of
from bmwg.reports.render.text import NONE
from bmwg.reports.submissions.names import shown
from bmwg.reports.submissions.standing import Level

SEARCH = f"{PAGES}/search.html"
_FROM = f"{PAGES}/"  # ways on a page that lies there begin behind it
MAX_PAIRS = (
    200  # choice: pages of two entries; the first in the order of the registry are made, others counted
)
_COLOURS = {
    Level.SELF_DECLARED: "#595959",
    Level.CHALLENGED: "#0b5394",
    Level.WITNESSED: "#0b6e4f",
    Level.REPRODUCED: "#274e13",
}
_CHARACTER, _HEIGHT = 7, 20  # pixels


def site(entries: Iterable[Entry]) -> dict[str, bytes]:
    """Return pages and badges by their way from the registry's root."""
    each = list(entries)
    made = {SEARCH: _page(search_page(each), "search")}
    made |= {
        compare_name(one, other): _page(compare_page(one, other), "compare")
        for one, other in islice(_pairs(each), MAX_PAIRS)
    }
    return made | {entry.badge: badge(entry).encode("ascii") for entry in each}


def badge(entry: Entry) -> str:
    """Return a drawing that says level and date of a submission, and where its run is indicative."""
    standing = entry.examined.standing if entry.examined else None
    level = standing.level if standing else Level.SELF_DECLARED
    shortened = any(one.startswith("indicative") for one in entry.examined.state) if entry.examined else False
    said = f"{level.value} {entry.accepted[:10]}".strip() + (", indicative" if shortened else "")
    texts = ("bmwg", said)
    widths = [_CHARACTER * len(text) + 12 for text in texts]
    label = escape(" ".join(texts))
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{sum(widths)}" height="{_HEIGHT}" role="img">',
        f"<title>{label}</title>",
        f'<rect width="{widths[0]}" height="{_HEIGHT}" fill="#333333"/>',
        f'<rect x="{widths[0]}" width="{widths[1]}" height="{_HEIGHT}" fill="{_COLOURS[level]}"/>',
        '<g fill="#ffffff" font-family="monospace" font-size="11">',
        f'<text x="6" y="14">{escape(texts[0])}</text>',
        f'<text x="{widths[0] + 6}" y="14">{escape(texts[1])}</text>',
        "</g></svg>",
    ]
    return "".join(parts) + "\n"


def search_page(entries: list[Entry]) -> list[Block]:
    """Return the page on which entries stand by product, function, network option, profile and level."""
    lines = title("Search", 0)
    facets: Mapping[str, Callable[[Entry], Iterable[str]]] = {
        "Product": lambda one: [one.examined.product] if one.examined else [],
        "Network function": lambda one: one.examined.functions if one.examined else [],
        "Network option": lambda one: one.examined.options if one.examined else [],
        "Profile": lambda one: [one.examined.profile] if one.examined else [],
        "Level": lambda one: (
            [one.examined.standing.level.value] if one.examined and one.examined.standing else []
        ),
    }
    for heading, values_of in facets.items():
        lines += title(heading)
        found: dict[str, list[Entry]] = {}
        for entry in entries:
            for value in values_of(entry):
                found.setdefault(value, []).append(entry)
        rows = [[shown(value), _links(found[value])] for value in sorted(found)]
        lines += table([heading.lower(), "submissions"], rows) or paragraph("None.")
    return [*lines, *_side_by_side(entries)]


def _side_by_side(entries: list[Entry]) -> list[Block]:
    """Return links to the pages of two entries of one product, and how many pairs have none."""
    rows = [
        [_links([one]), _links([other]), link("side by side", compare_name(one, other).removeprefix(_FROM))]
        for one, other in islice(_pairs(entries), MAX_PAIRS)
    ]
    lines = title("Two submissions of one product")
    lines += table(["A", "B", ""], rows) or paragraph("None.")
    counts = Counter(entry.examined.product for entry in entries if entry.examined)
    if (more := sum(map(_pairs_of, counts.values())) - MAX_PAIRS) > 0:
        said = f"{more:,} more pairs have no page. Any two bundles are held against each other by "
        command = role("command", "bmwg compare --reproduce A B")
        lines += paragraph(Rich(Part(text=said), *command.parts, Part(text=".")))
    return lines


def _pairs_of(count: int) -> int:
    return count * (count - 1) // 2


def _links(entries: Iterable[Entry]) -> Rich:
    parts: list[Part] = []
    for entry in entries:
        parts += [Part(text="; ")] if parts else []
        name = f"{entry.organization} {entry.name} {entry.toolkit_version}"
        parts += link(name, entry.page.removeprefix(_FROM)).parts
    return Rich(*parts)


def _pairs(entries: list[Entry]) -> Iterator[tuple[Entry, Entry]]:
    """Give each two entries of one product, in the order of the registry."""
    later: dict[str, deque[Entry]] = {}
    for entry in entries:
        if entry.examined:
            later.setdefault(entry.examined.product, deque()).append(entry)
    for entry in entries:
        if entry.examined:
            others = later[entry.examined.product]
            others.popleft()  # itself
            yield from ((entry, other) for other in others)


def compare_name(one: Entry, other: Entry) -> str:
    """Return the way of the page of two entries."""
    parts = (f"{entry.toolkit_version}.{entry.organization}.{entry.name}" for entry in (one, other))
    return f"{PAGES}/compare/{'--'.join(parts)}.html"


def compare_page(one: Entry, other: Entry) -> list[Block]:
    """Return two entries side by side: what each states of a figure, and whether these meet."""
    lines = title("Two submissions", 0)
    for name, entry in (("A", one), ("B", other)):
        state = entry.examined.state if entry.examined else ()
        lines += paragraph("; ".join((f"{name}: {entry.place}", *state)))
    first, second = (entry.examined.candidate if entry.examined else None for entry in (one, other))
    if first is None or second is None:
        return lines
    found = reproduce(first.stated, second.stated)
    lines += paragraph(f"All in all: {found.agreement.value}, {found.why}.")
    rows = [
        [
            held.metric,
            held.cell_id,
            _ends(held.first),
            _ends(held.second),
            held.agreement.value,
            held.why or NONE,
        ]
        for held in found.held
    ]
    return [*lines, *table(["metric", "cell", "A", "B", "", "why"], rows)]


def _ends(one: Stated) -> str:
    if one.ends is None:
        return one.why or NONE
    mark = f"{one.mark}: " if one.mark else ""
    return f"{mark}{one.ends[0]:,.10g} to {one.ends[1]:,.10g} {one.unit}"


def _page(blocks: list[Block], name: str) -> bytes:
    return form_of(blocks, "html", name).encode("utf-8")
