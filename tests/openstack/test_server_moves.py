"""A server is moved by Nova between two compute hosts, by pre-copy and post-copy, while real frames pass.

What comes back after a boot is no outage of a move: one test has the server boot anew once it has moved.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.openstack.support import needs_cloud, strays

from bmwg.drivers.openstack import settings
from bmwg.drivers.openstack.moving_server import MovingServer
from bmwg.drivers.paths.bed import Bed, open_bed
from bmwg.drivers.ports import interfaces
from bmwg.drivers.testbed.file import load_testbed
from bmwg.drivers.undo.ledger import Ledger
from bmwg.drivers.workload.of_acts import Ground
from bmwg.drivers.workload.server_moves import ServerMoves
from bmwg.methodology.kinds.acts.kind import ACTS
from bmwg.methodology.kinds.acts.profile import PROFILES
from bmwg.methodology.kinds.acts.proofs import contradictions
from bmwg.methodology.kinds.acts.records import POST_COPY, PRE_COPY, ActsResult, ActsSpec
from bmwg.methodology.records import VM, Cell, Validity

pytestmark = needs_cloud
ROOT = Path(__file__).resolve().parents[2]
CELL = Cell(path="pvp-vm-moving", hosting=VM, function="kernel-l3", network="none", frame_octets=64)
SPECS = {one.spec.mode: one.spec for one in PROFILES.load("cloud-moves").plan() if not one.spec.beside}


@pytest.fixture(scope="module")
def bed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bed]:
    folder = tmp_path_factory.mktemp("run")
    ledger = Ledger(folder / "ledger.jsonl", index_dir=folder / "index")
    with open_bed(
        load_testbed(ROOT / "testbeds" / "openstack-two-hosts.yaml"), ledger, folder, machines=True
    ) as opened:
        yield opened
    assert ledger.pending == ()
    assert strays(str(folder)) == []


def executed(bed: Bed, mode: str, *, impossible: bool = False) -> tuple[ActsSpec, ActsResult]:
    before = controllers(bed)
    ground = Ground(bed=bed, cell=CELL, mode=mode)
    workload = ServerMoves(ground)
    assert workload.probe() is None
    spec = replace(SPECS[mode], number=1)
    workload.attach((ground,))
    found = workload.run(spec)
    workload.detach()
    print(
        found.faults,
        [(one.outage_ns, dict(one.steps), dict(one.told), one.lost_frames) for one in found.lives],
    )
    assert impossible or contradictions(spec, found) == ()
    assert controllers(bed) == before
    workshop = bed.machines.workshop  # type: ignore[attr-defined]
    assert workshop.client.call("servers", lambda sdk: [one.name for one in sdk.compute.servers()]) == []
    return spec, found


def controllers(bed: Bed) -> dict[str, str]:
    """The tester's NICs and the hosts' interfaces to the switches, with what they are ports of."""
    return {
        f"{node}/{one['name']}": one["controller"]
        for node in ("dut1", "dut2")
        for one in bed.node(node).call(interfaces.listing)
        if one["name"].startswith(("nic", "side"))
    }


@pytest.mark.parametrize("mode", [PRE_COPY, POST_COPY])
def test_a_server_moves_there_and_back_and_frames_come_by_it_again(bed: Bed, mode: str) -> None:
    spec, found = executed(bed, mode)
    assert found.faults == ()
    judged = ACTS.assessed(spec, found)
    assert judged.validity is Validity.VALID, judged.reason
    assert len(found.lives) == 2
    for life in found.lives:
        assert life.told["guest_boots"] == 1
        assert life.steps["server_accepted"] < life.steps["guest_stopped"] <= life.steps["guest_resumed"]
        assert life.told["forwarded_there_frames"] > 0
        assert 0 < life.told["libvirt_downtime_ns"] < life.told["libvirt_total_ns"]
        assert ("post_copy_began" in life.steps) == (mode == POST_COPY)


def test_a_server_that_boots_anew_once_it_has_moved_is_no_answer(
    bed: Bed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its frames come again, as after a panic of its kernel; Nova itself calls it ACTIVE by then."""
    real = MovingServer.moved

    def and_boots(self: MovingServer, **asked: object) -> object:
        move = real(self, **asked)  # type: ignore[arg-type]
        workshop = bed.machines.workshop  # type: ignore[attr-defined]
        server_id = self._server.server_id
        workshop.client.call("reboot", lambda sdk: sdk.compute.reboot_server(server_id, "HARD"))
        workshop.client.call(
            "its end",
            lambda sdk: sdk.compute.wait_for_server(sdk.compute.get_server(server_id), wait=120),
        )
        return move

    monkeypatch.setattr(MovingServer, "moved", and_boots)
    spec, found = executed(bed, PRE_COPY, impossible=True)
    judged = ACTS.assessed(spec, found)
    assert judged.validity is not Validity.VALID
    assert "booted 2 times" in judged.reason or "MOVE-06" in " ".join(found.faults), (judged, found.faults)


def test_a_server_of_another_cpu_model_than_is_named_is_not_moved(
    bed: Bed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What counts is the model that QEMU was told: the name alone is changed here."""
    told = (settings.MOVING_MODEL, settings.HOSTS_OWN_MODEL)
    for name in ("MOVING_MODEL", "HOSTS_OWN_MODEL"):
        monkeypatch.setattr(settings, name, "Haswell")
    _, found = executed(bed, PRE_COPY)
    (fault,) = found.faults
    assert fault.startswith("MOVE-07")
    assert any(model in fault for model in told), fault
    assert found.lives == ()


def test_a_host_that_takes_no_server_is_named_and_the_server_routes_on(
    bed: Bed, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = MovingServer.moved

    def nowhere(self: MovingServer, **asked: object) -> object:
        workshop = bed.machines.workshop  # type: ignore[attr-defined]
        (service,) = workshop.client.call(
            "services", lambda sdk: list(sdk.compute.services(host=self.there.name, binary="nova-compute"))
        )
        workshop.client.call("disable", lambda sdk: sdk.compute.disable_service(service))
        try:
            return real(self, **asked)  # type: ignore[arg-type]
        finally:
            workshop.client.call("enable", lambda sdk: sdk.compute.enable_service(service))

    monkeypatch.setattr(MovingServer, "moved", nowhere)
    _, found = executed(bed, PRE_COPY)
    (fault,) = found.faults
    assert fault.startswith(("MOVE-01", "CLOUD-19"))
    assert "all come again" in fault
    assert found.lives == ()
