"""Adds a signature, a stamp or a switch's counters to a bundle: a new archive, whose other parts stay."""

from __future__ import annotations

from pathlib import Path

from bmwg.methodology.errors import ConfigError
from bmwg.reports.bundle.archive import (
    COUNTERS_PART,
    ENVELOPE_PART,
    LIMITS,
    SIGSTORE_PART,
    STAMPS_PART,
    Archive,
    write_archive,
)
from bmwg.reports.bundle.signing import Signed, read_envelope
from bmwg.reports.checker.strict import strict_json
from bmwg.reports.store.checks import check_document
from bmwg.reports.submissions.counters import sign_counters
from bmwg.reports.submissions.documents import octets_of
from bmwg.reports.submissions.envelope import Signer
from bmwg.reports.submissions.sigstore import with_bundle
from bmwg.reports.submissions.stamps import Stamp, with_stamp

_RUN = "run.json"


def countersigned(bundle: Path, output: Path, signer: Signer, counters: Path | None = None) -> None:
    """Write a bundle with one signature more, and with what its signer read from a switch (a file).

    Raises ConfigError SIG-03 (none before), SIG-04, WIT-01, WIT-03 (counters before), STORE-04, BND-01 to
    BND-04.
    """
    with Archive(bundle) as archive:
        parts = {ENVELOPE_PART: _signed(archive).sealed.also_signed(signer)}
        if counters is not None:
            parts[COUNTERS_PART] = _counters(archive, counters, signer)
        _write(archive, output, parts)


def stamped(bundle: Path, output: Path, key_id: str, reply: bytes) -> None:
    """Write a bundle with a stamp of one of its signatures.

    Raises ConfigError STAMP-01, STAMP-03, BND-01 to BND-04.
    """
    with Archive(bundle) as archive:
        before = archive.octets(STAMPS_PART) if archive.has(STAMPS_PART) else None
        _write(archive, output, {STAMPS_PART: with_stamp(before, Stamp(key_id=key_id, reply=reply))})


def identified(bundle: Path, output: Path, sigstore: bytes) -> None:
    """Write a bundle with a sigstore bundle over its statement, which is not judged here.

    Raises ConfigError SIG-03 (no statement), SIG-07, STORE-04, BND-01 to BND-04, BND-07.
    """
    with Archive(bundle) as archive:
        _signed(archive)
        before = archive.octets(SIGSTORE_PART) if archive.has(SIGSTORE_PART) else None
        _write(archive, output, {SIGSTORE_PART: with_bundle(before, sigstore)})


def statement_of(bundle: Path) -> bytes:
    """Return the statement that parties sign. Raises ConfigError SIG-01, SIG-03, BND-01 to BND-04."""
    with Archive(bundle) as archive:
        return _signed(archive).sealed.payload


def signature_of(bundle: Path, beginning: str) -> tuple[str, bytes]:
    """Return a signature of a bundle and its key's id, of which the beginning is given.

    Raises ConfigError SIG-05.
    """
    with Archive(bundle) as archive:
        signatures = _signed(archive).sealed.signatures
    found = [(key_id, octets) for key_id, octets in signatures.items() if key_id.startswith(beginning)]
    if len(found) != 1:
        raise ConfigError(
            "SIG-05",
            f"{bundle}: whose signature",
            expected="the beginning of one key's id (--of)",
            found=f"{len(found)} of {', '.join(key_id[:16] for key_id in signatures)}",
        )
    return found[0]


def _counters(archive: Archive, path: Path, signer: Signer) -> bytes:
    if archive.has(COUNTERS_PART):
        raise ConfigError(
            "WIT-03", f"{archive.path}: counters", expected="a bundle without any", found=COUNTERS_PART
        )
    run = strict_json(archive.octets(_RUN), _RUN, LIMITS[_RUN])
    check_document(run, "run", _RUN)
    return sign_counters(octets_of(path), str(path), run, signer)


def _signed(archive: Archive) -> Signed:
    if not archive.has(ENVELOPE_PART):
        raise ConfigError(
            "SIG-03", f"{archive.path}", expected="a signature of who made the bundle", found="none"
        )
    return read_envelope(archive.octets(ENVELOPE_PART))


def _write(archive: Archive, output: Path, more: dict[str, bytes]) -> None:
    parts = {part: archive.octets(part) for part in archive.parts}
    write_archive(output, {**parts, **more})
