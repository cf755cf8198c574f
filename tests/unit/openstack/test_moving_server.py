"""A server that Nova moves: where it runs afterwards, that it is the same guest, and of which CPU it must be.

Nova, its console files and QEMU's events were written by hand, as the mark `hand_written` says; real ones are
asked for in tests/openstack/test_server_moves.py.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bmwg.drivers.openstack import moving_server, settings
from bmwg.drivers.openstack import node as cloud_node
from bmwg.drivers.openstack.moving_server import HostPlace, MovingServer
from bmwg.drivers.openstack.servers import Server, ServerPort
from bmwg.drivers.platform_record import deployment
from bmwg.methodology.errors import DriverError, TestbedError
from bmwg.methodology.records import VM, Cell

pytestmark = pytest.mark.hand_written
SERVER = "s1"
ONE, TWO = "8d4ad0b5-6a2c-4ae3-9b51-03c9a6d4f0a1", "11111111-2222-3333-4444-555555555555"


class Host:
    """A compute host: what its server's console has, and how its QEMU is told to run it."""

    def __init__(self, folder: Path, name: str) -> None:
        self.name, self.cpu, self.accelerator = name, settings.MOVING_MODEL, "tcg"
        self.lines: list[str] = []
        self.boot = ""  # said once more at each look, while it is known
        self.log = folder / name / "logs" / f"{settings.QEMU_EVENTS}.log"
        self.log.parent.mkdir(parents=True)

    def call(self, function: Callable[..., Any], **_: Any) -> Any:
        if function is cloud_node.console:
            self.lines += [f"bmwg-router: boot {self.boot}"] if self.boot else []
            return list(self.lines)
        return {cloud_node.cpu_model: self.cpu, cloud_node.accelerator: self.accelerator}[function]

    def says(self, event: str, at_us: int = 0, **details: Any) -> None:
        line = {"server": SERVER, "event": event, "at_us": at_us, "details": details}
        with self.log.open("a") as file:
            file.write(json.dumps(line) + "\n")

    @property
    def place(self) -> HostPlace:
        return HostPlace(node=self, work=str(self.log.parents[1]), name=self.name)  # type: ignore[arg-type]


class Nova:
    """What Nova answers; `acts` is done when a move is asked for."""

    def __init__(self, acts: Callable[[Nova], None]) -> None:
        self.acts, self.asked, self.aborted = acts, [], 0
        self.status, self.task, self.host = "ACTIVE", None, "cloud2"
        self.compute, self.client = self, self

    def call(self, what: str, act: Callable[[Any], Any]) -> Any:
        return act(self)

    def get_server(self, server_id: str) -> Any:
        told = {"status": self.status, "task_state": self.task, "compute_host": self.host, "fault": None}
        return SimpleNamespace(**told)

    def live_migrate_server(self, server_id: str, *, host: str, block_migration: str) -> None:
        self.asked.append(host)
        self.acts(self)

    def server_migrations(self, server_id: str) -> list[Any]:
        return [SimpleNamespace(id=7, status="running")] if self.task else []

    def abort_server_migration(self, migration: int, server_id: str) -> None:
        self.aborted += 1

    def server_actions(self, server_id: str) -> list[Any]:
        return []


@pytest.fixture
def hosts(tmp_path: Path) -> tuple[Host, Host]:
    return Host(tmp_path, "cloud2"), Host(tmp_path, "cloud")


def stands(
    hosts: tuple[Host, Host], acts: Callable[[Nova], None], of: type[Nova] = Nova
) -> tuple[MovingServer, Nova]:
    ports = tuple(
        ServerPort(network=f"side{side}", port_id=f"p{side}", address="", mac="", guarded=False)
        for side in (0, 1)
    )
    server = Server(server_id=SERVER, name="moving", ports=ports, phases_s={}, steps_ns={})
    nova = of(acts)
    places = [one.place for one in hosts]
    return MovingServer(nova, server, places, memory_octets=128 << 20), nova  # type: ignore[arg-type]


def comes(hosts: tuple[Host, Host], *statuses: str) -> Callable[[Nova], None]:
    """Have it run at the other host, as QEMU, libvirt and Nova tell."""

    def acts(nova: Nova) -> None:
        first, second = hosts
        first.says("STOP", 1_000_000)
        for status in (*statuses, "completed"):
            first.says("MIGRATION", 1_200_000, status=status)
        first.says("JOB", downtime=223, time_elapsed=9000, memory_total=134_750_208)
        second.says("RESUME", 1_100_000)
        second.says("RESUME", 9_000_000)
        second.boot, first.boot = first.boot, ""
        nova.host = "cloud"

    return acts


def test_a_move_is_told_by_qemus_events_and_its_server_is_at_the_other_host(hosts) -> None:
    server, nova = stands(hosts, comes(hosts))
    hosts[0].boot = ONE
    assert server.shown() == {"guest_boots": 1}
    move = server.moved(post_copy=False, within_s=20)
    assert (server.here.name, server.there.name, nova.asked) == ("cloud", "cloud2", ["cloud"])
    assert move.steps["guest_resumed"] - move.steps["guest_stopped"] == 100_000_000  # the first that it ran
    assert move.told["libvirt_downtime_ns"] == 223_000_000
    assert "post_copy_began" not in move.steps
    assert server.shown() == {"guest_boots": 1}
    server.leave()


def test_a_server_that_never_routes_is_named_with_its_last_words(hosts, monkeypatch) -> None:
    monkeypatch.setattr(moving_server, "_BOOT_S", 0.2)
    server, _ = stands(hosts, comes(hosts))
    hosts[0].lines = ["Kernel panic - not syncing: no init"]
    with pytest.raises(TestbedError) as ended:
        server.begin()
    assert (ended.value.error_id, "no init" in ended.value.found) == ("VM-05", True)
    hosts[0].lines.append("bmwg-router: routes")
    server.begin()


def test_what_it_tells_of_itself_is_what_a_record_takes_of_a_machine(hosts) -> None:
    told = stands(hosts, comes(hosts))[0].describe()
    cell = Cell(path="pvp-vm-moving", hosting=VM, function="kernel-l3", network="none", frame_octets=64)
    taken = deployment._machine(cell, {**told, "interfaces": ["eth0", "eth1"], "image": None})
    assert taken["resource_request"] == {"cpus": 1, "memory_octets": 128 << 20}
    assert (told["cpu_model"], told["compute_host"]) == (settings.MOVING_MODEL, "cloud2")


def test_post_copy_is_what_qemu_tells_and_not_what_was_asked_for(hosts) -> None:
    server, _ = stands(hosts, comes(hosts, "active", "postcopy-active"))
    assert "post_copy_began" in server.moved(post_copy=True, within_s=20).steps


def test_post_copy_is_asked_for_once_memory_is_sent(hosts) -> None:
    """Nova calls a move running before that, and then tries in vain."""
    looks: list[str] = []

    class Running(Nova):
        def get_server(self, server_id: str) -> Any:
            looks.append("")
            if len(looks) == 3:
                hosts[0].says("MIGRATION", 900_000, status="active")
            return super().get_server(server_id)

        def force_complete_server_migration(self, migration: int, server_id: str) -> None:
            assert len(looks) >= 3
            self.task = None
            comes(hosts, "active", "postcopy-active")(self)

    server, _ = stands(hosts, lambda nova: setattr(nova, "task", "migrating"), Running)
    assert {"post_copy_asked", "post_copy_began"} <= set(server.moved(post_copy=True, within_s=20).steps)


def test_a_guest_that_has_booted_anew_tells_a_second_boot(hosts) -> None:
    server, _ = stands(hosts, comes(hosts))
    hosts[0].boot = ONE
    server.shown()
    server.moved(post_copy=False, within_s=20)
    hosts[1].boot = TWO
    assert server.shown() == {"guest_boots": 2}
    assert server.shown() == {"guest_boots": 2}  # nor is it the same in the moves after


def test_a_guest_that_was_silent_before_its_move_tells_nothing_after_it(hosts, monkeypatch) -> None:
    """One boot is known then, and it may be the second."""
    monkeypatch.setattr(moving_server, "_BOOT_SAYS_S", 0.2)
    server, _ = stands(hosts, comes(hosts))
    assert server.shown() == {}
    server.moved(post_copy=False, within_s=20)
    hosts[1].boot = TWO
    assert server.shown() == {}


@pytest.mark.parametrize("said", ["bmwg-router: boot 8d4ad0b5-6a2c-4ae3", "bmwg-router: routes", ""])
def test_half_a_line_is_no_boot(hosts, monkeypatch, said) -> None:
    monkeypatch.setattr(moving_server, "_BOOT_SAYS_S", 0.2)
    server, _ = stands(hosts, comes(hosts))
    hosts[0].lines = [said]
    assert server.shown() == {}


def test_a_server_that_was_reset_once_it_had_moved_is_named_with_its_panic(hosts) -> None:
    server, _ = stands(hosts, comes(hosts))
    server.moved(post_copy=False, within_s=20)
    hosts[1].lines = ["Kernel panic - not syncing: Fatal exception in interrupt", "Linux version 6.1"]
    hosts[1].says("RESET", guest=True)
    for look in (server.require_running, server.leave):
        with pytest.raises(TestbedError) as ended:
            look()
        assert ended.value.error_id == "MOVE-06"
        assert "Kernel panic" in ended.value.found


@pytest.mark.parametrize(("runs_there", "nova_says"), [(True, "cloud2"), (False, "cloud"), (False, "cloud2")])
def test_a_server_that_moved_too_late_is_where_it_runs(hosts, monkeypatch, runs_there, nova_says) -> None:
    """Nova still calls it migrating, and names the host that it has left, when QEMU runs it at the other."""
    monkeypatch.setattr(moving_server, "_CANCEL_S", 0.2)

    def late(nova: Nova) -> None:
        nova.status, nova.task, nova.host = "MIGRATING", "migrating", nova_says
        if runs_there:
            hosts[1].says("RESUME", 1_100_000)

    server, nova = stands(hosts, late)
    with pytest.raises(TestbedError) as ended:
        server.moved(post_copy=False, within_s=0)
    assert ended.value.error_id == "MOVE-03"
    assert f"MIGRATING, task migrating, at host {nova_says}" in ended.value.found
    assert nova.aborted == 1
    at = "cloud" if runs_there or nova_says == "cloud" else "cloud2"
    assert (server.here.name, server.there.name) == (at, "cloud2" if at == "cloud" else "cloud")


def test_a_move_that_the_cloud_undoes_leaves_the_server_where_it_was(hosts, monkeypatch) -> None:
    monkeypatch.setattr("bmwg.drivers.openstack.undone._REASON_S", 0.2)
    server, _ = stands(hosts, lambda nova: None)
    with pytest.raises(TestbedError) as ended:
        server.moved(post_copy=False, within_s=20)
    assert (ended.value.error_id, server.here.name) == ("MOVE-01", "cloud2")


def test_a_move_without_qemus_events_is_none(hosts, monkeypatch) -> None:
    monkeypatch.setattr(moving_server, "_SAYS_S", 0.2)
    server, _ = stands(hosts, lambda nova: setattr(nova, "host", "cloud"))
    with pytest.raises(DriverError) as ended:
        server.moved(post_copy=False, within_s=20)
    assert (ended.value.error_id, server.here.name) == ("MOVE-03", "cloud")


@pytest.mark.parametrize(
    ("accelerator", "cpu", "taken"),
    [
        ("tcg", settings.MOVING_MODEL, True),
        ("tcg", f"{settings.MOVING_MODEL}-v1", True),
        ("tcg", f"{settings.MOVING_MODEL}-IBRS", False),
        ("tcg", "qemu64", False),
        ("tcg", "", False),
        ("kvm", "host", True),
        ("kvm", "qemu64", False),
    ],
)
def test_a_server_moves_with_the_cpu_model_that_all_hosts_name(hosts, accelerator, cpu, taken) -> None:
    server, _ = stands(hosts, comes(hosts))
    hosts[0].accelerator, hosts[0].cpu = accelerator, cpu
    if taken:
        server.require_model()
        return
    with pytest.raises(TestbedError) as refused:
        server.require_model()
    assert refused.value.error_id == "MOVE-07"
    assert refused.value.found == (cpu or "none: QEMU's plain one")
