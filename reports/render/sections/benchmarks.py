"""The sections of benchmarks that have a module of their own: each gives its blocks, or none.

A new benchmark's table is a module with a function from facts to blocks, and a line here.
"""

from __future__ import annotations

from collections.abc import Callable

from bmwg.reports.render.blocks import Block
from bmwg.reports.render.facts import Facts
from bmwg.reports.render.sections import (
    burst_interval_table,
    delay_tables,
    frame_loss_table,
    load_profile_table,
    neighbour_table,
    outage_tables,
    rfc9971_items,
    search_tables,
    soak_table,
    switch_tables,
    switch_turns,
    vsperf_defaults,
    vsperf_tables,
)

SECTIONS: tuple[Callable[[Facts], list[Block]], ...] = (
    search_tables.tst009,
    search_tables.mlrsearch,
    rfc9971_items.items,
    search_tables.mixes,
    delay_tables.rfc2544_latency,
    delay_tables.rfc8219_latency,
    delay_tables.delay_variation,
    delay_tables.neighbours,
    frame_loss_table.frame_loss,
    load_profile_table.profiles,
    outage_tables.bursts,
    burst_interval_table.intervals,
    outage_tables.recoveries,
    outage_tables.recoveries_with_latency,
    outage_tables.resets,
    outage_tables.modified,
    soak_table.soak,
    vsperf_tables.of_several,
    vsperf_tables.coupled,
    vsperf_tables.scaled,
    vsperf_tables.matched,
    vsperf_tables.first,
    vsperf_tables.soaks,
    vsperf_defaults.departures,
    switch_turns.of_all_senders,
    neighbour_table.beside,
    switch_tables.forwarding_rates,
    switch_tables.congested,
    switch_tables.capacities,
    switch_turns.capacity_turns,
    switch_tables.learning_rates,
    switch_turns.rate_turns,
    switch_tables.illegal,
    switch_tables.broadcast_latencies,
)


FIGURES = {  # the plot that ends a section
    frame_loss_table.frame_loss: "frame-loss",
    load_profile_table.profiles: "load-profile",
    vsperf_tables.coupled: "flow-changes",
    vsperf_tables.scaled: "flow-scale",
    vsperf_tables.soaks: "soak",
}


def sections(facts: Facts, figure: Callable[[str], list[Block]] = lambda name: []) -> list[Block]:
    """Return the sections of what the run holds; of a benchmark that it does not hold, nothing.

    `figure` gives a plot by its name, none where the form of the report shows none.
    """
    lines: list[Block] = []
    for section in SECTIONS:
        lines += section(facts)
        lines += figure(FIGURES[section]) if section in FIGURES else []
    return lines
