"""Throughputs by the number of flows stand in one table and one plot: entries that stand, and that expire."""

from dataclasses import replace

import pytest
from made_parts import Maker, cell, header

from bmwg.methodology.benchmarks import flow_changes, flow_scale, match_action
from bmwg.methodology.records import Outcome, OutcomeType, Quantity
from bmwg.reports.render.blocks import Grid, flat
from bmwg.reports.render.facts import facts
from bmwg.reports.render.forms.rst import restructured
from bmwg.reports.render.plots.flow_changes_plot import flow_scale_plot
from bmwg.reports.render.sections.definitions import definition
from bmwg.reports.render.sections.vsperf_tables import scaled
from bmwg.reports.store import RunStore, read_run

ENTRIES = {flow_scale.METRIC: "stand", flow_scale.EXPIRING_METRIC: "expire and are given again"}
BY_GOAL = ".0.1f1.5d0l50e"
HALF = "of the trials of 0.1\u00a0s at that load at most 50\u00a0% may lose a frame"


@pytest.mark.parametrize("behind", ["", BY_GOAL])
def test_a_row_says_whether_entries_stand_or_expire_and_the_plot_has_a_line_for_each(tmp_path, behind):
    with RunStore.create(tmp_path, "run", header()) as store:
        maker = Maker(store)
        for metric in (f"{name}{behind}" for name in ENTRIES):
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
    assert "further" not in plot.description  # all lines are drawn
    assert "a wide interval" in plot.description
    for told in (restructured(scaled(found)), plot.description):
        assert (HALF in told) is bool(behind)
    assert not found.of_search()  # no throughput of its cell, whatever found it


def test_a_metric_of_a_goal_is_defined_by_rfc_9971_and_says_what_may_be_lost():
    plain, by_goal = definition(flow_scale.METRIC), definition(f"{flow_scale.METRIC}{BY_GOAL}")
    assert plain.clause == "LTD 3.2.2.3.1, RFC 2544 section 26.1"
    assert by_goal.clause == "LTD 3.2.2.3.1, RFC 9971 section 4.8.3"
    assert HALF in by_goal.meaning
    assert by_goal.meaning.startswith(plain.meaning)
    sustained = definition(f"{flow_scale.METRIC}{BY_GOAL}.sustained_load")
    assert sustained == definition(f"sustained_load.rfc9971{BY_GOAL}") != plain
    for one in (next(iter(match_action.KNOWN.values())), flow_changes.couplings()[0]):
        mean = definition(f"{one.metric}.latency_mean")
        assert definition(f"{one.metric}{BY_GOAL}.latency_mean") == mean
        assert mean.unit == "ns"
        assert "RFC 9971" in definition(f"{one.metric}{BY_GOAL}").clause
    assert "RFC 9971" in definition(f"conditional_throughput.rfc9971{BY_GOAL}").clause
    assert definition(f"relevant_lower_bound.rfc9971{BY_GOAL}").meaning.startswith("the largest lower bound")
