"""A guest has less memory or a second CPU while it routes, and then not: by real QEMU and real frames."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.contract.acts_support import executed
from tests.needs_guest import booting

from bmwg.drivers.machines import moving_machine
from bmwg.drivers.paths.pvp_moving import MEMORY_OCTETS
from bmwg.drivers.workload import guest_resizes
from bmwg.drivers.workload.guest_resizes import LESS_OCTETS, GuestCpus, GuestResizes
from bmwg.methodology.kinds.acts import profile
from bmwg.methodology.kinds.acts.kind import ACTS
from bmwg.methodology.kinds.acts.proofs import contradictions
from bmwg.methodology.kinds.acts.records import CPUS, MEMORY, SIZE_REACHED, ActsResult, ActsSpec
from bmwg.methodology.records import Validity

pytestmark = [pytest.mark.slow, pytest.mark.root, booting()]
PLAN = {
    (one.spec.mode, one.spec.beside): one
    for one in profile.PROFILES.load("resize").plan()
    if one.test_id == "LC-RESIZE-1"
}


@pytest.fixture
def resized(tmp_path):
    def run(mode: str = MEMORY, **changes) -> tuple[ActsSpec, ActsResult]:
        planned = PLAN[mode, ""]
        spec = replace(planned.spec, number=1, **changes)
        found = executed(GuestResizes, planned, spec, tmp_path)
        assert contradictions(spec, found) == ()
        return spec, found

    return run


def test_a_guest_hands_memory_back_and_takes_it_again_and_frames_go_on(resized) -> None:
    spec, found = resized()
    assert found.faults == ()
    # on a machine that took the runner's CPU away frames were not offered all the time: said, no wrong time
    assert ACTS.assessed(spec, found).validity in (Validity.VALID, Validity.INCOMPLETE)
    less, back = found.lives
    print([(one.start_ns, dict(one.steps), dict(one.told), one.lost_frames) for one in found.lives])
    assert (less.told["had_octets"], less.told["actual_octets"]) == (MEMORY_OCTETS, LESS_OCTETS)
    assert (back.told["had_octets"], back.told["actual_octets"]) == (LESS_OCTETS, MEMORY_OCTETS)
    for life in found.lives:
        assert life.told["forwarded_frames"] > 0
        assert life.first_frame_ns >= life.steps[SIZE_REACHED] >= life.steps["size_asked"]


def test_a_size_with_which_no_guest_lives_is_not_reached_and_named(resized, monkeypatch) -> None:
    monkeypatch.setattr(guest_resizes, "LESS_OCTETS", 4 << 20)
    _, found = resized(first_frame_s=15.0)
    (fault,) = found.faults
    assert "RESIZE-01" in fault
    assert f"of {MEMORY_OCTETS} before" in fault
    assert "frames were lost meanwhile, all come again" in fault
    assert found.lives == ()


def test_a_guest_gets_a_second_cpu_and_lets_it_go_and_frames_go_on(resized) -> None:
    spec, found = resized(CPUS)
    assert found.faults == ()
    assert ACTS.assessed(spec, found).validity in (Validity.VALID, Validity.INCOMPLETE)
    more, back = found.lives
    print([(one.start_ns, dict(one.steps), dict(one.told), one.lost_frames) for one in found.lives])
    assert (more.told["had_cpus"], more.told["actual_cpus"]) == (1, 2)
    assert (back.told["had_cpus"], back.told["actual_cpus"]) == (2, 1)
    assert all(life.told["forwarded_frames"] > 0 for life in found.lives)


def test_more_cpus_than_the_machine_may_have_are_refused_and_the_guest_routes_on(
    resized, monkeypatch
) -> None:
    real = GuestCpus.ask
    monkeypatch.setattr(GuestCpus, "ask", lambda self, size: real(self, size if size == 1 else 3))
    _, found = resized(CPUS)
    (fault,) = found.faults
    assert "RESIZE-02" in fault
    assert f"room for {moving_machine.MOST_CPUS}" in fault
    assert "all come again" in fault
    assert found.lives == ()
