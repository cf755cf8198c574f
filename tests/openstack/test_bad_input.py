"""What a user may ask of a real cloud by mistake is named, and nothing is left; last, its API is killed."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.openstack.support import needs_cloud, password, services, strays

from bmwg.drivers.openstack import embedded, image
from bmwg.drivers.openstack.client import Client
from bmwg.drivers.openstack.servers import Workshop
from bmwg.drivers.openstack.sweeping import sweep
from bmwg.drivers.undo.ledger import Ledger
from bmwg.methodology.errors import ConfigError, DriverError, TestbedError, ToolkitError

pytestmark = needs_cloud
NET = "198.18.24.0/22"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cloud")


@pytest.fixture(scope="module")
def cloud(folder: Path) -> Iterator[embedded.EmbeddedCloud]:
    ledger = Ledger(folder / "ledger.jsonl", index_dir=folder / "index")
    with (
        embedded.node_of(folder, "") as node,
        embedded.started(node, folder / "cloud", ledger, physical=[]) as cloud,
    ):
        yield cloud
    assert ledger.pending == ()
    assert strays(str(folder)) == []


@pytest.fixture
def workshop(cloud: embedded.EmbeddedCloud) -> Iterator[Workshop]:
    made = Workshop(Client(auth=cloud.auth, netns=cloud.netns), "bad")
    yield made
    sweep(made)
    assert sweep(made) == []


def refused(kind: type[ToolkitError], error_id: str, act: object) -> ToolkitError:
    with pytest.raises(kind) as caught:
        act()  # type: ignore[operator]
    assert caught.value.error_id == error_id
    assert password() not in str(caught.value)
    return caught.value


def kernel_image(workshop: Workshop) -> object:
    files = image.find()
    assert isinstance(files, image.ServerImage)
    return workshop.image("kernel", files.kernel, "raw")


def test_a_password_that_is_wrong_is_named(cloud: embedded.EmbeddedCloud) -> None:
    client = Client(auth={**cloud.auth, "password": "no-such-password"}, netns=cloud.netns)
    error = refused(TestbedError, "CLOUD-11", client.require_services)
    assert "no-such-password" not in str(error)


def test_an_unknown_flavor_and_an_unknown_image_get_near_names(workshop: Workshop) -> None:
    workshop.flavor("small", cpus=1, memory_octets=1 << 28, disk_octets=1 << 30)
    name = workshop.name("smalll")
    error = refused(
        ConfigError,
        "CLOUD-15",
        lambda: workshop.client.named("flavor", name, lambda sdk: sdk.compute.flavors(is_public=None)),
    )
    assert workshop.name("small") in error.hint
    kernel_image(workshop)
    name = workshop.name("kernle")
    error = refused(
        ConfigError, "CLOUD-15", lambda: workshop.client.named("image", name, lambda sdk: sdk.image.images())
    )
    assert workshop.name("kernel") in error.hint


def test_a_network_without_a_subnet_is_named_and_leaves_no_port(workshop: Workshop) -> None:
    bare = workshop.client.call("network", lambda sdk: sdk.network.create_network(name=workshop.name("bare")))
    refused(TestbedError, "CLOUD-22", lambda: workshop.port("lost", bare))
    assert workshop.client.call("ports", lambda sdk: list(sdk.network.ports(network_id=bare.id))) == []


def test_a_zone_that_is_not_there_gets_a_near_one_and_nothing_is_made(workshop: Workshop) -> None:
    error = refused(
        ConfigError,
        "CLOUD-15",
        lambda: workshop.server("one", image=None, flavor=None, ports=[], zone="nove"),
    )
    assert "'nova'" in error.hint
    assert workshop.client.call("servers", lambda sdk: list(sdk.compute.servers())) == []


def test_a_flavor_that_no_host_has_room_for_is_named_and_the_server_removed(workshop: Workshop) -> None:
    flavor = workshop.flavor("vast", cpus=1, memory_octets=45 << 30, disk_octets=1 << 30)
    workshop.key("ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ0w0i0i0i0i0i0i0i0i0i0i0i0i0i0i0i0i0i0i0i0i bmwg")
    network = workshop.network("mgmt", NET, gateway=None, first="198.18.24.10", physical="mgmt")
    port = workshop.port("vast", network)
    disk = kernel_image(workshop)
    error = refused(
        ToolkitError, "CLOUD-17", lambda: workshop.server("vast", image=disk, flavor=flavor, ports=[port])
    )
    assert "No valid host" in error.found
    assert workshop.client.call("servers", lambda sdk: list(sdk.compute.servers())) == []


def test_an_api_that_is_killed_is_named(cloud: embedded.EmbeddedCloud, folder: Path) -> None:
    client = Client(auth=cloud.auth, netns=cloud.netns)
    client.require_services()
    for pid in services(folder / "cloud", "nova-api"):
        os.kill(pid, signal.SIGKILL)
    end_s = time.monotonic() + 30.0
    while (fault := cloud.fault()) is None and time.monotonic() < end_s:
        time.sleep(0.2)
    assert fault == "services of the embedded OpenStack have ended: nova-api"
    refused(DriverError, "CLOUD-19", lambda: client.require_room(servers=1, cpus=1, memory_octets=1 << 28))
