"""Removes from a cloud whatever a run made in it, by the run's tag, when the run itself did not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bmwg.drivers.openstack.servers import Workshop
from bmwg.methodology.errors import TestbedError, ToolkitError


def sweep(workshop: Workshop) -> list[str]:
    """Remove all that has a run's tag or name, past failures; returns what was removed.

    Raises the first failure after trying all.
    """
    removed: list[str] = []
    failures: list[ToolkitError] = []
    prefix = workshop.name("")

    def each(what: str, listed: Callable[[Any], Any], remove: Callable[[Any, Any], object]) -> None:
        try:
            found = workshop.client.call(f"list of {what}s", lambda sdk: list(listed(sdk)))
        except TestbedError as error:
            if error.error_id != "CLOUD-13":  # who may not list flavors has made none
                failures.append(error)
            return
        except ToolkitError as error:
            failures.append(error)
            return
        for one in found:
            if not str(one.name).startswith(prefix):
                continue
            try:
                workshop.client.call(f"delete of {what}", lambda sdk, one=one: remove(sdk, one))  # type: ignore[misc]
                removed.append(f"{what} {one.name}")
            except ToolkitError as error:
                failures.append(error)

    try:
        servers = workshop.client.call(
            "list of servers", lambda sdk: list(sdk.compute.servers(details=False, name=prefix))
        )
        for server in servers:
            if str(server.name).startswith(prefix):
                workshop.delete_server(server.id)
                removed.append(f"server {server.name}")
    except ToolkitError as error:
        failures.append(error)
    each("port", lambda sdk: sdk.network.ports(), lambda sdk, one: sdk.network.delete_port(one))
    each("network", lambda sdk: sdk.network.networks(), lambda sdk, one: sdk.network.delete_network(one))
    each(
        "security group",
        lambda sdk: sdk.network.security_groups(),
        lambda sdk, one: sdk.network.delete_security_group(one),
    )
    each("image", lambda sdk: sdk.image.images(), lambda sdk, one: sdk.image.delete_image(one))
    each(
        "flavor",
        lambda sdk: sdk.compute.flavors(is_public=False),
        lambda sdk, one: sdk.compute.delete_flavor(one),
    )
    each("key pair", lambda sdk: sdk.compute.keypairs(), lambda sdk, one: sdk.compute.delete_keypair(one))
    if failures:
        raise failures[0]
    return removed
