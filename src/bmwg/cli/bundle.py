"""`bmwg bundle RUN`: one archive of a run that somebody else can verify, signed when a key is named."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from bmwg.cli.record import read_salt
from bmwg.cli.runs import run_folder
from bmwg.methodology.errors import ConfigError
from bmwg.reports.bundle.archive import SUFFIX
from bmwg.reports.bundle.make import folder_evidence, make_bundle, read_submission
from bmwg.reports.bundle.signing import load_private, make_key
from bmwg.reports.store.read import RUN_FILE
from bmwg.reports.verify.verify import verify_bundle, verify_folder
from bmwg.resources.run.provenance import toolkit_state

_SHOWN = 5  # findings that are named


def add_parser(verbs: Any) -> None:
    """Add the verb to the command."""
    parser = verbs.add_parser("bundle", help="make a submission bundle of a run", description=__doc__)
    parser.add_argument("run", type=run_folder, nargs="?", help="the run's folder, or its id")
    parser.add_argument("--key", type=Path, help="private Ed25519 key (PEM) that signs; without it, unsigned")
    parser.add_argument("--submission", type=Path, help="submission.yaml: product, organization and contact")
    parser.add_argument("--robot-output", type=Path, help="the run's output.xml, to take it along")
    parser.add_argument("--output", type=Path, help=f"file to write (default: <run id>{SUFFIX})")
    parser.add_argument(
        "--redact",
        type=Path,
        metavar="SALT",
        help="replace names, serials and addresses in the platform records by salted hashes, and leave the "
        "report out; the salt's file is made when it does not exist, and stays with you",
    )
    parser.add_argument(
        "--make-key", type=Path, metavar="FILE", help="only make a key: FILE, and FILE.pub to hand out"
    )
    parser.set_defaults(handler=handle)


def handle(chosen: argparse.Namespace) -> int:
    """Write the bundle, or a key, and print where."""
    if chosen.make_key is not None:
        public = make_key(chosen.make_key)
        print(f"{chosen.make_key}: keep it secret\n{public}: hand it out")
        return 0
    if chosen.run is None:
        raise ConfigError("BND-01", "bundle", expected="the folder of a run", found="none")
    if not (chosen.run / RUN_FILE).is_file():
        raise ConfigError(
            "BND-01",
            f"{chosen.run}: no run; no bundle was written",
            expected="a run's folder or id",
            found="another folder" if chosen.run.is_dir() else "nothing of that name",
        )
    octets, submission = read_submission(chosen.submission) if chosen.submission else (None, None)
    verified = verify_folder(chosen.run)
    bundle = make_bundle(
        chosen.run,
        chosen.output or Path(f"{chosen.run.resolve().name}{SUFFIX}"),
        evidence=folder_evidence(chosen.run, submission),
        findings=list(verified.findings),
        submission_octets=octets,
        robot_output=chosen.robot_output,
        salt=read_salt(chosen.redact) if chosen.redact else None,
        signer=load_private(chosen.key) if chosen.key else None,
    )
    _refuse_what_does_not_verify(bundle)
    print(bundle)
    if chosen.key is None:
        print("not signed: nobody can tell who made it (--key FILE signs)")
    return 0


def _refuse_what_does_not_verify(bundle: Path) -> None:
    """Take away a bundle that this toolkit's own `verify` refuses. Raises ConfigError BND-09."""
    _, commit, dirty = toolkit_state()
    found = verify_bundle(bundle, own_commit=None if dirty else commit, render=_render).findings
    if found:
        bundle.unlink()
        raise ConfigError(
            "BND-09",
            f"{bundle}: would not verify, and was taken away again",
            expected="parts that go together",
            found="; ".join(f"{finding.rule_id} {finding.where}" for finding in found[:_SHOWN]),
            hint="after a change of deviations.yaml make the report anew by `bmwg report`",
        )


def _render(run: Path) -> None:
    from bmwg.reports.render.page.report import write_report  # plots take long to load

    write_report(run)
