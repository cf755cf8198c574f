"""Profile baseline is RFC 8204's baselines A and B (3.5): what a platform without a vSwitch does for 72 h."""

from bmwg.methodology.measurements.registry import measurement
from bmwg.methodology.plan import planning
from bmwg.methodology.profiles import load_profile
from bmwg.methodology.records import NOTHING

LEAST_S = 72 * 3600  # rfc8204-3.5
TESTS = ("LTD-SOAK-1.1", "LTD-PROF-1.1")  # the rate that holds, and latency with it


def test_each_baseline_is_measured_without_a_switch_for_72_hours():
    profile = load_profile("baseline")
    plan = planning.cells(profile, {"host-device": None}, test_ids=TESTS)
    assert not [one for one in plan if one.missing]
    assert {(one.test_id, one.cell.path, one.cell.network) for one in plan} == {
        (test, *where) for test in TESTS for where in (("node", NOTHING), ("pvp", "host-device"))
    }
    soak = measurement("soak_ltd")
    for one in plan:
        if one.test_id == TESTS[0]:
            assert soak.cost(profile, one.cell, 1_000_000).traffic_s >= LEAST_S
