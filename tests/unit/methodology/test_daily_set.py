"""Profile vsperf-daily is VSPERF's daily set (LTP 3.3.2): these paths, sizes and tests, and nothing else."""

from bmwg.methodology.benchmarks import flow_scale
from bmwg.methodology.plan import planning
from bmwg.methodology.profiles import load_profile
from bmwg.methodology.records import Direction

TESTS = ("R2544-TPUT-1.1", "R2544-B2B-1.1", "LTD-FLOWS-1.1", "LTD-MATCH-1.12")
SIZES = {64, 128, 512, 1024, 1518}  # ltp-3.3.2


def test_the_daily_set_is_planned_and_nothing_else():
    plan = planning.cells(load_profile("vsperf-daily"), {"ovs-dpdk": None}, test_ids=TESTS)
    assert not [one for one in plan if one.missing]
    found = {(one.test_id, one.cell.path, one.cell.flows) for one in plan}
    expected = {(test, path, 1) for test in TESTS[:2] for path in ("switch", "pvp", "chain")}
    expected |= {("LTD-FLOWS-1.1", "switch", flows) for flows in flow_scale.FLOWS}
    expected.add(("LTD-MATCH-1.12", "switch", 256))
    assert found == expected
    for key in found:
        cells = [one.cell for one in plan if (one.test_id, one.cell.path, one.cell.flows) == key]
        assert {one.frame_octets for one in cells} == SIZES
        assert {one.direction for one in cells} == {Direction.BOTH}
    assert {dict(one.cell.axes).get("chain") for one in plan if one.cell.path == "chain"} == {"a>b"}
