"""The line of a cell on the console says what the report says."""

from dataclasses import replace

from bmwg.methodology.records import Bound, Cell, Outcome, OutcomeType, Quantity
from bmwg.resources.outcomes import answer_line

METRIC = "throughput.rfc2544_26_1"
NARROW = Outcome(
    outcome_id="x",
    metric=METRIC,
    cell=Cell(path="pvp", hosting="pod", function="kernel-l3", network="bridge", frame_octets=64),
    type=OutcomeType.MEASURED,
    values=(Quantity(metric=METRIC, number=400_000, unit="frames/s"),),
    lower=Bound(load_fps=400_000, trials=(1,)),
    upper=Bound(load_fps=410_000, trials=(2,)),
)


def test_the_number_of_a_wide_interval_does_not_stand_alone_on_the_console():
    assert answer_line(NARROW).endswith("measured 400,000 frames/s")
    wide = replace(NARROW, upper=Bound(load_fps=500_000, trials=(2,)))
    assert answer_line(wide).endswith("measured 400,000 frames/s, loss from 500,000 frames/s on")


def test_what_is_no_number_is_told_by_its_statement():
    one = replace(
        NARROW, type=OutcomeType.UNSTABLE, values=(), statement="no loss up to 1 frames/s", reason="made"
    )
    assert answer_line(one).endswith("unstable no loss up to 1 frames/s")
    assert answer_line(replace(one, statement="")).endswith("unstable made")
