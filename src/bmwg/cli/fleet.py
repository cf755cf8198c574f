"""`bmwg fleet ACT`: one plan for several testbeds, in shards that are runs of their own.

Each act loads what it needs when it is called: a look at runs needs nothing of what makes them.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from bmwg.cli import as_json, exits, selection
from bmwg.methodology.plan.shards import CALIBRATIONS

LEASE_S = 60  # choice: a dead holder's testbed waits so long; a living one renews it four times meanwhile


def add_parser(verbs: Any) -> None:
    """Add the verb to the command."""
    parser = verbs.add_parser("fleet", help="share a plan out to several testbeds", description=__doc__)
    acts = parser.add_subparsers(title="acts", required=True, metavar="ACT")
    plan = acts.add_parser("plan", help="cut a plan into shards; nothing is started")
    selection.add_arguments(plan)
    selection.add_narrowing(plan)
    plan.add_argument("--shards", type=int, required=True, help="at most so many runs; at least the testbeds")
    plan.add_argument(
        "--testbed", type=Path, help="a testbed like those of the fleet (default: the embedded)"
    )
    plan.add_argument("--profile", help="compliance profile (default: BMWG_PROFILE, then quick)")
    plan.add_argument("--seed", type=int, default=1, help="what the order is drawn from (default 1)")
    plan.add_argument(
        "--calibration",
        choices=CALIBRATIONS,
        default=CALIBRATIONS[0],
        help="measure the same cells in each shard: auto where they take at most a twentieth of its time",
    )
    plan.add_argument("--output", type=Path, help="file to write (default: print it)")
    plan.set_defaults(handler=_loaded("fleet_plan", "plan"))
    run = acts.add_parser("run", help="work the shards off, one program a testbed")
    _of_plan(run)
    run.add_argument(
        "--testbed", type=Path, action="append", required=True, help="testbed file; again for each testbed"
    )
    run.add_argument("--results", type=Path, required=True, help="folder of the runs, on a local disk")
    run.add_argument("--tries", type=int, default=3, help="most tries of a shard (default 3)")
    run.add_argument(
        "--shard-deadline",
        type=float,
        metavar="SECONDS",
        help="after which a shard's program is ended (default: three times its estimate, an hour at least)",
    )
    run.set_defaults(handler=_loaded("fleet_run"))
    shard = acts.add_parser(
        "shard",
        help="run one shard on one testbed, or go on with it",
        epilog="exit statuses:\n" + "\n".join(f"  {code:>3}  {words}" for code, words in exits.SHARD.items()),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    _of_plan(shard)
    which = shard.add_mutually_exclusive_group(required=True)
    which.add_argument("shard", type=int, nargs="?", help="number of the shard, from 1")
    which.add_argument("--index", type=int, help="the same from 0, as an Indexed Job counts")
    shard.add_argument(
        "--testbed",
        type=Path,
        action="append",
        required=True,
        help="testbed file; of several the first one that is free and fits",
    )
    shard.add_argument("--results", type=Path, required=True, help="folder of the runs, on a local disk")
    shard.add_argument(
        "--lease",
        metavar="NAMESPACE",
        default="",
        help="have the testbed's Lease in this namespace of a cluster, for runners on several machines",
    )
    shard.add_argument(
        "--lease-duration",
        type=int,
        metavar="SECONDS",
        default=LEASE_S,
        help=f"after which a holder that does not renew it loses it (default {LEASE_S})",
    )
    shard.set_defaults(handler=_loaded("fleet_shard"))
    manifest = acts.add_parser("manifest", help="print a Kubernetes Indexed Job that works the shards off")
    _of_plan(manifest)
    manifest.add_argument("--image", required=True, help="image with the toolkit of the plan's commit")
    manifest.add_argument(
        "--testbed", type=Path, action="append", required=True, help="testbed file; again for each testbed"
    )
    manifest.add_argument("--node", required=True, help="name of the cluster's node that is the runner")
    manifest.add_argument(
        "--results", type=Path, required=True, help="folder of the runs on that node's disk"
    )
    manifest.add_argument("--namespace", default="default", help="of the Job (default: default)")
    manifest.add_argument(
        "--ssh-secret", default="", help="Secret with keys and known hosts for testbeds over SSH"
    )
    manifest.add_argument("--tries", type=int, default=3, help="most tries of a shard (default 3)")
    manifest.add_argument(
        "--lease", action="store_true", help="have pods take a Lease of their testbed, with an account for it"
    )
    manifest.set_defaults(handler=_loaded("fleet_run", "manifest"))
    copy = acts.add_parser("copy", help="copy what is closed of the runs to a folder or an object store")
    _of_plan(copy)
    copy.add_argument("results", type=Path, help="folder of the runs")
    copy.add_argument("store", help="folder, or s3://bucket/prefix; nothing there is ever overwritten")
    copy.set_defaults(handler=_loaded("fleet_copy"))
    for name, what in (
        ("status", "say which shards are answered, and by which runs"),
        ("verify", "verify the runs, one by one and together"),
        ("report", "write one report over all shards"),
    ):
        reads = acts.add_parser(name, help=what)
        _of_plan(reads)
        reads.add_argument("results", type=Path, help="folder of the runs")
        reads.set_defaults(handler=_loaded("fleet_read", name))
        if name == "status":
            as_json.add_argument(reads)
        if name == "report":
            reads.add_argument("--format", choices=("html", "md", "rst", "text"), default="html")
            reads.add_argument("--output", type=Path, help="file to write (default: in the results)")


def _of_plan(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("plan", type=Path, help="file of the fleet's plan")


def _loaded(module: str, act: str = "handle") -> Callable[[argparse.Namespace], int]:
    """Give what loads an act's module when it is called, and calls it."""

    def handler(chosen: argparse.Namespace) -> int:
        called: Callable[[argparse.Namespace], int] = getattr(import_module(f"bmwg.cli.{module}"), act)
        return called(chosen)

    return handler
