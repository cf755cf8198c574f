"""The report on chains beside each other, on a made run: none stands behind another."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from made_parts import THROUGHPUT, Maker, cell, header, result

from bmwg.methodology.records import Bound, OutcomeType, Validity
from bmwg.reports.render.page.report import write_report
from bmwg.reports.store import RunStore


def test_each_chain_has_a_row_with_what_it_lost_beside_the_sum(tmp_path: Path) -> None:
    one = replace(cell("parallel", "ptp", axes=(("chains", "a>s+b>s"),)), destination_networks=2)
    with RunStore.create(tmp_path, "one", header()) as store:
        maker = Maker(store)
        whole = result(one, 10_000)
        stream = whole.streams[0]
        lost = 7
        half = stream.sent_frames // 2
        counted = replace(
            whole,
            spec=replace(whole.spec, destination_networks=2),
            streams=(
                replace(
                    stream,
                    received_frames=stream.sent_frames - lost,
                    sent_by_network=(half, stream.sent_frames - half),
                    received_by_network=(half, stream.sent_frames - half - lost),
                ),
            ),
        )
        seq = store.append_trial(
            cell_id=one.cell_id,
            deployment_id="parallel-ptp",
            metric=THROUGHPUT,
            test_id="CN-TPUT-11.1",
            phase="search",
            result=counted,
            validity=Validity.VALID,
            reason="",
        )
        bound = Bound(load_fps=10_000, trials=(seq,))
        maker.outcome(one, THROUGHPUT, OutcomeType.AT_FLOOR, upper=bound, trials=(seq,), reason="made")
    page = write_report(store.folder).read_text(encoding="utf-8")
    section = page[page.index("<h2>Chains beside each other</h2>") :].split("<h2>", 2)[1]
    text = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", section))
    for name, offered, gone in (
        ("all", stream.sent_frames, lost),
        ("a&gt;s", half, 0),
        ("b&gt;s", None, lost),
    ):
        assert re.search(rf" {name} forward ", text), text
        if offered is not None:
            assert re.search(
                rf"{name} forward {offered:,} {offered - gone:,} {gone}".replace(",", ".?"), text
            )


def test_a_run_of_one_chain_at_a_time_has_no_such_section(tmp_path: Path) -> None:
    with RunStore.create(tmp_path, "old", header()) as store:
        Maker(store).measured(cell("pvp", "bridge"), 400_000, 1_400_000)
    assert "Chains beside each other" not in write_report(store.folder).read_text(encoding="utf-8")
