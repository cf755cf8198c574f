"""What VSPERF's tests had otherwise than its defaults stands in the report, parameter by parameter."""

from dataclasses import replace

from made_parts import THROUGHPUT, Maker, cell, header

from bmwg.methodology.records import Direction, Outcome, OutcomeType, Quantity
from bmwg.reports.render.blocks import Grid, flat
from bmwg.reports.render.facts import facts
from bmwg.reports.render.sections import vsperf_defaults
from bmwg.reports.render.sections.vsperf_defaults import departures
from bmwg.reports.store import RunStore, read_run

SIZES = (64, 128, 256, 512, 1024, 1280, 1518, 2048, 4096)
DEFAULT = replace(cell("switch"), direction=Direction.BOTH, flows=1)


def told(tmp_path, test, *cells):
    """Return the section's blocks, and its rows by parameter."""
    with RunStore.create(tmp_path, "run", header()) as store:
        maker = Maker(store)
        for number, one in enumerate(cells):
            seqs, low, high = maker.search(one, 400_000, 1_000_000)
            store.add_outcome(
                Outcome(
                    outcome_id=f"{test}:{number}",
                    metric=THROUGHPUT,
                    cell=one,
                    type=OutcomeType.MEASURED,
                    values=(Quantity(metric=THROUGHPUT, number=low.load_fps, unit="frames/s"),),
                    lower=low,
                    upper=high,
                    trials=tuple(seqs),
                )
            )
    blocks = departures(facts(read_run(store.folder)))
    grids = [one for one in flat(blocks) if isinstance(one, Grid)]
    return blocks, {row[1]: row[3] for one in grids for row in one.rows}


def test_a_test_with_all_defaults_is_said_to_have_them(tmp_path):
    blocks, rows = told(tmp_path, "LTD-WN-1.1", *(replace(DEFAULT, frame_octets=size) for size in SIZES))
    assert not rows
    assert "Every test had the defaults" in str(blocks)


def test_each_parameter_that_differs_is_told(tmp_path):
    other = replace(DEFAULT, direction=Direction.FORWARD, flows=256, destination_networks=8)
    _, rows = told(tmp_path, "LTD-WN-1.1", DEFAULT, other)
    assert rows == {
        "duplex": "forward",
        "flows": "256",
        "destination networks": "8",
        "frame sizes": "64 octets",
    }


def test_what_a_test_states_itself_is_no_departure(tmp_path):
    """First frames go one way and are of many flows, and a test by the number of flows has that number."""
    many = replace(DEFAULT, flows=1_000)
    _, rows = told(tmp_path / "a", "LTD-FIRST-1.1", replace(many, direction=Direction.FORWARD))
    assert set(rows) == {"frame sizes"}
    _, rows = told(tmp_path / "b", "LTD-FLOWS-1.1", replace(many, direction=Direction.FORWARD))
    assert set(rows) == {"duplex", "frame sizes"}


def test_a_run_without_vsperfs_tests_has_no_such_section(tmp_path):
    assert told(tmp_path, "R2544-TPUT-1.1", DEFAULT) == ([], {})
    assert vsperf_defaults.PREFIX == "LTD-"
