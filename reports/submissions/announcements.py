"""A log of announced runs: each line is signed by who runs, and bound to the line before.

The copy that counts is the body's, in a git repository: a vendor can write a log anew, but not that one.
"""

from __future__ import annotations

import errno
import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

from bmwg.methodology.errors import ConfigError
from bmwg.reports.checker.strict import strict_json
from bmwg.reports.store.canonical import canonical
from bmwg.reports.store.checks import check_document
from bmwg.reports.store.files import not_written
from bmwg.reports.submissions.documents import moment, octets_of
from bmwg.reports.submissions.envelope import Sealed, Signer, TrustedKey, read_sealed, seal

PAYLOAD = "application/vnd.bmwg.announcement+json"
ACTS = ("start", "end", "abort")
MAX_OCTETS = 16 << 20  # choice: of one log
MAX_LINE_OCTETS = 1 << 16
CLOCK_STEP = timedelta(minutes=5)  # choice: how far a clock may be set back between two lines
_FIRST = "0" * 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One announcement. `sha256` is that of its octets, by which the next is bound to it."""

    told: Mapping[str, Any]
    sealed: Sealed
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Announced:
    """What was said of one run: when it began, how it ended (empty: nothing was said), and in which words."""

    run_id: str
    header_sha256: str
    challenge_sha256: str | None
    began: str
    ended: str = ""
    act: str = ""
    said: str = ""
    number: int = 0

    @property
    def words(self) -> str:
        """What was said of it, in a sentence."""
        if not self.act:
            return f"announced at {self.began}; nothing was said of its end"
        ended = "ended" if self.act == "end" else "given up"
        return f"announced at {self.began}, {ended} at {self.ended}" + (f": {self.said}" if self.said else "")


def read_log(path: Path) -> tuple[Line, ...]:
    """Read a log and follow its chain; signatures are not checked.

    Raises ConfigError ANN-01, ANN-06, SIG-01, STORE-04.
    """
    data = octets_of(path, MAX_OCTETS)
    if len(data) > MAX_OCTETS:
        raise _broken(path, f"at most {MAX_OCTETS} octets", "more")
    if data and not data.endswith(b"\n"):
        raise _broken(path, "whole lines", "one that was cut off")
    return tuple(_lines(path, data.splitlines()))


def _lines(path: Path, raw: Sequence[bytes]) -> Iterator[Line]:
    prev, before = _FIRST, ""
    for number, octets in enumerate(raw, start=1):
        where = f"{path}: line {number}"
        if len(octets) > MAX_LINE_OCTETS:
            raise _broken(path, f"lines of at most {MAX_LINE_OCTETS} octets", f"a longer one, {number}")
        sealed = read_sealed(octets, where, PAYLOAD)
        told = strict_json(sealed.payload, where, MAX_LINE_OCTETS)
        check_document(told, "announcement", where)
        if told["prev"] != prev or told["number"] != number:
            raise _broken(
                path,
                f"line {number} bound to the one before, {prev[:16]}",
                f"{told['number']}, {told['prev'][:16]}",
            )
        _require_order(where, before, told["at"])
        prev, before = hashlib.sha256(octets).hexdigest(), told["at"]
        yield Line(told=told, sealed=sealed, sha256=prev)


def _require_order(where: str, before: str, at: str) -> None:
    """Raise ConfigError ANN-06 where a line is earlier than the one before by more than a small step."""
    if before and moment(at) + CLOCK_STEP < moment(before):
        raise ConfigError(
            "ANN-06",
            f"{where}: the time of an announcement",
            expected=f"{before}, when the line before was written, or later",
            found=at,
            hint="set the clock of the machine that announces, then announce again",
        )


def append(path: Path, run: Mapping[str, Any], act: str, signer: Signer, *, at: str, said: str = "") -> Line:
    """Add a line on a run, given as its header says.

    Raises ConfigError ANN-02, ANN-06, TestbedError STORE-08.
    """
    lines = read_log(path) if path.exists() else ()
    known = runs(lines).get(run["run_id"])
    begun = known is not None and known.header_sha256 == run["header_sha256"]
    if (act == "start" and known is not None) or (act != "start" and (not begun or (known and known.act))):
        found = known.words if known else "not announced"
        raise ConfigError(
            "ANN-02",
            f"{path}: {act} of run {run['run_id']}",
            expected="a run that is not announced"
            if act == "start"
            else "a run that was announced and did not end",
            found=found if act == "start" or known is None or begun else f"{found}, with another header",
        )
    told = {
        "schema": "announcement/1.0",
        "number": len(lines) + 1,
        "prev": lines[-1].sha256 if lines else _FIRST,
        "act": act,
        "run_id": run["run_id"],
        "header_sha256": run["header_sha256"],
        "challenge_sha256": run.get("challenge_sha256"),
        "at": at,
        "said": said,
    }
    check_document(told, "announcement", f"{path}: announce {act}")
    _require_order(str(path), lines[-1].told["at"] if lines else "", at)
    octets = seal(canonical(told).encode("ascii"), PAYLOAD, signer) + b"\n"
    try:
        with path.open("ab", buffering=0) as file:
            end = file.tell()
            if file.write(octets) != len(octets):  # a part of a line would end the log for ever
                file.truncate(end)
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            os.fsync(file.fileno())
    except OSError as error:
        raise not_written(path, error) from error
    return list(_lines(path, [*path.read_bytes().splitlines()]))[-1]


def runs(lines: Sequence[Line]) -> dict[str, Announced]:
    """Return what was said of each run, in the order of their announcement."""
    found: dict[str, Announced] = {}
    for line in lines:
        told = line.told
        before = found.get(told["run_id"])
        if told["act"] == "start" and before is None:
            found[told["run_id"]] = Announced(
                run_id=told["run_id"],
                header_sha256=told["header_sha256"],
                challenge_sha256=told["challenge_sha256"],
                began=told["at"],
                number=told["number"],
            )
        elif before is not None and told["act"] != "start" and not before.act:
            found[told["run_id"]] = Announced(
                run_id=before.run_id,
                header_sha256=before.header_sha256,
                challenge_sha256=before.challenge_sha256,
                began=before.began,
                ended=told["at"],
                act=told["act"],
                said=told["said"],
                number=before.number,
            )
    return found


def unsigned(lines: Sequence[Line], keys: Sequence[TrustedKey]) -> list[str]:
    """Return the lines that none of the keys signed, by number. Raises ConfigError SIG-02."""
    return [str(line.told["number"]) for line in lines if not line.sealed.signed_by(keys)]


def require_one_history(mine: Path, other: Path) -> None:
    """Raise ConfigError ANN-03 unless one of two copies of a log is the beginning of the other."""
    here, there = read_log(mine), read_log(other)
    for one, two in zip(here, there, strict=False):
        if one.sha256 != two.sha256:
            raise ConfigError(
                "ANN-03",
                f"{mine} and {other}: two histories",
                expected=f"the same line {one.told['number']}",
                found=" and ".join(f"{line.told['act']} of {line.told['run_id']}" for line in (one, two)),
                hint="keep both copies: each line is signed, so they show who told two stories",
            )


def _broken(path: Path, expected: str, found: str) -> ConfigError:
    return ConfigError("ANN-01", f"{path}: the log of announced runs", expected=expected, found=found)
