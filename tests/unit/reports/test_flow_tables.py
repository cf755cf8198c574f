"""Throughputs by the number of flows stand in one table and one plot: entries that stand, and that expire."""

from dataclasses import replace

from made_parts import Maker, cell, header

from bmwg.methodology.benchmarks import flow_scale
from bmwg.methodology.records import Outcome, OutcomeType, Quantity
from bmwg.reports.render.blocks import Grid, flat
from bmwg.reports.render.facts import facts
from bmwg.reports.render.plots.flow_changes_plot import flow_scale_plot
from bmwg.reports.render.sections.vsperf_tables import scaled
from bmwg.reports.store import RunStore, read_run

ENTRIES = {flow_scale.METRIC: "stand", flow_scale.EXPIRING_METRIC: "expire and are given again"}


def test_a_row_says_whether_entries_stand_or_expire_and_the_plot_has_a_line_for_each(tmp_path):
    with RunStore.create(tmp_path, "run", header()) as store:
        maker = Maker(store)
        for metric in ENTRIES:
            for flows in (64_000, 1_000):
                one = replace(cell("switch", "none", hosting="baremetal"), function="ovs-dpdk", flows=flows)
                seqs, low, high = maker.search(one, 400_000, 1_000_000)
                store.add_outcome(
                    Outcome(
                        outcome_id=f"LTD-FLOWS-1.1:{metric}:{flows}",
                        metric=metric,
                        cell=one,
                        type=OutcomeType.MEASURED,
                        values=(Quantity(metric=metric, number=low.load_fps, unit="frames/s"),),
                        lower=low,
                        upper=high,
                        trials=tuple(seqs),
                    )
                )
    found = facts(read_run(store.folder))
    (table,) = (one for one in flat(scaled(found)) if isinstance(one, Grid))
    rows = [dict(zip(table.head, map(str, row), strict=True)) for row in table.rows]
    assert [(row["flows with an entry"], row["entries"]) for row in rows] == [
        (flows, words) for flows in ("1,000", "64,000") for words in ENTRIES.values()
    ]
    plot = flow_scale_plot(found)
    assert plot is not None
    assert "entries expire" in plot.svg
