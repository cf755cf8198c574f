"""What a host has left beside pods that fit: CPU time that it had, of pods that forwarded."""

from __future__ import annotations

import os
from pathlib import Path

from tests.unit.kubernetes.test_moving import frames

from bmwg.drivers.watch import host_room
from bmwg.drivers.workload import pods_fit

TICK_NS = 1_000_000_000 // os.sysconf("SC_CLK_TCK")


def test_time_that_was_stolen_is_none_that_the_host_used(monkeypatch, tmp_path: Path) -> None:
    stat = tmp_path / "stat"
    stat.write_text("cpu  10 20 30 4000 500 6 7 800 9 0\nctxt 1\n", encoding="ascii")
    monkeypatch.setattr(host_room, "_STAT", stat)
    assert host_room.host_room()["cpu_used_ns"] == (10 + 20 + 30 + 6 + 7) * TICK_NS


def test_what_a_host_had_left_is_told_of_pods_that_forwarded() -> None:
    def life(*, forwards: bool):
        stood = pods_fit._Standing(
            frames=frames(), asked_ns=0, ready_ns=1, steps={}, host={"cpu_used_ns": 5}, forwards=forwards
        )
        return pods_fit._life(stood, 0, 10, 20)

    assert life(forwards=True).host == {"cpu_used_ns": 5}
    assert (life(forwards=False).host, life(forwards=False).failed) == ({}, "no_frame")
