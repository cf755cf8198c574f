"""Record what real services answer, for tests that need no cloud: `record_answers.py FILE` (root).

Starts the embedded OpenStack, asks it what the client asks, and writes each answer: method, path, status,
headers that matter, body. Tokens and passwords are replaced before anything is written.
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

import requests

from bmwg.drivers.cloud import embedded, image
from bmwg.drivers.cloud.client import Client
from bmwg.drivers.cloud.servers import Workshop
from bmwg.drivers.ledger import Ledger
from bmwg.methodology.errors import ToolkitError

_HEADERS = (
    "Content-Type",
    "X-Subject-Token",
    "Retry-After",
    "OpenStack-API-Version",
    "X-OpenStack-Nova-API-Version",
)


def main(target: Path) -> None:
    """Record all, in the order in which it was asked."""
    answers: list[dict[str, Any]] = []
    send = requests.Session.send

    def recording(self: requests.Session, request: Any, **more: Any) -> Any:
        answer = send(self, request, **more)
        kept = {name: answer.headers[name] for name in _HEADERS if name in answer.headers}
        if "X-Subject-Token" in kept:
            kept["X-Subject-Token"] = "a-token"
        try:
            body = answer.json() if answer.content else None
        except ValueError:
            body = answer.text[:2000]
        answers.append(
            {
                "method": request.method,
                "path": re.sub(r"^https?://[^/]+", "", request.url),
                "port": int(re.match(r"https?://[^:/]+:(\d+)", request.url)[1]),
                "status": answer.status_code,
                "headers": kept,
                "body": body,
            }
        )
        return answer

    with tempfile.TemporaryDirectory(prefix="bmwg-record-") as name:
        folder = Path(name)
        ledger = Ledger(folder / "ledger.jsonl", index_dir=folder / "index")
        with (
            embedded.node_of(folder, "record") as node,
            embedded.started(node, folder / "cloud", ledger, physical=[]) as cloud,
        ):
            requests.Session.send = recording  # type: ignore[method-assign]
            client = Client(auth=cloud.auth, netns=cloud.netns)
            client.require_services()
            client.require_room(servers=1, cpus=1, memory_octets=1 << 28)
            workshop = Workshop(client, "recorded")
            flavor = workshop.flavor("vast", cpus=1, memory_octets=1 << 50, disk_octets=1 << 30)
            for act in (
                lambda: client.named("flavor", "vasty", lambda sdk: sdk.compute.flavors()),
                lambda: client.call("twice", lambda sdk: sdk.compute.create_flavor(
                    name=flavor.name, ram=1, vcpus=1, disk=1)),
                lambda: client.call("nothing", lambda sdk: sdk.compute.get_server("0" * 32)),
                lambda: _vast(workshop, flavor),
            ):  # fmt: skip
                try:
                    act()
                except ToolkitError as error:
                    print(error)
            workshop.sweep()
            secret = cloud.auth["password"]
    text = json.dumps(answers, indent=1, sort_keys=True)
    assert secret not in text
    target.write_text(text + "\n")
    print(f"{len(answers)} answers in {target}")


def _vast(workshop: Workshop, flavor: Any) -> None:
    files = image.find()
    assert isinstance(files, image.ServerImage)
    workshop.key("ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ0w0i0i0i0i0i0i0i0i0i0i0i0i0i0i0i0i0i0i0i0i bmwg")
    disk = workshop.image("kernel", files.kernel, "raw")
    network = workshop.network(
        "management", "198.18.24.0/22", gateway=None, first="198.18.24.10", physical="mgmt"
    )
    workshop.server("vast", image=disk, flavor=flavor, ports=[workshop.port("vast", network)])


if __name__ == "__main__":
    main(Path(sys.argv[1]))
