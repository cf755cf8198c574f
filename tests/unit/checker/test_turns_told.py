"""The report's tables of RFC 2889: each turn of a search of a table, and what all ports offer together."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from cases_rfc2889 import LEARNING, MANY, TABLE

from bmwg.methodology.benchmarks.address_table import ASK
from bmwg.methodology.benchmarks.caching_capacity import METRIC
from bmwg.reports.render.facts import Facts, facts
from bmwg.reports.render.sections import switch_turns
from bmwg.reports.store import read_run


def facts_of(make: object) -> Facts:
    return facts(read_run(Path(make().files.where)))


def rows_of(blocks: object) -> list[tuple[str, ...]]:
    rows = []
    for block in blocks:
        rows += [tuple(map(str, row)) for row in getattr(block, "rows", ())]
        rows += rows_of(getattr(block, "inside", ()))
    return rows


@pytest.mark.parametrize(
    ("make", "section"), [(TABLE, switch_turns.capacity_turns), (LEARNING, switch_turns.rate_turns)]
)
def test_each_turn_has_a_row_with_its_floods(make, section):
    found = facts_of(make)
    asked = [trial for trial in found.run.trials if trial.phase == ASK]
    rows = rows_of(section(found))
    assert [row[0] for row in rows] == [str(trial.seq) for trial in asked]
    for row, trial in zip(rows, asked, strict=True):
        streams = found.counts(trial.seq).result.streams
        assert row[1] == f"{trial.spec.pattern.destinations:,}"
        assert row[4] == f"{streams[1].sent_frames:,}"
        assert row[7] == f"{sum(one.flooded_frames for one in streams[2:]):,}"
        assert row[8] == f"{streams[1].received_frames:,}"


def test_the_last_turns_of_a_capacity_lie_one_address_apart():
    found = facts_of(TABLE)
    (one,) = found.of_metric(METRIC)
    known = {row[1]: row[7] for row in rows_of(switch_turns.capacity_turns(found))}
    learned = int(one.values[1].number)
    assert known[f"{learned:,}"] == "0"
    assert known[f"{learned + 1:,}"] != "0"


def test_what_all_ports_offer_is_their_sum():
    found = facts_of(MANY)
    ((_, _, _, each, senders, whole),) = rows_of(switch_turns.of_all_senders(found))
    (one,) = [one for one in found.of_search() if one.cell.path == "switch"]
    sent = found.counts(one.lower.trials[0]).result
    assert senders == "3"
    assert each.startswith(f"{round(one.values[0].number):,}")
    assert int(whole.split("\u00a0")[0].replace(",", "")) == round(
        sent.sent_frames * sent.spec.load_fps / sent.spec.intended_frames
    )


def test_a_wide_throughput_of_a_pattern_stands_with_its_other_end():
    run = read_run(Path(MANY().files.where))
    (one,) = [one for one in facts(run).of_search() if one.cell.path == "switch"]
    wide = replace(one, upper=replace(one.upper, load_fps=2 * one.lower.load_fps))
    changed = replace(run, outcomes=[wide if each is one else each for each in run.outcomes])
    ((_, _, _, each, _, _),) = rows_of(switch_turns.of_all_senders(facts(changed)))
    assert f"loss from {2 * one.lower.load_fps:,}" in each
