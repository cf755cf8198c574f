"""The pages beside the report: what its answers rest on, which is looked up and not read through."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from bmwg.reports.render.blocks import Block, Contents, Heading, Part, Rich, paragraph, title
from bmwg.reports.render.facts import Facts
from bmwg.reports.render.sections import evidence, grades, guard, matrices, search_tables, vsperf_coverage

REPORT = "report.html"
CLAUSES, MATRICES, SEARCHES, VALIDITY, PLATFORM, DEFINITIONS = FILES = tuple(
    f"report-{name}.html"
    for name in ("clauses", "matrices", "searches", "validity", "platform", "definitions")
)
Figures = Callable[[str], list[Block]]  # a figure by its name, none where there is none


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """One such page: its file beside the report, its title, and its sections."""

    file: str
    title: str
    blocks: tuple[Block, ...]

    def page(self, run_id: str) -> list[Block]:
        """Return the whole page, which leads back to the report."""
        back = Rich(Part(text="Beside the "), Part(text="report", target=REPORT), Part(text=" of this run."))
        sections = sum(isinstance(block, Heading) for block in self.blocks)
        contents = [Contents()] if sections > 2 else []
        return [*title(f"{self.title} of run {run_id}", 0), *paragraph(back), *contents, *self.blocks]


def beside(facts: Facts, figure: Figures) -> tuple[Beside, ...]:
    """Return the pages of which the run has anything."""
    searched = [*figure("search"), *search_tables.search_remarks(facts), *evidence.search(facts)]
    made: Mapping[str, tuple[str, Sequence[Block]]] = {
        CLAUSES: ("Verdicts on clauses", grades.clauses(facts)),
        MATRICES: ("Matrices of RFC 8172", [*matrices.matrices(facts), *vsperf_coverage.coverage(facts)]),
        SEARCHES: ("Searches", [*title("Searches as they went"), *searched] if searched else []),
        VALIDITY: ("Trials that are not valid", evidence.not_valid(facts)),
        DEFINITIONS: ("Definitions", evidence.definitions(facts)),
        PLATFORM: ("Platform", [*guard.coverage_section(facts.run), *evidence.platform(facts)]),
    }
    return tuple(
        Beside(file=file, title=name, blocks=tuple(blocks)) for file, (name, blocks) in made.items() if blocks
    )


def links(pages: Iterable[Beside]) -> tuple[tuple[str, str], ...]:
    """Return titles and files, for the contents of the report."""
    return tuple((page.title, page.file) for page in pages)


def joined(report: Sequence[Block], pages: Iterable[Beside]) -> list[Block]:
    """Return report and pages as one, for the forms that are one file."""
    return [*report, *(block for page in pages for block in page.blocks)]
