"""`bmwg fleet manifest`: prints the Kubernetes Job that works a fleet off."""

from __future__ import annotations

import argparse
import sys

import yaml

from bmwg.cli import exits
from bmwg.cli.fleet_run import beds_of
from bmwg.drivers.testbed.file import load_testbed
from bmwg.reports.fleet.plan import read_fleet
from bmwg.resources.fleet.handing_out import Statuses
from bmwg.resources.fleet.job import objects


def handle(chosen: argparse.Namespace) -> int:
    """Print the objects as YAML, for `kubectl apply -f -`. Raises ConfigError FLEET-06, FLEET-07."""
    beds = {
        bed.name: (load_testbed(bed.file), bed.file.read_text("utf-8")) for bed in beds_of(chosen.testbed)
    }
    made = objects(
        read_fleet(chosen.plan),
        testbeds=beds,
        image=chosen.image,
        node=chosen.node,
        results=str(chosen.results),
        statuses=Statuses(
            complete=exits.SHARD_COMPLETE, refused=exits.SHARD_REFUSED, taken=exits.SHARD_TAKEN
        ),
        namespace=chosen.namespace,
        ssh_secret=chosen.ssh_secret,
        tries=chosen.tries,
        lease=chosen.lease,
    )
    sys.stdout.write(yaml.safe_dump_all(made, sort_keys=False))
    return 0
