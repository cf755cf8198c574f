"""The page of an author's own search and models: beside the toolkit's, on devices of known truth."""

from __future__ import annotations

from collections.abc import Sequence

from bmwg.methodology.simulated_devices.algorithms import Algorithm
from bmwg.methodology.simulated_devices.authored import AuthoredSearch, algorithm
from bmwg.methodology.simulated_devices.markup import Block, Heading, Page, Paragraph, Table
from bmwg.methodology.simulated_devices.page import HELD, results, verdict
from bmwg.methodology.simulated_devices.restless import DEVICES, tally
from bmwg.methodology.simulated_devices.study import CASES, SEED, Scene, algorithms, rows, scenes


def authored_page(
    searches: Sequence[AuthoredSearch], models: Sequence[Scene], *, cases: int = CASES, seed: int = SEED
) -> Page:
    """Compute the page. The same searches, models, cases and seed give the same page.

    Models of the author come first. Raises ConfigError MTH-06 where a search breaks.
    """
    own, ours = [algorithm(search) for search in searches], algorithms()
    on = (*models, *scenes()) if own else tuple(models)
    first = rows(on, (*own, *ours), cases=cases, seed=seed)
    names = {search.name for search in own}
    judged = [row for row in first if row.algorithm in names] if own else first
    blocks: list[Block] = [
        Paragraph(
            text=f"{_named(searches, models)}, held by bmwg validate-method against models whose right"
            f" answer is known, beside the toolkit's searches. Computed from seed {seed} with {cases} cases a"
            " row. No packet was sent."
        ),
        Heading(text="Answers"),
        HELD,
        results("Answers against the truth", first),
        Paragraph(text=verdict(judged)),
    ]
    if own:
        blocks += [
            Heading(text="Devices that have no rate"),
            Paragraph(
                text="Plain: cases in which a search gave a number without reserve. Wrong: of these, the"
                " numbers whose bounds do not hold the truth of the search's claim, or that were given where"
                " there is none."
            ),
            _restless((*own, *ours), cases, seed),
        ]
    return Page(title="A method against known truth", blocks=tuple(blocks))


def _named(searches: Sequence[AuthoredSearch], models: Sequence[Scene]) -> str:
    parts = []
    if searches:
        parts.append(f"Search: {', '.join(search.name for search in searches)}")
    if models:
        parts.append(f"Model: {', '.join(scene.name for scene in models)}")
    return "; ".join(parts)


def _restless(tried: Sequence[Algorithm], cases: int, seed: int) -> Table:
    lines = []
    for device, make in DEVICES.items():
        for search in tried:
            seen = tally(make, search, cases=cases, first=seed)
            lines.append(
                (device, search.name, f"{seen.plain} of {seen.cases}", f"{seen.wrong}", f"{seen.trials:g}")
            )
    return Table(
        title="Plain numbers, and wrong ones among them",
        columns=("device", "search", "plain", "wrong", "trials, mean"),
        rows=tuple(lines),
    )
