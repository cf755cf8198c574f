"""`bmwg sign BUNDLE`: add a signature of another party to a bundle, with counters of a switch, or a stamp."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from bmwg.methodology.errors import ConfigError
from bmwg.reports.bundle.signing import load_private
from bmwg.reports.submissions.countersign import (
    countersigned,
    identified,
    signature_of,
    stamped,
    statement_of,
)
from bmwg.reports.submissions.documents import octets_of, write_new
from bmwg.reports.submissions.sigstore import MAX_BUNDLE_OCTETS
from bmwg.reports.submissions.stamps import MAX_REPLY_OCTETS, request


def add_parser(verbs: Any) -> None:
    """Add the verb to the command."""
    parser = verbs.add_parser("sign", help="sign somebody's bundle as well, or stamp it", description=__doc__)
    parser.add_argument("bundle", type=Path, help="the bundle; it is never changed")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--key", type=Path, help="private key that signs as well, such as a witness's")
    what.add_argument(
        "--ask", type=Path, metavar="FILE", help="write the request for a stamp (RFC 3161); nothing is sent"
    )
    what.add_argument("--stamp", type=Path, metavar="FILE", help="add the authority's reply")
    what.add_argument(
        "--statement", type=Path, metavar="FILE", help="write what is signed, for a tool of sigstore"
    )
    what.add_argument(
        "--sigstore", type=Path, metavar="FILE", help="add the sigstore bundle that signs the statement"
    )
    parser.add_argument(
        "--counters",
        type=Path,
        metavar="FILE",
        help="what you read from a switch before and after the run, to be signed as well, with --key",
    )
    parser.add_argument(
        "--of", default="", metavar="KEY-ID", help="beginning of the key whose signature is stamped"
    )
    parser.add_argument("--output", type=Path, help="bundle to write, with --key, --stamp and --sigstore")
    parser.set_defaults(handler=handle)


def handle(chosen: argparse.Namespace) -> int:
    """Write a bundle with more, or a request, and print where."""
    if chosen.counters and not chosen.key:
        raise ConfigError("BND-01", "sign --counters", expected="--key, of who read them", found="none")
    if chosen.ask:
        _, signature = signature_of(chosen.bundle, chosen.of)
        print(write_new(chosen.ask, request(signature)))
        return 0
    if chosen.statement:
        print(write_new(chosen.statement, statement_of(chosen.bundle)))
        return 0
    if chosen.output is None:
        raise ConfigError("BND-01", "sign", expected="--output, a bundle to write", found="none")
    if chosen.key:
        countersigned(chosen.bundle, chosen.output, load_private(chosen.key), chosen.counters)
    elif chosen.sigstore:
        identified(chosen.bundle, chosen.output, octets_of(chosen.sigstore, MAX_BUNDLE_OCTETS))
    else:
        key_id, _ = signature_of(chosen.bundle, chosen.of)
        stamped(chosen.bundle, chosen.output, key_id, octets_of(chosen.stamp, MAX_REPLY_OCTETS))
    print(chosen.output)
    return 0
