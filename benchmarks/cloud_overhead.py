"""What the provider of Nova servers adds to openstacksdk's own calls; JSON on standard output, seconds.

On one embedded OpenStack, in turn: the calls by hand (ports, server, asking until it is ACTIVE, delete of
both) and the provider's, up to ACTIVE and for the removal. Both ask every half second. What the provider does
after ACTIVE (first frame, agent) is timed beside it and compared with nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from ending import end_in_order
from holding import keep_awake
from spread import spread

from bmwg.drivers.api.instance import Place, VmDriver
from bmwg.drivers.api.machines import MachineIntent
from bmwg.drivers.machines.openstack_provider import OpenStackProvider
from bmwg.drivers.nodes.namespace import NamespaceNode
from bmwg.drivers.nodes.netns import within
from bmwg.drivers.openstack.servers import Workshop
from bmwg.drivers.undo.ledger import Ledger

LIMIT_S = 1.0
NETWORK = "198.18.19.0/24"
POLL_S = 0.5


def intent(number: int) -> MachineIntent:
    """A machine as the HTTP proxy suites want them."""
    return MachineIntent(
        number=number,
        name=f"cost{number}",
        cpus=1,
        memory_octets=512 << 20,
        nic_model="virtio-net-pci",
        network=NETWORK,
    )


def by_hand(provider: OpenStackProvider, number: int) -> tuple[float, float]:
    """Make and remove a server by openstacksdk's calls alone; returns the seconds of both."""
    sdk = provider.workshop.client.sdk
    shared = provider._networks["management"], provider._network_of(intent(number))
    parts = {
        "image_id": provider._image_of("virtio-net-pci").id,
        "flavor_id": provider._flavor_of(intent(number)).id,
        "key_name": provider.workshop.name("key"),
    }

    def work() -> tuple[float, float]:
        began_s = time.perf_counter()
        ports = [
            sdk.network.create_port(network_id=shared[0].id, security_group_ids=[provider._guard.id]),
            sdk.network.create_port(network_id=shared[1].id, is_port_security_enabled=False),
        ]
        server = sdk.compute.create_server(
            name=f"by-hand-{number}", config_drive=True, networks=[{"port": one.id} for one in ports], **parts
        )
        while (status := sdk.compute.get_server(server.id).status) != "ACTIVE":
            if status == "ERROR":
                raise SystemExit(f"server {number} is in ERROR")
            time.sleep(POLL_S)
        active_s = time.perf_counter()
        sdk.compute.delete_server(server.id)
        while sdk.compute.find_server(server.id) is not None:
            time.sleep(POLL_S)
        for one in ports:
            sdk.network.delete_port(one.id)
        return active_s - began_s, time.perf_counter() - active_s

    return within(embedded_netns(provider), work)


def by_provider(provider: OpenStackProvider, number: int) -> tuple[float, float, dict[str, float]]:
    """Make and remove a server by the provider; returns the seconds until ACTIVE, of the removal, phases."""
    told: list[float] = []
    real = Workshop.server

    def server(self: Workshop, *args: Any, **more: Any) -> Any:
        made = real(self, *args, **more)
        told.append(time.perf_counter())
        return made

    Workshop.server = server  # type: ignore[method-assign]
    try:
        began_s = time.perf_counter()
        machine = provider.made(intent(number))
    finally:
        Workshop.server = real  # type: ignore[method-assign]
    remove_s = time.perf_counter()
    phases = dict(machine.phases_s)  # type: ignore[attr-defined]
    phases["whole"] = remove_s - began_s
    machine.stop()
    return told[0] - began_s, time.perf_counter() - remove_s, phases


def embedded_netns(provider: OpenStackProvider) -> str:
    """Return where the cloud's APIs are reached."""
    assert provider._cloud is not None
    return provider._cloud.netns


def measured(pairs: int, folder: Path) -> dict[str, Any]:
    """Start a cloud and let both make servers in turn; the first of each is not counted."""
    owner = f"bmwg-cost-{os.getpid()}"
    hand: list[tuple[float, float]] = []
    ours: list[tuple[float, float, dict[str, float]]] = []
    ledger = Ledger(folder / "ledger.jsonl", index_dir=folder / "index")
    with NamespaceNode("proxy", owner=owner) as node:
        place = Place(
            client_address="198.18.1.1",
            client_interface="nic0",
            server_address="198.18.2.1",
            server_interface="nic1",
            token="cost",
            owner=owner,
            run_dir=str(folder),
            vms=VmDriver(driver="openstack"),
        )
        provider = OpenStackProvider(node=node, place=place, ledger=ledger, token="cost")
        if missing := provider.probe():
            raise SystemExit(f"{missing.what}: {missing.mend}")
        with provider:
            began = provider.describe()["cloud"]
            for pair in range(pairs + 1):
                turns = [
                    lambda n: hand.append(by_hand(provider, n)),
                    lambda n: ours.append(by_provider(provider, n)),
                ]
                for turn in turns if pair % 2 else reversed(turns):
                    turn(pair)
    added = [mine[0] - other[0] for mine, other in zip(ours[1:], hand[1:], strict=True)]
    removal = [mine[1] - other[1] for mine, other in zip(ours[1:], hand[1:], strict=True)]
    return {
        "cloud_start_s": began["start_s"],  # type: ignore[index,call-overload]
        "start_steps": began["start_steps"],  # type: ignore[index,call-overload]
        "to_active": {
            "by_hand": spread([one[0] for one in hand[1:]], "s"),
            "provider": spread([one[0] for one in ours[1:]], "s"),
        },
        "removal": {
            "by_hand": spread([one[1] for one in hand[1:]], "s"),
            "provider": spread([one[1] for one in ours[1:]], "s"),
        },
        "added_to_active": spread(added, "s"),
        "added_to_removal": spread(removal, "s"),
        "phases": {name: spread([one[2][name] for one in ours[1:]], "s") for name in ours[0][2]},
        "first_phases": ours[0][2],
        "limit_s": LIMIT_S,
        "within": statistics.median(added) <= LIMIT_S,
        "load_average": os.getloadavg(),
    }


def main() -> int:
    """Measure and print; status 1 when the limit is exceeded."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=5)
    chosen = parser.parse_args()
    end_in_order()
    with tempfile.TemporaryDirectory(prefix="bmwg-cost-") as folder, keep_awake():
        found = measured(chosen.pairs, Path(folder))
    print(json.dumps(found, indent=1))
    return 0 if found["within"] else 1


if __name__ == "__main__":
    sys.exit(main())
