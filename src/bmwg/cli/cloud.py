"""`bmwg cloud`: an OpenStack of one's own in a namespace node, until Ctrl-C; or what a cloud of yours offers.

`bmwg cloud` starts it below a new folder and says how it is reached. `bmwg cloud --check NAME` asks one of
clouds.yaml for its services, quota, images and flavors, and makes nothing there.
"""

from __future__ import annotations

import argparse
import secrets
import signal
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from bmwg.drivers.nodes import process
from bmwg.drivers.openstack import embedded
from bmwg.drivers.openstack.client import Client
from bmwg.drivers.undo.ledger import FILE_NAME, Ledger
from bmwg.methodology.errors import TestbedError

_CLOUDS = """clouds:
  embedded:
    region_name: {region}
    auth:
{auth}
"""


def add_parser(verbs: Any) -> None:
    """Add the verb to the command."""
    parser = verbs.add_parser(
        "cloud", help="an OpenStack of one's own, or a look at yours", description=__doc__
    )
    parser.add_argument("--check", metavar="NAME", help="look at this cloud of clouds.yaml; makes nothing")
    parser.add_argument("--results", type=Path, default=Path("results"), help="where its folder is made")
    parser.set_defaults(handler=handle)


def handle(chosen: argparse.Namespace) -> int:
    """Do what was asked for."""
    return check(chosen.check) if chosen.check else hold(chosen.results)


def check(name: str) -> int:
    """Say what a user's cloud offers; raises what refuses us, by name."""
    client = Client(cloud=name)
    for service, version in client.require_services().items():
        print(f"{service}: {version}")
    for what, left in client.require_room(servers=1, cpus=1, memory_octets=1 << 29).items():
        print(f"left of the quota: {'no limit' if left < 0 else left} {what}")
    for what, listed in (
        ("flavors", lambda sdk: sdk.compute.flavors()),
        ("images", lambda sdk: sdk.image.images()),
    ):
        names = client.call(f"list of {what}", lambda sdk, listed=listed: [one.name for one in listed(sdk)])  # type: ignore[misc]
        print(f"{what}: {', '.join(sorted(map(str, names))) or 'none'}")
    return 0


def hold(results: Path) -> int:
    """Start the embedded cloud and keep it until the process is asked to end."""
    lack = embedded.probe()
    if lack is not None:
        raise TestbedError("CLOUD-01", lack.what, found=lack.reason, hint=lack.mend)
    folder = results.resolve() / f"cloud-{secrets.token_hex(3)}"
    folder.mkdir(parents=True)
    ledger = Ledger(folder / FILE_NAME)
    owner = f"bmwg-{folder.name}"
    with ExitStack() as stack:
        entry = ledger.before("owner", owner=owner)
        stack.callback(ledger.done, entry)
        stack.callback(process.terminate_owned, owner=owner)
        node = stack.enter_context(embedded.node_of(folder, owner))
        began_s = time.monotonic()
        cloud = stack.enter_context(embedded.started(node, folder, ledger, physical=[]))
        file = folder / "clouds.yaml"
        written = ledger.before("file", path=str(file))
        stack.callback(ledger.done, written)
        stack.callback(file.unlink, missing_ok=True)
        file.touch(mode=0o600)
        lines = "\n".join(f"      {key}: {value}" for key, value in cloud.auth.items())
        file.write_text(_CLOUDS.format(region="RegionOne", auth=lines))
        print(f"ready after {time.monotonic() - began_s:.0f} s; logs below {folder}/logs")
        print("reached in its own network namespace alone:")
        print(f"  nsenter --net={cloud.netns} env OS_CLIENT_CONFIG_FILE={file} bmwg cloud --check embedded")
        print("Ctrl-C ends it and all that is in it", flush=True)
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, _interrupt)
        try:
            while (fault := cloud.fault()) is None:
                time.sleep(1.0)
            print(fault)
        except KeyboardInterrupt:
            print("ending it")
    return 0


def _interrupt(number: int, frame: object) -> None:
    raise KeyboardInterrupt
