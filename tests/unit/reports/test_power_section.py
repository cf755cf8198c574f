"""Power in the report: of the idle machine, at load, for each frame; and why a trial tells none."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from made_parts import Maker, cell, header, result, search_metric

from bmwg.methodology.answers.power import Energy, Lack
from bmwg.methodology.records import Bound, OutcomeType, Quantity, Validity
from bmwg.reports.render.blocks import Grid, Paragraph, flat
from bmwg.reports.render.facts import facts
from bmwg.reports.render.sections.power_section import section
from bmwg.reports.render.text import sequence
from bmwg.reports.store import RunStore, read_run

S = 1_000_000_000


def counts(watts: float, window_s: float = 2.0, **more) -> dict[str, int]:
    energy_uj = round(watts * window_s * 1e6)
    return Energy(window_ns=round(window_s * S), energy_uj=energy_uj, samples=3, **more).counts()


def metered(tmp_path: Path, *, lost: bool = False, idle: dict[str, int] | None = None):
    lack = Energy(window_ns=2 * S, lack=Lack.STOPPED).counts()
    with RunStore.create(tmp_path, "p", header()) as store:
        told = counts(80.0, 60.0) if idle is None else idle
        store.add_driver({"name": "power meter", "meter": "file", "of": "plug of dut1", "idle": told})
        maker = Maker(store)
        maker.measured(
            cell("pvp", "bridge"), 300_000, 1_000_000, used=lack if lost else counts(100.0, wraps=1)
        )
        maker.trial(cell("pvp", "bridge"), 2_000_000, loss_ratio=0.5, used=counts(140.0))
    return list(flat(section(facts(read_run(store.folder)))))


def grid(blocks, caption: str) -> Grid | None:
    return next((one for one in blocks if isinstance(one, Grid) and one.caption == caption), None)


def text(blocks) -> str:
    return " ".join(one.text for one in blocks if isinstance(one, Paragraph))


def test_a_run_without_a_meter_says_nothing_of_power(tmp_path: Path) -> None:
    with RunStore.create(tmp_path, "p", header()) as store:
        Maker(store).measured(cell("pvp", "bridge"), 300_000, 1_000_000)
    assert section(facts(read_run(store.folder))) == []


def test_power_at_load_energy_of_a_frame_and_above_idle(tmp_path: Path) -> None:
    found = metered(tmp_path)
    assert "plug of dut1. Idle: 80.0\u00a0W over 60\u00a0s" in text(found)
    (row,) = grid(found, "Power at the load of each answer").rows
    frames = int(row[1].split("\u00a0")[0].replace(",", ""))
    assert (row[0], row[2]) == ("pvp bridge, 64\u00a0octets", "100.0\u00a0W")
    # each trial lasts 1 s at that load and stands in a window of 2 s
    assert row[3] == f"{200 / frames * 1e6:.3g}\u00a0µJ a frame"
    assert row[4] == f"{40 / frames * 1e6:.3g}\u00a0µJ a frame"
    assert row[5] == "50\u00a0%"
    by_load = grid(found, "Power at the lowest and the highest load of each cell").rows
    assert [one[2] for one in by_load] == ["100.0\u00a0W", "140.0\u00a0W"]
    assert "highest mean power in a trial's window: 140.0\u00a0W, 2,000,000\u00a0frames/s, trial " in text(
        found
    )
    assert "A counter began anew" in text(found)
    assert grid(found, "Trials whose energy is not known") is None


def test_a_burst_is_no_load_of_which_power_is_told(tmp_path: Path) -> None:
    """It is sent at the medium's rate for some milliseconds of its window."""
    one = cell("pvp", "bridge")
    with RunStore.create(tmp_path, "p", header()) as store:
        store.add_driver({"name": "power meter", "meter": "file", "of": "plug", "idle": counts(80.0, 60.0)})
        maker = Maker(store)
        for load, watts in ((1_000, 100.0), (2_000, 120.0)):
            maker.trial(one, load, used=counts(watts))
        made = result(one, 9_000, used=counts(81.0))
        store.append_trial(
            cell_id=one.cell_id,
            deployment_id="pvp-bridge",
            metric="back_to_back",
            test_id="CN-TPUT-PVP",
            phase="burst",
            result=replace(made, spec=replace(made.spec, burst=True)),
            validity=Validity.VALID,
        )
    found = list(flat(section(facts(read_run(store.folder)))))
    by_load = grid(found, "Power at the lowest and the highest load of each cell").rows
    assert [(row[1], row[2]) for row in by_load] == [
        ("1,000\u00a0frames/s", "100.0\u00a0W"),
        ("2,000\u00a0frames/s", "120.0\u00a0W"),
    ]


def test_a_meter_that_stopped_leaves_the_energy_out_and_says_why(tmp_path: Path) -> None:
    idle = Energy(window_ns=60 * S, lack=Lack.BACKWARDS).counts()
    found = metered(tmp_path, lost=True, idle=idle)
    assert "Idle: not assessed, the meter counted backwards" in text(found)
    assert "Not assessed at load" in text(found)
    assert grid(found, "Power at the load of each answer") is None
    (row,) = grid(found, "Trials whose energy is not known").rows
    assert row[0].startswith("the meter told nothing for longer")
    assert int(row[1]) >= 9


def test_a_trial_whose_energy_is_not_known_is_not_named_beside_what_others_took(tmp_path: Path) -> None:
    where, load_fps = cell("pvp", "bridge"), 300_000
    with RunStore.create(tmp_path, "p", header()) as store:
        store.add_driver({"name": "power meter", "meter": "file", "of": "plug", "idle": counts(80.0, 60.0)})
        maker = Maker(store)
        lack = Energy(window_ns=2 * S, lack=Lack.STOPPED).counts()
        seqs = tuple(maker.trial(where, load_fps, used=used) for used in (counts(100.0), lack))
        maker.outcome(
            where,
            search_metric(where),
            OutcomeType.MEASURED,
            values=(Quantity(metric=search_metric(where), number=load_fps, unit="frames/s"),),
            lower=Bound(load_fps=load_fps, trials=seqs),
            trials=seqs,
        )
    (row,) = grid(list(flat(section(facts(read_run(store.folder))))), "Power at the load of each answer").rows
    assert row[-1] == sequence(seqs[:1])
