"""`bmwg fleet run` and `manifest`: shards of a fleet are worked off, by programs here or by a Job."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

import yaml

from bmwg.cli import exits
from bmwg.drivers.testbed.file import load_testbed
from bmwg.methodology.errors import ConfigError
from bmwg.reports.fleet.plan import Fleet, Shard, read_fleet
from bmwg.resources.fleet.bound import refusal, variables
from bmwg.resources.fleet.handing_out import Bed, HandingOut, Statuses
from bmwg.resources.fleet.job import objects
from bmwg.resources.run.settings import Settings

STATUSES = Statuses(complete=exits.SHARD_COMPLETE, refused=exits.SHARD_REFUSED, taken=exits.SHARD_TAKEN)


def handle(chosen: argparse.Namespace) -> int:
    """Hand the shards out until none is left that can be; 0 when all are complete, 1 when not."""
    fleet = read_fleet(chosen.plan)
    beds = beds_of(chosen.testbed)
    # our programs end with us, and by SIGINT, which a script's background programs are started to ignore
    for asked in (signal.SIGTERM, signal.SIGINT):
        signal.signal(asked, signal.default_int_handler)

    def command(shard: Shard, bed: Bed) -> Sequence[str]:
        words = ["fleet", "shard", str(chosen.plan), str(shard.number), "--testbed", str(bed.file)]
        return [sys.executable, "-m", "bmwg", *words, "--results", str(chosen.results)]

    open_ = HandingOut(
        fleet=fleet,
        results=chosen.results,
        beds=beds,
        command=command,
        fits=lambda shard, bed: why_not(fleet, chosen.plan, shard, bed.file),
        statuses=STATUSES,
        say=lambda line: print(line, flush=True),
        tries=chosen.tries,
        deadline_s=chosen.shard_deadline,
    ).run()
    for number, why in open_.items():
        print(f"shard {number} is open: {why}")
    print(f"{len(fleet.shards) - len(open_)} of {len(fleet.shards)} shards are complete")
    return exits.FAILED if open_ else 0


def manifest(chosen: argparse.Namespace) -> int:
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
        statuses=STATUSES,
        namespace=chosen.namespace,
        ssh_secret=chosen.ssh_secret,
        tries=chosen.tries,
        lease=chosen.lease,
    )
    sys.stdout.write(yaml.safe_dump_all(made, sort_keys=False))
    return 0


def beds_of(files: Sequence[Path]) -> list[Bed]:
    """Read the testbeds of a fleet. Raises ConfigError FLEET-06 for two of one name."""
    beds: dict[str, Bed] = {}
    for file in files:
        name = load_testbed(file).name
        if name in beds:
            raise ConfigError(
                "FLEET-06",
                f"testbed {file}; nothing was started",
                expected="a name of its own for each testbed of a fleet",
                found=f"{name}, as {beds[name].file} has it",
                hint="the name is the first key of the file; runs and reports tell testbeds apart by it",
            )
        beds[name] = Bed(name=name, file=file)
    return list(beds.values())


def why_not(fleet: Fleet, plan: Path, shard: Shard, testbed: Path) -> str:
    """Say why a testbed cannot have a shard; empty where it can."""
    told = variables(fleet, plan.resolve(), shard.number, 1, testbed)
    kept = {name: value for name, value in os.environ.items() if name.endswith("_DIR")}
    error = refusal(Settings.from_environment({**kept, **told}))
    return (
        ""
        if error is None
        else f"{error.error_id} {error.what}: expected {error.expected}, found {error.found}"
    )
