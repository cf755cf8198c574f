"""Servers that are made, seen to forward and deleted: two at once, by real frames; nothing stays."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.openstack.support import needs_cloud, strays

from bmwg.drivers.paths.bed import Bed, open_bed
from bmwg.drivers.ports import interfaces
from bmwg.drivers.testbed.file import load_testbed
from bmwg.drivers.undo.ledger import Ledger
from bmwg.drivers.workload.of_acts import Ground
from bmwg.drivers.workload.server_lives import ServerLives
from bmwg.methodology.kinds.acts.kind import ACTS
from bmwg.methodology.kinds.acts.profile import PROFILES
from bmwg.methodology.kinds.acts.proofs import contradictions
from bmwg.methodology.records import VM, Cell, Validity

pytestmark = needs_cloud
ROOT = Path(__file__).resolve().parents[2]
BATCH = next(one.spec for one in PROFILES.load("cloud").plan() if one.spec.at_once == 2)
CELL = Cell(path="pvp-vm", hosting=VM, function="kernel-l3", network="none", frame_octets=64)


@pytest.fixture(scope="module")
def bed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bed]:
    folder = tmp_path_factory.mktemp("run")
    ledger = Ledger(folder / "ledger.jsonl", index_dir=folder / "index")
    with open_bed(
        load_testbed(ROOT / "testbeds" / "openstack.yaml"), ledger, folder, machines=True
    ) as opened:
        yield opened
    assert ledger.pending == ()
    assert strays(str(folder)) == []


def test_two_servers_at_once_are_seen_to_forward_and_nothing_stays(bed: Bed) -> None:
    ground = Ground(bed=bed, cell=CELL)
    workload = ServerLives(ground)
    assert workload.probe() is None
    before = {one["name"]: one["controller"] for one in bed.node("dut1").call(interfaces.listing)}
    workload.attach((ground,))
    spec = replace(BATCH, number=1)
    found = workload.run(spec)
    workload.detach()
    assert found.faults == ()
    assert contradictions(spec, found) == ()
    assert ACTS.assessed(spec, found).validity in (Validity.VALID, Validity.INCOMPLETE)
    assert len(found.lives) == 2
    for life in found.lives:
        assert life.first_frame_ns is not None
        assert {"server_accepted", "server_active"} <= set(life.steps)
        assert sorted(life.steps.values()) == list(life.steps.values())
        # it boots after it is ACTIVE: what Nova calls so forwards nothing yet
        assert life.first_frame_ns > life.steps["server_active"]
        assert life.removed_ns > life.remove_asked_ns >= life.first_frame_ns
        assert life.bypassed_frames == 0
    first, second = found.lives
    assert second.asked_ns < first.first_frame_ns  # they were asked for at the same time
    # the management network's bridge stays with the cloud; nothing else does
    after = {one["name"]: one["controller"] for one in bed.node("dut1").call(interfaces.listing)}
    assert {name: at for name, at in after.items() if not name.startswith(("brq", "mgmt"))} == {
        name: at for name, at in before.items() if not name.startswith(("brq", "mgmt"))
    }
    workshop = bed.machines.workshop  # type: ignore[attr-defined]
    assert workshop.client.call("servers", lambda sdk: [one.name for one in sdk.compute.servers()]) == []
    assert workshop.client.call("ports", lambda sdk: [one.name for one in sdk.network.ports()]) == []
