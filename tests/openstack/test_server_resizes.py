"""A server has more memory or a second CPU, and then not, by real Nova and frames; refusals are undone."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.openstack.support import needs_cloud, strays

from bmwg.drivers.paths.bed import Bed, open_bed
from bmwg.drivers.paths.pvp_vm import MEMORY_OCTETS
from bmwg.drivers.testbed.file import load_testbed
from bmwg.drivers.undo.ledger import Ledger
from bmwg.drivers.workload import server_resizes
from bmwg.drivers.workload.of_acts import Ground
from bmwg.drivers.workload.server_resizes import MORE_OCTETS, ServerResizes
from bmwg.methodology.kinds.acts.kind import ACTS
from bmwg.methodology.kinds.acts.profile import PROFILES
from bmwg.methodology.kinds.acts.proofs import contradictions
from bmwg.methodology.kinds.acts.records import CPUS, MEMORY, SIZE_REACHED, ActsResult, ActsSpec
from bmwg.methodology.records import VM, Cell, Validity

pytestmark = needs_cloud
ROOT = Path(__file__).resolve().parents[2]
CELL = Cell(path="pvp-vm", hosting=VM, function="kernel-l3", network="none", frame_octets=64)
SPECS = {one.spec.mode: one.spec for one in PROFILES.load("cloud-resize").plan() if not one.spec.beside}


@pytest.fixture(scope="module")
def bed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bed]:
    folder = tmp_path_factory.mktemp("run")
    ledger = Ledger(folder / "ledger.jsonl", index_dir=folder / "index")
    testbed = load_testbed(ROOT / "testbeds" / "openstack.yaml")
    testbed = replace(testbed, dut=replace(testbed.dut, cpus=(0, 1)))  # no tester sends: its CPU is free
    with open_bed(testbed, ledger, folder, machines=True) as opened:
        yield opened
    assert ledger.pending == ()
    assert strays(str(folder)) == []


def executed(bed: Bed, mode: str) -> tuple[ActsSpec, ActsResult]:
    ground = Ground(bed=bed, cell=CELL, mode=mode)
    workload = ServerResizes(ground)
    assert workload.probe() is None
    spec = replace(SPECS[mode], number=1)
    workload.attach((ground,))
    found = workload.run(spec)
    workload.detach()
    assert contradictions(spec, found) == ()
    workshop = bed.machines.workshop  # type: ignore[attr-defined]
    assert workshop.client.call("servers", lambda sdk: [one.name for one in sdk.compute.servers()]) == []
    print(
        found.faults,
        [(one.start_ns, dict(one.steps), dict(one.told), one.lost_frames) for one in found.lives],
    )
    return spec, found


@pytest.mark.parametrize(
    ("mode", "part", "few", "many"), [(MEMORY, "octets", MEMORY_OCTETS, MORE_OCTETS), (CPUS, "cpus", 1, 2)]
)
def test_a_server_gets_more_and_gives_it_back_and_its_guest_has_found_it(
    bed: Bed, mode: str, part: str, few: int, many: int
) -> None:
    spec, found = executed(bed, mode)
    assert found.faults == ()
    assert ACTS.assessed(spec, found).validity in (Validity.VALID, Validity.INCOMPLETE)
    more, back = found.lives
    for life, had, has in ((more, few, many), (back, many, few)):
        assert (life.told[f"had_{part}"], life.told[f"actual_{part}"], life.told[f"guest_{part}"]) == (
            had,
            has,
            has,
        )
        assert life.told["forwarded_frames"] > 0
        assert life.outage_ns > 0  # it was stopped, and booted anew
        assert life.steps["server_accepted"] <= life.steps["size_asked"] <= life.steps[SIZE_REACHED]
        assert life.steps[SIZE_REACHED] <= life.first_frame_ns <= life.steps["size_kept"]


@pytest.mark.parametrize(
    ("octets", "reason"),
    [(40 << 30, "CLOUD-23 "), (64 << 30, "CLOUD-14 ")],  # more than a host has; than the quota leaves
)
def test_a_size_that_the_cloud_does_not_give_is_named_and_the_server_routes_on(
    bed: Bed, monkeypatch: pytest.MonkeyPatch, octets: int, reason: str
) -> None:
    monkeypatch.setattr(server_resizes, "MORE_OCTETS", octets)
    _, found = executed(bed, MEMORY)
    (fault,) = found.faults
    assert "RESIZE-02" in fault
    assert reason in fault
    assert "all come again" in fault
    assert found.lives == ()


def test_what_lacks_for_a_cell_is_said_before_a_server_is_made(bed: Bed) -> None:
    one_cpu = copy.copy(bed)
    one_cpu.testbed = replace(bed.testbed, dut=replace(bed.testbed.dut, cpus=(1,)))
    lack = ServerResizes(Ground(bed=one_cpu, cell=CELL, mode=CPUS)).probe()
    assert lack is not None
    assert "1 of dut.cpus" in lack.reason
