"""Puts the page together as reStructuredText: first numbers, then state and evidence, last definitions."""

from __future__ import annotations

from collections.abc import Iterable

from bmwg.reports import rooms
from bmwg.reports.published import ratios as published
from bmwg.reports.render import (
    benchmarks,
    chain_section,
    data_plane,
    declarations,
    evidence,
    factor_section,
    glance,
    grades,
    guard,
    latency_table,
    option_plot,
    parallel_section,
    physical_section,
    results,
    statements,
)
from bmwg.reports.render.drawing import TRANSLATED, Plot
from bmwg.reports.render.facts import Facts
from bmwg.reports.render.text import esc, number_of, title

ROLES = (
    "command",
    "type-measured",
    "type-at-floor",
    "type-at-ceiling",
    "type-tester-limited",
    "type-unstable",
    "type-invalid",
    "type-not-assessed",
)
PLOT_FOLDER = "plots"


def page(facts: Facts, plots: Iterable[Plot], head: Iterable[str] = ()) -> str:
    """Return the whole report as reStructuredText; `head` are lines that stand before all of it."""
    by_name = {plot.name: plot for plot in plots}
    name = esc(f"Benchmark report {facts.run.run_id}")
    lines = ["=" * len(name), name, "=" * len(name), ""]
    for role in ROLES:
        lines += [f".. role:: {role}", ""]
    lines += head
    lines += _first_words(facts)
    lines += glance.glance(facts, _plot(by_name, option_plot.NAME))
    if not facts.outcomes:
        lines += rooms.sections(facts.run, lambda name: _plot(by_name, name))
    lines += ["", ".. contents:: Contents", "   :depth: 1", "   :backlinks: none", ""]
    lines += results.summary(facts)
    lines += grades.grades(facts)
    lines += [*results.throughput(facts), *_plot(by_name, "throughput")]
    lines += statements.statement(facts)
    lines += results.ladder_section(facts)
    lines += [*latency_table.latency(facts), *_plot(by_name, "latency")]
    lines += data_plane.section(facts)
    lines += chain_section.section(facts, _plot(by_name, chain_section.NAME))
    lines += parallel_section.section(facts)
    lines += physical_section.section(facts)
    lines += factor_section.section(facts, _plot(by_name, factor_section.NAME))
    lines += benchmarks.sections(facts, lambda name: _plot(by_name, name))
    if facts.outcomes:
        lines += rooms.sections(facts.run, lambda name: _plot(by_name, name))
    lines += published.published_section(facts.run)
    lines += results.missing(facts)
    lines += statements.matrices(facts)
    lines += evidence.validity(facts)
    lines += evidence.tester(facts)
    if searched := [*_plot(by_name, "search"), *evidence.search(facts)]:
        lines += [*title("Searches as they went", 1), *searched]
    lines += guard.section(facts.run)
    lines += evidence.platform(facts)
    lines += declarations.deviations(facts)
    lines += evidence.reproduction(facts)
    lines += evidence.definitions(facts)
    return "\n".join(lines) + "\n"


def _first_words(facts: Facts) -> list[str]:
    banners = [
        (kind, [f".. container:: banner banner-{kind}", "", f"   {esc(sentence)}", ""])
        for kind, sentence in results.banner(facts)
    ]
    lines = [line for kind, text in banners if kind == results.GUEST_BANNER for line in text]
    lines += [".. class:: lead", "", esc(_what(facts)), ""]
    lines += [line for kind, text in banners if kind != results.GUEST_BANNER for line in text]
    for note in facts.run.notes:
        lines += [".. container:: banner banner-missing", "", f"   {esc(note)}", ""]
    return lines


def _what(facts: Facts) -> str:
    run = facts.run
    told = rooms.summaries(run)
    if told and not run.trials:
        return f"Testbed {run.testbed.get('name', 'without a name')}, profile {run.profile['name']}: {told}."
    paths = ", ".join(dict.fromkeys(outcome.cell.path for outcome in facts.outcomes)) or "no path"
    return (
        f"Testbed {run.testbed.get('name', 'without a name')}, profile {run.profile['name']}: "
        f"{number_of(len(facts.outcomes), 'answer')} from {number_of(len(run.trials), 'trial')} on {paths}"
        f"{f'; {told}' if told else ''}."
    )


def _plot(plots: dict[str, Plot], name: str) -> list[str]:
    """Return a figure, and after it that of translated machines, where there are."""
    return [line for one in (name, name + TRANSLATED) if one in plots for line in _figure(plots[one])]


def _figure(plot: Plot) -> list[str]:
    return [
        "",
        f".. figure:: {PLOT_FOLDER}/{plot.name}.svg",
        f"   :alt: {esc(plot.title)}",
        "",
        f"   {esc(plot.title)}. {esc(plot.description)}",
        "",
    ]
