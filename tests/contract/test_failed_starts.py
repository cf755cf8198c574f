"""Starts that are made to fail are counted by kind; a network with room for so many pods is found full."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from tests.contract.paths_support import traces
from tests.needs import needs_cni, needs_crun

from bmwg.drivers.containers.crun import CrunRuntime
from bmwg.drivers.paths.bed import open_bed
from bmwg.drivers.testbed.file import load_testbed
from bmwg.drivers.undo.ledger import Ledger
from bmwg.drivers.workload.of_acts import Ground
from bmwg.drivers.workload.pod_lives import PodLives
from bmwg.drivers.workload.pods_fit import PodsFit
from bmwg.methodology.kinds.acts import profile
from bmwg.methodology.kinds.acts.kind import ACTS
from bmwg.methodology.kinds.acts.proofs import contradictions
from bmwg.methodology.kinds.acts.records import Failure
from bmwg.methodology.records import POD, Cell, Validity

pytestmark = [pytest.mark.root, needs_cni, needs_crun]
PLAN = {one.test_id: one for one in profile.PROFILES.load("failures").plan() if one.spec.at_once != 32}
STAND_UPS, FIT = PLAN["LC-FAIL-1"], PLAN["LC-FIT-1"]
# a plugin that knows the number of each start, refuses some and takes away the way of others' frames
PLUGIN = """#!/bin/sh
if [ "$CNI_COMMAND" = ADD ]; then
  number=$(grep -n -x "$CNI_CONTAINERID" {asked} | cut -d : -f 1)
  if {refuses}; then
    echo '{{"cniVersion": "1.0.0", "code": 100, "msg": "no room"}}'
    exit 1
  fi
  if [ "$CNI_IFNAME" = net0 ] && {cuts}; then
    nsenter --net="$CNI_NETNS" ip rule add pref 1 iif net0 blackhole
  fi
fi
exec /usr/lib/cni/bridge
"""


@pytest.fixture
def bed_with(tmp_path, monkeypatch):
    @contextmanager
    def made(*, bootless=lambda number: False, refuses: str = "false", cuts: str = "false"):
        plugins, asked, run = tmp_path / "plugins", tmp_path / "asked", tmp_path / "run"
        plugins.mkdir()
        run.mkdir()
        _numbered(monkeypatch, asked, bootless)
        for one in Path("/usr/lib/cni").iterdir():
            (plugins / one.name).symlink_to(one)
        (plugins / "bridge").unlink()
        (plugins / "bridge").write_text(PLUGIN.format(asked=asked, refuses=refuses, cuts=cuts))
        (plugins / "bridge").chmod(0o755)
        told = yaml.safe_load(Path("testbeds/embedded.yaml").read_text())
        told["networks"] = {"bridge": {**told["networks"]["bridge"], "plugin_dir": str(plugins)}}
        file = tmp_path / "failing.yaml"
        file.write_text(yaml.safe_dump(told))
        with open_bed(load_testbed(file), Ledger(run / "ledger.jsonl", index_dir=run), run) as bed:
            before = traces(bed.run_dir, bed.token)
            yield bed
            assert traces(bed.run_dir, bed.token) == before
        assert bed.undo.pending == ()

    return made


def ground(bed) -> Ground:
    cell = Cell(path="pvp", hosting=POD, function="kernel-l3", network="bridge", frame_octets=64)
    return Ground(bed=bed, cell=cell)


def executed(workload, here: Ground, spec):
    made = workload(here)
    assert made.probe() is None
    made.attach((here,))
    found = made.run(spec)
    made.detach()
    assert found.faults == ()
    assert contradictions(spec, found) == ()
    return found


def _numbered(monkeypatch, asked: Path, bootless) -> None:
    """Write down each pod that is asked for; some, by their number, get a program that is not there."""
    real = CrunRuntime.made

    def made(self, node, spec, networks=()):
        with asked.open("a") as told:
            told.write(f"{spec.pod_id}\n")
        number = len(asked.read_text().splitlines())
        return real(
            self, node, replace(spec, arguments=("/nowhere",)) if bootless(number) else spec, networks
        )

    monkeypatch.setattr(CrunRuntime, "made", made)


def counted(found) -> dict[str, int]:
    return {kind.value: [one.failed for one in found.lives].count(kind.value) for kind in Failure}


@pytest.mark.parametrize("starts", [20, pytest.param(100, marks=pytest.mark.slow)])
def test_every_fifth_start_is_made_to_fail_and_counted_as_what_it_was(bed_with, starts) -> None:
    with bed_with(
        bootless=lambda number: number % 10 == 3,
        refuses='[ "$((number % 20))" = 6 ]',
        cuts='[ "$((number % 20))" = 16 ]',
    ) as bed:
        spec = replace(STAND_UPS.spec, number=1, cycles=starts, first_frame_s=5.0)
        found = executed(PodLives, ground(bed), spec)
    truth = {
        number: "not_booted" if number % 10 == 3 else {6: "no_network", 16: "no_frame"}.get(number % 20, "")
        for number in range(1, starts + 1)
    }
    assert dict(enumerate((one.failed for one in found.lives), start=1)) == truth
    assert counted(found) == {
        "not_scheduled": 0,
        "no_network": starts // 20,
        "not_booted": starts // 10,
        "no_frame": starts // 20,
    }
    assert ACTS.assessed(spec, found).validity is Validity.VALID
    told = {v.metric: v.number for v in ACTS.values(replace(STAND_UPS, spec=spec), [found])}
    assert told["pod_stand_up.attempts"] == starts
    assert told["pod_stand_up.failed"] == starts // 5
    assert told["pod_stand_up.success_ratio"] == 0.8
    assert told["pod_stand_up.success_ratio_low_95"] < 0.8 < told["pod_stand_up.success_ratio_high_95"]


def test_a_network_with_room_for_twelve_pods_is_full_with_twelve(bed_with) -> None:
    spec = replace(FIT.spec, number=1, first_frame_s=20.0)
    with bed_with(refuses='[ "$number" -gt 12 ]') as bed:
        found = executed(PodsFit, ground(bed), spec)
    assert found.stood == 12
    assert [one.failed for one in found.lives] == [""] * 12 + ["no_network"]
    assert ACTS.assessed(spec, found).validity is Validity.VALID
    told = {v.metric: v.number for v in ACTS.values(FIT, [found])}
    assert told["pod_capacity.mean"] == 12
    assert told["pod_capacity.failed.no_network"] == 1
    assert all(one.received_frames > 0 for one in found.lives[:12])
    assert all(one.host["memory_available_octets"] > 0 for one in found.lives[:12])


def test_a_pod_of_which_no_frame_comes_is_the_limit(bed_with) -> None:
    spec = replace(FIT.spec, number=1, cycles=6, at_once=6, first_frame_s=5.0)
    with bed_with(cuts='[ "$number" = 4 ]') as bed:
        found = executed(PodsFit, ground(bed), spec)
    assert (found.stood, [one.failed for one in found.lives]) == (3, ["", "", "", "no_frame"])
