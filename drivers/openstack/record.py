"""The platform record of a cloud: what its services say of themselves, and what they do not tell us."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from bmwg.drivers.api.protocols import JsonValue
from bmwg.drivers.openstack.client import Client
from bmwg.methodology.errors import ToolkitError


def collect(client: Client, *, flavor: Any, image: Any) -> dict[str, JsonValue]:
    """Return the facts; one that the cloud does not tell us is `unknown` with its reason."""
    return {
        "services": _asked(client, "services of Nova", _compute_services),
        "microversion": _asked(client, "microversion", _microversion),
        "hypervisors": _asked(client, "hypervisors", _hypervisors),
        "network_agents": _asked(client, "agents of Neutron", _agents),
        "flavor": {
            "cpus": flavor.vcpus,
            "memory_octets": flavor.ram << 20,
            "extra_specs": dict(flavor.extra_specs or {}),
        },
        "image": {
            "hash_algorithm": image.hash_algo,
            "hash": image.hash_value,
            "octets": image.size,
            "disk_format": image.disk_format,
            "nic_model": image.hw_vif_model,
        },
        "ports": {"vnic_type": "normal", "port_security": "off on test ports, on on the management's"},
        "config_drive": True,
    }


def _asked(client: Client, what: str, act: Callable[[Any], JsonValue]) -> JsonValue:
    try:
        return client.call(what, act)
    except ToolkitError as error:
        return {"unknown": f"{error.error_id}: {error.found or error.what}"}


def _compute_services(sdk: Any) -> list[Mapping[str, JsonValue]]:
    return [
        {"program": service.binary, "state": service.state, "zone": service.availability_zone}
        for service in sdk.compute.services()
    ]


def _microversion(sdk: Any) -> dict[str, JsonValue]:
    data = sdk.compute.get_endpoint_data()
    return {
        "highest": ".".join(map(str, data.max_microversion or ())),
        "lowest": ".".join(map(str, data.min_microversion or ())),
    }


def _hypervisors(sdk: Any) -> list[Mapping[str, JsonValue]]:
    return [
        {
            "type": hypervisor.hypervisor_type,
            "version": hypervisor.hypervisor_version,
            "state": hypervisor.state,
        }
        for hypervisor in sdk.compute.hypervisors(details=True)
    ]


def _agents(sdk: Any) -> list[Mapping[str, JsonValue]]:
    return [
        {"program": agent.binary, "alive": agent.is_alive, "kind": agent.agent_type}
        for agent in sdk.network.agents()
    ]
