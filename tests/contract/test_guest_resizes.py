"""A guest is given less memory while it routes, and its memory back: by real QEMU and real frames."""

from __future__ import annotations

import os
from dataclasses import replace

import pytest

from bmwg.drivers.machines import guest_kernel, qemu
from bmwg.drivers.paths.bed import open_bed
from bmwg.drivers.paths.pvp_moving import MEMORY_OCTETS
from bmwg.drivers.testbed.file import load_testbed
from bmwg.drivers.undo.ledger import Ledger
from bmwg.drivers.workload import guest_resizes
from bmwg.drivers.workload.guest_resizes import LESS_OCTETS, GuestResizes
from bmwg.drivers.workload.of_acts import Ground
from bmwg.methodology.kinds.acts import profile
from bmwg.methodology.kinds.acts.kind import ACTS
from bmwg.methodology.kinds.acts.proofs import contradictions
from bmwg.methodology.kinds.acts.records import ActsResult, ActsSpec
from bmwg.methodology.records import Validity

pytestmark = [
    pytest.mark.slow,
    pytest.mark.root,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root (network namespaces)"),
    pytest.mark.skipif(
        qemu.probe_program() is not None or not isinstance(guest_kernel.find(), guest_kernel.GuestKernel),
        reason="needs sh setup/guest.sh",
    ),
]
PLAN = profile.PROFILES.load("resize").plan()


@pytest.fixture
def resized(tmp_path):
    def run(**changes) -> tuple[ActsSpec, ActsResult]:
        spec = replace(PLAN[0].spec, number=1, **changes)
        with open_bed(
            load_testbed(None), Ledger(tmp_path / "ledger.jsonl", index_dir=tmp_path), tmp_path
        ) as bed:
            ground = Ground(bed=bed, cell=profile.of_frames(PLAN[0]))
            workload = GuestResizes(ground)
            assert workload.probe() is None
            workload.attach((ground,))
            found = workload.run(spec)
            workload.detach()
        assert bed.undo.pending == ()
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
        assert life.first_frame_ns >= life.steps["size_reached"] >= life.steps["size_asked"]


def test_a_size_with_which_no_guest_lives_is_not_reached_and_named(resized, monkeypatch) -> None:
    monkeypatch.setattr(guest_resizes, "LESS_OCTETS", 4 << 20)
    _, found = resized(first_frame_s=15.0)
    (fault,) = found.faults
    assert "RESIZE-01" in fault
    assert f"of {MEMORY_OCTETS} before" in fault
    assert "frames were lost meanwhile, all come again" in fault
    assert found.lives == ()
