"""What a plan's answers need beside them: the tester's qualifications, and throughputs."""

from bmwg.methodology.plan import planning
from bmwg.methodology.plan.planned_work import answers_needed
from bmwg.methodology.profiles import load_profile

FLOWS = "LTD-FLOWS-1.1"


def planned(*test_ids):
    profile = load_profile("vsperf-daily")
    return profile, planning.cells(profile, {}, test_ids=set(test_ids))


def test_each_traffic_of_a_plan_needs_the_testers_qualification_and_its_time():
    profile, answers = planned(FLOWS)
    needed = answers_needed(profile, answers)
    assert {one.cell for one in needed} == {one.cell.qualification for one in answers}
    assert all(one.traffic_s > 0 for one in needed)


def test_what_a_plan_answers_itself_is_not_needed_beside_it():
    profile, answers = planned(FLOWS)
    needed = answers_needed(profile, answers)
    assert len({one.key for one in needed}) == len(needed)
    assert answers_needed(profile, (*answers, *needed)) == ()
