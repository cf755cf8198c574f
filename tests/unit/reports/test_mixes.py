"""A mix of frame sizes on the page: its limits are those of the mix, not of its largest frame."""

from types import SimpleNamespace

from made_parts import THROUGHPUT, Clock, Maker, cell, header

from bmwg.methodology.records import Bound, Outcome, OutcomeType, Quantity
from bmwg.methodology.trial.medium import cell_fps, ethernet_fps
from bmwg.reports.render.facts import facts
from bmwg.reports.render.forms.rst import restructured
from bmwg.reports.render.sections.results import throughput
from bmwg.reports.render.sections.statements import statement
from bmwg.reports.store import RunStore, read_run
from bmwg.reports.verify.tester_limits import envelope_respected

RATE = 10**9
MIX = cell("node", octets=1518, imix="7a4d1g")


def test_the_theoretical_limit_of_a_mix_is_that_of_the_mix(tmp_path):
    """RFC2544-26.1-08 and RFC 6985: a mix of small frames passes the limit of its largest one."""
    value = Quantity(metric=THROUGHPUT, number=200_000, unit="frames/s")
    with RunStore.create(tmp_path, "made", header(line_rate_bps=RATE), clock=Clock()) as store:
        maker = Maker(store)
        seq = maker.trial(MIX, 200_000)
        bound = Bound(load_fps=200_000, trials=(seq,))
        maker.outcome(MIX, THROUGHPUT, OutcomeType.MEASURED, values=(value,), lower=bound, trials=(seq,))
    told = facts(read_run(tmp_path / "made"))
    limit = f"{cell_fps(RATE, MIX):,}"
    assert limit != f"{ethernet_fps(RATE, 1518):,}"
    for section in (throughput, statement):
        page = restructured(section(told))
        assert limit in page
        assert f"{ethernet_fps(RATE, 1518):,}" not in page
        assert "up to 1,518" in page


def test_a_number_of_a_mix_at_the_envelope_is_no_plain_number():
    """Design decision 4: only the medium's full rate is one, and a mix has another than its largest frame."""
    value = Quantity(metric=THROUGHPUT, number=200_000, unit="frames/s")
    one = Outcome(
        outcome_id="T", metric=THROUGHPUT, cell=MIX, type=OutcomeType.MEASURED, values=(value,), trials=(1,)
    )
    evidence = SimpleNamespace(
        run={"medium": {"line_rate_bps": RATE}}, outcomes=(one,), envelope_fps=lambda _: 200_000
    )
    assert [found[0] for found in envelope_respected.check(evidence)] == ["T"]
