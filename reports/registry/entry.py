"""One submission in a registry, and what a verifier says of its bundle.

    keys/<organization>.pem
    published/<toolkit version>/<organization>/<product>-<version>-<profile>/README.md
                                                                            /submission.bmwg.tar

Names are lower case, with dashes for what is no letter, digit, dot or dash.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

PUBLISHED, KEYS = "published", "keys"
BUNDLE, README = "submission.bmwg.tar", "README.md"
_NAME = re.compile(r"[a-z0-9][a-z0-9.-]{0,99}")
_OTHER = re.compile(r"[^a-z0-9.]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Examined:
    """What verifying a bundle found. `findings` are contradictions; `state` says why no grade can be given.

    `trusted` is whether the organization's key in the registry signed it. `grades` are (document,
    benchmark, grade).
    """

    findings: tuple[str, ...]
    trusted: bool
    run_id: str = ""
    toolkit_version: str = ""
    organization: str = ""
    product: str = ""
    version: str = ""
    profile: str = ""
    state: tuple[str, ...] = ()
    grades: tuple[tuple[str, str, str], ...] = ()


Examine = Callable[[Path, Path | None], Examined]


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One submission folder; `examined` is None when there is no bundle to examine."""

    folder: Path
    toolkit_version: str
    organization: str
    name: str
    examined: Examined | None

    @property
    def place(self) -> str:
        """The folder's way from the registry's root."""
        return f"{PUBLISHED}/{self.toolkit_version}/{self.organization}/{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing against the convention: the rule, where, and what was expected and found."""

    rule_id: str
    place: str
    expected: str
    found: str

    def __str__(self) -> str:
        return f"{self.rule_id}  {self.place}\n          expected {self.expected}, found {self.found}"


def slug(text: str) -> str:
    """Return a name as it stands in a folder's name."""
    return _OTHER.sub("-", text.lower()).strip("-.")


def is_name(text: str) -> bool:
    """Whether a folder of the convention can be called so."""
    return _NAME.fullmatch(text) is not None and ".." not in text
