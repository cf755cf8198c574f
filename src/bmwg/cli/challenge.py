"""`bmwg challenge issue|show`: a body's signed statement of what one run has to be, and when."""

from __future__ import annotations

import argparse
import secrets
from pathlib import Path
from typing import Any

from bmwg.reports.bundle.make import read_submission
from bmwg.reports.bundle.signing import load_private
from bmwg.reports.checker.findings import shown
from bmwg.reports.store.files import utc_text
from bmwg.reports.submissions.challenge import challenge_of, write_challenge
from bmwg.reports.submissions.documents import moment_given, write_new


def add_parser(verbs: Any) -> None:
    """Add the verb to the command."""
    parser = verbs.add_parser("challenge", help="challenge a run, as a body", description=__doc__)
    acts = parser.add_subparsers(title="acts", required=True, metavar="ACT")
    issue = acts.add_parser("issue", help="write a challenge")
    issue.add_argument("--body", required=True, help="name of the body")
    issue.add_argument("--key", type=Path, required=True, help="the body's private key")
    issue.add_argument(
        "--submission", type=Path, required=True, help="submission.yaml: whose product is to be measured"
    )
    issue.add_argument("--profile", required=True, help="compliance profile of the run")
    issue.add_argument("--plan", required=True, metavar="SHA256", help="what `bmwg plan --hash` prints")
    issue.add_argument(
        "--from", dest="begin", required=True, metavar="TIME", help="not before this time (with zone)"
    )
    issue.add_argument("--until", required=True, metavar="TIME", help="signed before this time (with zone)")
    issue.add_argument("--output", type=Path, required=True, help="file to write")
    issue.set_defaults(handler=_issue)
    show = acts.add_parser("show", help="say what a challenge asks; its signature is not checked")
    show.add_argument("challenge", type=Path)
    show.set_defaults(handler=_show)


def _issue(chosen: argparse.Namespace) -> int:
    _, submission = read_submission(chosen.submission)
    product = submission["product"]
    octets = write_challenge(
        {
            "body": chosen.body,
            "nonce": secrets.token_hex(32),
            "organization": submission["organization"],
            "product": {"name": product["name"], "version": product["version"]},
            "profile": chosen.profile,
            "plan_sha256": chosen.plan,
            "order_seed": secrets.randbelow(2**32),
            "from": utc_text(moment_given(chosen.begin, "--from")),
            "until": utc_text(moment_given(chosen.until, "--until")),
        },
        load_private(chosen.key),
    )
    print(write_new(chosen.output, octets))
    return 0


def _show(chosen: argparse.Namespace) -> int:
    challenge = challenge_of(chosen.challenge)
    told = challenge.told
    for name, value in (
        ("body", f"{told['body']} (its signature was not checked)"),
        ("organization", told["organization"]),
        ("product", f"{told['product']['name']} {told['product']['version']}"),
        ("profile", told["profile"]),
        ("plan", told["plan_sha256"]),
        ("order seed", str(told["order_seed"])),
        ("window", f"{told['from']} to {told['until']}"),
        ("hash", challenge.sha256),
    ):
        print(f"{name}: {shown(value)}")
    return 0
