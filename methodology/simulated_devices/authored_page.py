"""The page of an author's own search and models: beside the toolkit's, on devices of known truth."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from bmwg.methodology.errors import ConfigError
from bmwg.methodology.simulated_devices import misleading
from bmwg.methodology.simulated_devices.algorithms import Algorithm
from bmwg.methodology.simulated_devices.authored import AuthoredSearch, algorithm
from bmwg.methodology.simulated_devices.authored_models import held_scene, told_of
from bmwg.methodology.simulated_devices.markup import Block, Heading, Page, Paragraph, Table
from bmwg.methodology.simulated_devices.page import HELD, SHARED, results, shared, verdict
from bmwg.methodology.simulated_devices.restless import DEVICES, tally
from bmwg.methodology.simulated_devices.study import CASES, SEED, Scene, algorithms, rows, scenes

Within = Callable[[Algorithm], Algorithm]


def _as_it_is(algorithm: Algorithm) -> Algorithm:
    return algorithm


def authored_page(
    searches: Sequence[AuthoredSearch],
    models: Sequence[Scene],
    *,
    cases: int = CASES,
    seed: int = SEED,
    within: Within = _as_it_is,
) -> Page:
    """Compute the page. The same searches, models, cases and seed give the same page.

    Models of the author come first. `within` may bound how long an answer takes: nothing here has a clock.
    Raises ConfigError MTH-05 for a name that is there twice, MTH-06 where a search breaks, MTH-07 where a
    model does.
    """
    _require_names(searches, models)
    own = [within(told_of(algorithm(search))) for search in searches]
    ours = [within(told_of(one)) for one in algorithms()]
    on = [held_scene(model) for model in models]
    first = rows((*on, *scenes()) if own else on, (*own, *ours), cases=cases, seed=seed)
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
        short = misleading.short_searches()
        blocks += [
            Heading(text="Devices that have no rate"),
            Paragraph(
                text="Plain: cases in which a search gave a number without reserve. Wrong: of these, the"
                " numbers whose bounds do not hold the truth of the search's claim, or that were given where"
                " there is none."
            ),
            _restless((*own, *ours), cases, seed),
            Heading(text="Devices that mislead a search"),
            Paragraph(
                text="Each plain number is held against what the device does in trials of"
                f" {misleading.LONG_S:g} s, whatever trials found it; where a device has no rate, every plain"
                " number is wrong."
            ),
            _misled((*own, *short, *misleading.long_searches()), cases, seed),
            Heading(text="What a shared machine leaves"),
            SHARED,
            shared((*own, *short), cases, seed),
        ]
    return Page(title="A method against known truth", blocks=tuple(blocks))


def _require_names(searches: Sequence[AuthoredSearch], models: Sequence[Scene]) -> None:
    """Refuse a name that stands for two things: rows are told apart by it."""
    others = (*algorithms(), *misleading.short_searches(), *misleading.long_searches())
    for kind, names, taken in (
        ("search", [one.name for one in searches], {one.name for one in others}),
        ("model", [one.name for one in models], {one.name for one in scenes()}),
    ):
        for number, name in enumerate(names):
            if name in taken or name in names[:number]:
                raise ConfigError(
                    "MTH-05",
                    f"{kind} {name!r}",
                    expected=f"a name of its own, which no other {kind} of the page has",
                    found="one of the toolkit's" if name in taken else "one that is given twice",
                )


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


def _misled(tried: Sequence[Algorithm], cases: int, seed: int) -> Table:
    lines = []
    for device in misleading.DEVICES:
        for search in tried:
            seen = misleading.misled(device, search, cases=cases, seed=seed)
            lines.append((device, search.name, f"{seen.plain} of {seen.cases}", f"{seen.wrong}"))
    return Table(
        title="Plain numbers to devices that mislead, and wrong ones among them",
        columns=("device", "search", "plain", "wrong"),
        rows=tuple(lines),
    )
