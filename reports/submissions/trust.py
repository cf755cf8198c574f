"""What a reader trusts, as a folder: a body's key and list of keys, authorities of stamps, copies of logs.

    body.pem                     the body's own public key
    keys.json                    keys by organization and role, signed by it
    stamps/*.pem                 roots of time-stamping authorities
    trusted_root.json            keys of a sigstore: who vouches for identities, and its logs
    announced/<organization>.jsonl   the body's copies of the logs of announced runs

A registry is such a folder. Nothing else is asked, no network, no clock of somebody else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bmwg.methodology.errors import ConfigError
from bmwg.reports.bundle.signing import load_public
from bmwg.reports.submissions.announcements import Announced, Line, read_log, runs, unsigned
from bmwg.reports.submissions.keyring import Keyring, read_keys
from bmwg.reports.submissions.names import slug
from bmwg.reports.submissions.stamps import roots_of

BODY_KEY, KEY_LIST, STAMP_ROOTS, LOGS = "body.pem", "keys.json", "stamps", "announced"
TRUSTED_ROOT = "trusted_root.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Trust:
    """A folder that was read and checked.

    `announced` is by organization's file name, then run id; None: the body keeps no logs. `trusted_root` is
    the file of a sigstore that the body pins; it is read when a bundle has to be judged.
    """

    keyring: Keyring
    roots: tuple[Any, ...] = ()
    trusted_root: Path | None = None
    announced: Mapping[str, Mapping[str, Announced]] | None = None

    def of(self, organization: str) -> Mapping[str, Announced] | None:
        """Return the announced runs of an organization; None where the body keeps no logs."""
        return None if self.announced is None else self.announced.get(slug(organization), {})


def has_body(folder: Path) -> bool:
    """Whether a folder (such as a registry) names a body at all."""
    return (folder / BODY_KEY).is_file() or (folder / KEY_LIST).is_file()


def trust_of(folder: Path) -> Trust:
    """Read a folder; a log is that of the organization that its file is called by.

    Raises ConfigError KEY-02 to KEY-05, ANN-01, ANN-04 (a line that no key of the organization signed),
    STAMP-01.
    """
    keyring = read_keys(folder / KEY_LIST, load_public(folder / BODY_KEY))
    announced: dict[str, Mapping[str, Announced]] | None = {} if (folder / LOGS).is_dir() else None
    for path in sorted((folder / LOGS).glob("*.jsonl")):
        lines = announced_by(path, keyring)
        if announced is not None:
            announced[path.stem] = runs(lines)
    roots = roots_of(folder / STAMP_ROOTS) if (folder / STAMP_ROOTS).is_dir() else ()
    pinned = folder / TRUSTED_ROOT
    return Trust(
        keyring=keyring,
        roots=roots,
        announced=announced,
        trusted_root=pinned if pinned.is_file() else None,
    )


def announced_by(path: Path, keyring: Keyring) -> tuple[Line, ...]:
    """Read a log of the organization that its file is called by.

    Raises ConfigError ANN-01, ANN-04 for a line that no key of the organization signed.
    """
    lines = read_log(path)
    keys = [key.key for key in keyring.keys.values() if path.stem == slug(key.organization)]
    if wrong := unsigned(lines, keys):
        raise ConfigError(
            "ANN-04",
            f"{path}: line {wrong[0]}",
            expected=f"a signature by a key of {path.stem} that {KEY_LIST} names",
            found=f"none, and {len(wrong) - 1} more such lines",
        )
    return lines
