"""Proxies in Nova servers of a real OpenStack: they serve, are sampled, fail by name, and vanish."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.contract.http_support import carry_forty_objects, row_with_ledger
from tests.openstack.support import needs_cloud, password, strays

from bmwg.drivers.api.instance import Hosting, VmDriver
from bmwg.drivers.places.forms import hosting
from bmwg.drivers.undo.ledger import Ledger
from bmwg.drivers.workload import squid
from bmwg.drivers.workload.row import Row
from bmwg.methodology.errors import TestbedError, ToolkitError
from bmwg.resources.kinds.requests.deployment import start_serving

ABSENT = [program for program in ("apache2", "ab") if shutil.which(program) is None]  # Squid is in the image
pytestmark = [
    pytest.mark.skipif(bool(ABSENT), reason=f"needs {ABSENT}: sh setup/install.sh http"),
    *needs_cloud,
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("run")


@pytest.fixture(scope="module")
def row(folder: Path) -> Iterator[Row]:
    with row_with_ledger(folder) as (row, _):
        yield replace(row, place=replace(row.place, vms=VmDriver(driver="openstack")))


@pytest.fixture(scope="module")
def entered(row: Row, folder: Path) -> Iterator[Hosting]:
    """The form, its cloud up; nothing of either is left afterwards."""
    ledger = Ledger(folder / "cloud-ledger.jsonl", index_dir=folder / "index")
    made = hosting("vm_para", node=row.proxy, place=row.place, ledger=ledger)
    assert made.probe() is None
    with made as entered:
        assert [entry.kind for entry in ledger.pending] == ["cloud"]
        yield entered
    assert not ledger.pending
    assert strays(str(folder)) == []


def test_a_proxy_in_a_server_serves_and_goes(row: Row, entered: Hosting) -> None:
    instance, took_ns = start_serving(row, entered, squid.program(cache=False), 0, 240.0)
    try:
        assert instance.fault() is None
        carry_forty_objects(row, instance)
        described = instance.describe()
        assert described["root"] == "image"
        phases = described["machine"]["boot_phases_s"]
        assert list(phases) == ["accepted", "active", "first_frame", "channel"]
        assert list(phases.values()) == sorted(phases.values())
        assert phases["channel"] * 1e9 < took_ns
        assert any(event["result"] == "Success" for event in described["machine"]["boot_events"])
        platform = entered.describe()["cloud"]["platform"]
        assert {service["state"] for service in platform["services"]} == {"up"}
        assert [one["type"] for one in platform["hypervisors"]] == ["QEMU"]
        assert len(platform["image"]["hash"]) == 128
        json.dumps(entered.describe())
        print(json.dumps(entered.describe(), indent=1))
    finally:
        began = time.monotonic()
        instance.stop()
        print("stop", time.monotonic() - began)
    instance.stop()
    assert "removed" in str(instance.fault())


def test_a_server_that_is_gone_is_named(row: Row, entered: Hosting) -> None:
    instance, _ = start_serving(row, entered, squid.program(cache=False), 1, 240.0)
    try:
        machine = instance._machine
        machine._provider.workshop.client.call(
            "stop", lambda sdk: sdk.compute.stop_server(machine._server.server_id)
        )
        end_s = time.monotonic() + 120.0
        while (found := instance.fault()) is None and time.monotonic() < end_s:
            time.sleep(0.5)
        assert found is not None
        assert "SHUTOFF" in found or "channel" in found or "NODE-03" in found
    finally:
        instance.stop()


def test_an_absent_program_is_named_by_the_image(row: Row, entered: Hosting) -> None:
    absent = replace(squid.program(cache=False), command=("no-such-program",))
    with pytest.raises(TestbedError) as refused:
        entered.start(absent, 2, squid_limits())
    assert refused.value.error_id == "IMAGE-08"


def squid_limits():
    from bmwg.drivers.api.instance import Limits

    return Limits(cpus=1, memory_octets=512 << 20)


def test_nothing_that_was_written_holds_the_password(folder: Path, entered: Hosting) -> None:
    secret = password().encode()
    searched = [path for path in folder.rglob("*") if path.is_file()]
    assert any(path.suffix == ".log" for path in searched)
    assert [str(path) for path in searched if secret in path.read_bytes()] == []
    assert secret.decode() not in json.dumps(entered.describe())


_ = ToolkitError
