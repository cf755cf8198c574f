"""`bmwg keys init|add|revoke|show FOLDER`: a body's list of keys and identities by organization and role."""

from __future__ import annotations

import argparse
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bmwg.methodology.errors import ConfigError
from bmwg.reports.bundle.signing import load_private, load_public
from bmwg.reports.checker.findings import shown
from bmwg.reports.store.files import utc_text, write_atomically
from bmwg.reports.submissions.documents import moment_given, octets_of, read_document
from bmwg.reports.submissions.keyring import (
    KIND,
    Role,
    identity_entry,
    key_entry,
    keys_in,
    pem_of,
    raw_of,
    read_keys,
    write_keys,
)
from bmwg.reports.submissions.trust import BODY_KEY, KEY_LIST


def add_parser(verbs: Any) -> None:
    """Add the verb to the command."""
    parser = verbs.add_parser("keys", help="keep a body's list of keys", description=__doc__)
    acts = parser.add_subparsers(title="acts", required=True, metavar="ACT")
    made = {}
    for name, handler, words in (
        ("init", _init, "write an empty list, and the body's public key beside it"),
        ("add", _add, "add a key or an identity"),
        ("revoke", _revoke, "say from when on one does not count, and why"),
        ("show", _show, "check the list and print it"),
    ):
        made[name] = acts.add_parser(name, help=words)
        made[name].add_argument("folder", type=Path, help="the registry's folder")
        made[name].set_defaults(handler=handler)
    for name in ("init", "add", "revoke"):
        made[name].add_argument("--key", type=Path, required=True, help="the body's private key")
    made["init"].add_argument("--body", required=True, help="name of the body")
    for name in ("add", "revoke"):
        which = made[name].add_mutually_exclusive_group(required=True)
        which.add_argument("--public", type=Path, help="the public key that is meant")
        which.add_argument(
            "--identity", help="an identity that signs by sigstore bundles, such as an address"
        )
        made[name].add_argument("--issuer", metavar="URL", help="who vouches for the identity")
    made["add"].add_argument("--organization", required=True, help="whose it is, as submissions name it")
    made["add"].add_argument("--role", required=True, choices=[role.value for role in Role])
    made["add"].add_argument(
        "--from", dest="begin", required=True, metavar="TIME", help="valid from (with zone)"
    )
    made["add"].add_argument("--until", required=True, metavar="TIME", help="valid until (with zone)")
    made["revoke"].add_argument("--at", required=True, metavar="TIME", help="from when on (with zone)")
    made["revoke"].add_argument("--why", required=True, help="the reason")


def _init(chosen: argparse.Namespace) -> int:
    signer = load_private(chosen.key)
    for name in (BODY_KEY, KEY_LIST):
        if (chosen.folder / name).exists():
            raise ConfigError("KEY-01", f"{chosen.folder / name}: exists already; no key is overwritten")
    chosen.folder.mkdir(parents=True, exist_ok=True)
    octets = write_keys({"body": chosen.body, "issued_at": utc_text(datetime.now(UTC)), "keys": []}, signer)
    write_atomically(chosen.folder / BODY_KEY, pem_of(signer.public_key))
    write_atomically(chosen.folder / KEY_LIST, octets)
    print(chosen.folder / KEY_LIST)
    return 0


def _add(chosen: argparse.Namespace) -> int:
    held = (
        chosen.organization,
        Role(chosen.role),
        utc_text(moment_given(chosen.begin, "--from")),
        utc_text(moment_given(chosen.until, "--until")),
    )
    if chosen.identity:
        entry = identity_entry(chosen.identity, _issuer(chosen), *held)
    else:
        entry = key_entry(load_public(chosen.public), *held)
    return _rewritten(chosen, lambda entries: [*entries, entry])


def _revoke(chosen: argparse.Namespace) -> int:
    if chosen.identity:
        meant = {"identity": chosen.identity, "issuer": _issuer(chosen)}
    else:
        meant = {"ed25519": raw_of(load_public(chosen.public))}
    revoked = {"at": utc_text(moment_given(chosen.at, "--at")), "why": chosen.why}

    def changed(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
        mine = [entry for entry in entries if entry.items() >= meant.items()]
        if not mine:
            what = chosen.identity or chosen.public
            raise ConfigError("KEY-05", f"{what}", expected="an entry of the list", found="none of it")
        return [entry | {"revoked": revoked} if entry in mine else entry for entry in entries]

    return _rewritten(chosen, changed)


def _issuer(chosen: argparse.Namespace) -> str:
    if not chosen.issuer:
        raise ConfigError(
            "KEY-05",
            f"identity {chosen.identity}",
            expected="--issuer, who vouches for it",
            found="none",
            hint="the certificate in a sigstore bundle names its issuer",
        )
    return str(chosen.issuer)


def _rewritten(chosen: argparse.Namespace, change: Any) -> int:
    """Write the list with changed entries, signed by the body anew; another's key leaves it as it was."""
    path, root = chosen.folder / KEY_LIST, load_public(chosen.folder / BODY_KEY)
    read_keys(path, root)  # what is not the body's own is not signed again
    told = dict(read_document(octets_of(path), KIND, str(path)).predicate)
    kind = "identities" if chosen.identity else "keys"
    told |= {kind: change(told.get(kind, [])), "issued_at": utc_text(datetime.now(UTC))}
    octets = write_keys(told, load_private(chosen.key))
    keys_in(octets, root, f"--key {chosen.key}: a list that would not be the body's; nothing was written")
    write_atomically(path, octets)
    print(path)
    return 0


def _show(chosen: argparse.Namespace) -> int:
    keyring = read_keys(chosen.folder / KEY_LIST, load_public(chosen.folder / BODY_KEY))
    now = datetime.now(UTC)
    print(f"body: {shown(keyring.body)}, key {keyring.root.keyid[:16]}")
    for key in keyring.keys.values():
        state = key.wrong_at(now) or "valid now"
        print(f"{key.key_id[:16]}  {key.role.value}  {shown(key.organization)}  {shown(state)}")
    for who in keyring.identities:
        state = who.wrong_at(now) or "valid now"
        print(f"{shown(who.name)}  {who.role.value}  {shown(who.organization)}  {shown(state)}")
    return 0
