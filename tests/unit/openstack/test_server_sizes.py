"""A resize that a cloud takes, undoes, refuses, breaks or never ends is told so, with its reason.

Every answer in this file was written by hand, as the mark `hand_written` says; real ones are asked for in
tests/openstack/test_server_resizes.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from tests.unit.openstack.stub import Cloud, stub

from bmwg.drivers.api.machines import MachineSize
from bmwg.drivers.openstack import client as client_module
from bmwg.drivers.openstack import undone as undone_module
from bmwg.drivers.openstack.client import Client
from bmwg.drivers.openstack.server_sizes import ServerSizes
from bmwg.drivers.openstack.servers import Workshop
from bmwg.methodology.errors import DriverError, ToolkitError

pytestmark = [
    pytest.mark.hand_written,
    pytest.mark.skipif(client_module.probe() is not None, reason="needs openstacksdk"),
]
SERVER = "/compute/v2.1/servers/s1"
ACTIONS = f"{SERVER}/os-instance-actions"
MORE = SimpleNamespace(id="f2")
NO_HOST = "No valid host was found. No valid host found for resize"


@pytest.fixture
def cloud() -> Iterator[Cloud]:
    with stub() as cloud:
        cloud.say("POST", f"{SERVER}/action", (202, None))
        yield cloud


@pytest.fixture
def sizes(cloud: Cloud) -> ServerSizes:
    return ServerSizes(Workshop(Client(auth=cloud.auth), "t"), "s1", "one")


def states(cloud: Cloud, *each: dict[str, Any]) -> None:
    """Answer so when the server is asked for, the last for ever."""
    cloud.say("GET", SERVER, *((200, {"server": {"id": "s1", **one}}) for one in each))


def state(status: str, task: str | None = None, cpus: int = 1, ram: int = 512) -> dict[str, Any]:
    flavor = {"vcpus": cpus, "ram": ram, "original_name": "small"}
    return {"status": status, "OS-EXT-STS:task_state": task, "flavor": flavor}


@pytest.mark.parametrize(
    ("seen", "size"),
    [
        (state("ACTIVE"), (1, 512)),
        (state("VERIFY_RESIZE", cpus=2, ram=768), (2, 768)),
        (state("RESIZE", "resize_finish", cpus=2, ram=768), None),
        (state("ACTIVE", "resize_prep"), None),
    ],
)
def test_a_size_is_the_flavors_and_none_amid_a_change(
    cloud: Cloud, sizes: ServerSizes, seen: dict[str, Any], size: tuple[int, int] | None
) -> None:
    states(cloud, seen)
    wanted = None if size is None else MachineSize(cpus=size[0], memory_octets=size[1] << 20)
    assert sizes.size() == wanted


def test_it_is_asked_for_begun_and_kept(cloud: Cloud, sizes: ServerSizes) -> None:
    states(cloud, state("RESIZE", "resize_prep"), state("RESIZE", "resize_migrating"))
    assert sizes.ask(MORE, within_s=20) > 0
    states(cloud, state("VERIFY_RESIZE", ram=768), state("ACTIVE", ram=768))
    assert sizes.unconfirmed
    sizes.keep(within_s=20)
    assert cloud.times("POST", f"{SERVER}/action") == 2


def test_one_that_no_host_takes_is_told_with_the_clouds_reason(cloud: Cloud, sizes: ServerSizes) -> None:
    states(cloud, state("RESIZE", "resize_prep"), state("ACTIVE"))
    begun = {"action": "resize", "request_id": "r1", "start_time": "2026-01-31T08:00:00.000000"}
    made = {"action": "create", "request_id": "r0", "start_time": "2026-01-31T07:00:00.000000"}
    failed = {"event": "conductor_migrate_server", "result": "Error", "details": NO_HOST}
    cloud.say("GET", ACTIONS, (200, {"instanceActions": [begun, made]}))
    told = {**begun, "message": "Error", "events": [failed]}
    # Nova has undone it before it has written down why
    cloud.say(
        "GET",
        f"{ACTIONS}/r1",
        (200, {"instanceAction": {**begun, "events": []}}),
        (200, {"instanceAction": told}),
    )
    with pytest.raises(DriverError) as undone:
        sizes.ask(MORE, within_s=20)
    assert (undone.value.error_id, undone.value.found) == ("CLOUD-23", NO_HOST)
    assert "as it was" in undone.value.what


def test_one_that_is_undone_without_a_reason_is_told_too(
    cloud: Cloud, sizes: ServerSizes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(undone_module, "_REASON_S", 0.5)
    states(cloud, state("ACTIVE"))
    cloud.say("GET", ACTIONS, (200, {"instanceActions": []}))
    with pytest.raises(DriverError) as undone:
        sizes.ask(MORE, within_s=20)
    assert (undone.value.error_id, undone.value.found) == ("CLOUD-23", "no reason was given")


@pytest.mark.parametrize(
    ("answer", "error_id", "said"),
    [
        ((403, {"forbidden": {"code": 403, "message": "Quota exceeded for ram"}}), "CLOUD-14", "Quota"),
        ((400, {"badRequest": {"code": 400, "message": "Resize to zero disk"}}), "CLOUD-19", "zero disk"),
    ],
)
def test_one_that_is_refused_at_once_is_named(
    cloud: Cloud, sizes: ServerSizes, answer: tuple[int, Any], error_id: str, said: str
) -> None:
    states(cloud, state("ACTIVE"))
    cloud.say("POST", f"{SERVER}/action", answer)
    with pytest.raises(ToolkitError, match=f"^{error_id} ") as refused:
        sizes.ask(MORE, within_s=20)
    assert said in refused.value.found


def test_a_server_that_breaks_and_one_that_never_ends_are_named(cloud: Cloud, sizes: ServerSizes) -> None:
    states(cloud, {**state("ERROR"), "fault": {"code": 500, "message": "disk is gone"}})
    for act in (lambda: sizes.ask(MORE, within_s=20), sizes.size, lambda: sizes.keep(within_s=20)):
        with pytest.raises(DriverError) as broken:
            act()
        assert (broken.value.error_id, broken.value.found) == ("CLOUD-17", "disk is gone")
    states(cloud, state("REVERT_RESIZE", "resize_reverting"))
    with pytest.raises(DriverError, match=r"^CLOUD-18 ") as late:
        sizes.give_back(within_s=0.3)
    assert "resize_reverting" in late.value.found
