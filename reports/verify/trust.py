"""Who signed, what that shows, and what nobody can show: said on the first lines, beside the verdict.

A signature proves who, not that (design decision 18). `REQUIRABLE` are what a reader can ask for by name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from bmwg.methodology.errors import ConfigError
from bmwg.reports.checker.findings import shown
from bmwg.schemas.validation import near_hint

SIGNER_UNKNOWN = 6  # exit status: everything is consistent, and nobody whom the reader trusts answers for it
REQUIREMENT_UNMET = 7  # exit status: consistent, and something that was asked for by --require is not there
CANNOT_SHOW = (
    "nobody can show by a bundle alone that the trials took place: trials that the key's owner invented "
    "cannot be detected without a challenge or a witness"
)
NOR = (
    "nor: latencies, CPU time, steal and frames dropped at a full backlog, which are counted once; "
    "facts of the platform that no trial contradicts, "
    "and what the doctor found; that the toolkit measured which the header names; how many runs were made "
    "and not handed in, whether this one is the best cells of several, or the best of several latencies; "
    "trials that were left out where all clocks were closed over the gap"
)
_FINGERPRINT = 64  # hexadecimal digits


@dataclass(frozen=True, slots=True, kw_only=True)
class Signature:
    """What a bundle's envelope shows. `trusted` is whether the reader's own key made it."""

    key_id: str
    trusted: bool


def who(
    signature: Signature | None,
    submission: Mapping[str, Any] | None,
    run: Mapping[str, Any],
    trusted_key: str = "the key that you named",
) -> list[str]:
    """Return the lines on who signed what and when, what that shows and what nobody can show."""
    said = []
    if signature is None:
        said.append("not signed: anyone could have changed these files")
    else:
        known = trusted_key if signature.trusted else "a key that you did not name"
        said.append(f"signed by: {known}, fingerprint {shown(signature.key_id[:_FINGERPRINT])}")
    product = (submission or {}).get("product") or {}
    if submission is not None:
        told = "says" if signature is not None and signature.trusted else "says, and nobody shows it"
        said.append(
            f"submission {told}: organization {shown(submission['organization'])}, product "
            f"{shown(product.get('name', ''))}, version {shown(product.get('version', ''))}"
        )
    said.append(
        f"measured: {run['started_at']} to {run['ended_at'] or 'no end'}, by the clock of its machine"
    )
    if signature is not None and signature.trusted:
        said.append("this shows: the key's owner answers for these octets, and they are as they were signed")
    said += [CANNOT_SHOW, NOR]
    return said


def _signed(verified: Any) -> str:
    return "" if verified.signature and verified.signature.trusted else "no signature by a key that you named"


def _rendered(verified: Any) -> str:
    if verified.unchecked:
        return f"not compared: {', '.join(verified.unchecked)}"
    return "" if verified.rendered else "the bundle holds no report"


def _known(verified: Any) -> str:
    return "; ".join(verified.strangers)


def _undoubted(verified: Any) -> str:
    return "; ".join(verified.questions)


def _level(wanted: str) -> Callable[[Any], str]:
    """Return what says why a bundle does not stand at a level, or above it."""

    def lacking(verified: Any) -> str:
        made = verified.standing
        if made is None:
            return "only a bundle has a level, before a body that you trust (--trust FOLDER)"
        levels = [level.value for level in type(made.level)]
        return "" if levels.index(made.level.value) >= levels.index(wanted) else made.why_not

    return lacking


REQUIRABLE: Mapping[str, Callable[[Any], str]] = {
    "signed": _signed,
    "checked-report": _rendered,
    "known-toolkit": _known,
    "no-questions": _undoubted,
    **{name: _level(name) for name in ("challenged", "witnessed", "reproduced")},
}


def required(text: str) -> tuple[str, ...]:
    """Return the names in a list with commas. Raises ConfigError VER-38 for one that nobody knows."""
    names = tuple(name.strip() for name in text.split(",") if name.strip())
    for name in names:
        if name not in REQUIRABLE:
            raise ConfigError(
                "VER-38",
                "verify --require",
                expected=f"some of {', '.join(REQUIRABLE)}",
                found=name,
                hint=near_hint(name, REQUIRABLE),
            )
    return names


def unmet(verified: Any, names: tuple[str, ...]) -> Iterator[str]:
    """Say which requirements a verification does not meet, and why."""
    for name in names:
        if why := REQUIRABLE[name](verified):
            yield f"required and not there: {name}: {why}"
