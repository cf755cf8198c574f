"""Puts the page together: a first page, then chapters; what is looked up stands on pages beside it."""

from __future__ import annotations

from collections.abc import Iterable

from bmwg.reports import rooms
from bmwg.reports.render.blocks import Block, Contents, Figure, banner, title
from bmwg.reports.render.facts import Facts
from bmwg.reports.render.page import beside, first_page, glance
from bmwg.reports.render.plots import headline_plot, option_plot
from bmwg.reports.render.plots.drawing import TRANSLATED, Plot
from bmwg.reports.render.sections import (
    benchmarks,
    chain_section,
    data_plane,
    declarations,
    evidence,
    factor_section,
    function_section,
    grades,
    guard,
    latency_table,
    parallel_section,
    physical_section,
    power_section,
    results,
    statements,
)
from bmwg.reports.render.text import plain

PLOT_FOLDER = "plots"


def pages(facts: Facts, plots: Iterable[Plot]) -> tuple[beside.Beside, ...]:
    """Return the pages beside the report."""
    by_name = {plot.name: plot for plot in plots}
    return beside.beside(facts, lambda name: _plot(by_name, name))


def whole(facts: Facts, plots: Iterable[Plot]) -> list[Block]:
    """Return report and pages as one page, for the forms that are one file."""
    drawn = tuple(plots)
    return beside.joined(page(facts, drawn), pages(facts, drawn))


def page(
    facts: Facts,
    plots: Iterable[Plot],
    links: tuple[tuple[str, str], ...] = (),
) -> list[Block]:
    """Return the report; `links` lead to the pages beside it."""
    by_name = {plot.name: plot for plot in plots}
    lines = title(f"Benchmark report {facts.run.run_id}", 0)
    lines += _first_words(facts)
    lines += first_page.measured(facts)
    lines += glance.glance(facts, _plot(by_name, option_plot.NAME), _plot(by_name, headline_plot.NAME))
    lines += first_page.trust(facts)
    lines += first_page.following(facts)
    lines.append(Contents(links=links))
    if not facts.outcomes:
        lines += rooms.sections(facts.run, lambda name: _plot(by_name, name))
    lines += results.summary(facts)
    lines += grades.grades(facts)
    lines += [*results.throughput(facts), *_plot(by_name, "throughput")]
    lines += statements.statement(facts)
    lines += results.ladder_section(facts)
    lines += [*latency_table.latency(facts), *_plot(by_name, "latency")]
    lines += data_plane.section(facts)
    lines += power_section.section(facts)
    lines += chain_section.section(facts, _plot(by_name, chain_section.NAME))
    lines += function_section.section(facts, _plot(by_name, function_section.NAME))
    lines += parallel_section.section(facts)
    lines += physical_section.section(facts)
    lines += factor_section.section(facts, _plot(by_name, factor_section.NAME))
    lines += benchmarks.sections(facts, lambda name: _plot(by_name, name))
    if facts.outcomes:
        lines += rooms.sections(facts.run, lambda name: _plot(by_name, name))
    lines += results.missing(facts)
    lines += evidence.validity(facts)
    lines += evidence.tester(facts)
    lines += guard.section(facts.run)
    lines += declarations.deviations(facts)
    lines += evidence.reproduction(facts)
    return lines


def _first_words(facts: Facts) -> list[Block]:
    """Return what has to be known before any number: of a guest first."""
    told = sorted(results.banner(facts), key=lambda one: one[0] != results.GUEST_BANNER)
    lines: list[Block] = []
    for kind, sentence in (*told, *(("missing", note) for note in facts.run.notes)):
        lines += banner(kind, sentence)
    return lines


def _plot(plots: dict[str, Plot], name: str) -> list[Block]:
    """Return a figure, and after it that of translated machines, where there are."""
    return [_figure(plots[one]) for one in (name, name + TRANSLATED) if one in plots]


def _figure(plot: Plot) -> Figure:
    caption = plain(f"{plot.title}. {plot.description}")
    return Figure(file=f"{PLOT_FOLDER}/{plot.name}.svg", title=plain(plot.title), caption=caption)
