"""One submission in a registry, and what a verifier says of its bundle.

    accepted.txt                     places in the order of acceptance, each with its time; only ever added to
    body.pem, keys.json, stamps/, announced/    what the body adds (reports/submissions/trust.py)
    pages/, index.md, index.html     the registry's own rendering, written by `bmwg registry index`
    keys/<organization>.pem          and <organization>_1.pem, _2.pem ...: keys of its earlier years
    published/<toolkit version>/<organization>/<product>-<version>-<profile>/README.md
                                                                            /submission.bmwg.tar

Names are lower case, with dashes for what is no letter, digit, dot or dash.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from bmwg.methodology.records import Outcome
from bmwg.reports.submissions.reproduction import Candidate
from bmwg.reports.submissions.standing import Standing

PUBLISHED, KEYS = "published", "keys"
ACCEPTED = "accepted.txt"
EARLIER = "_"  # before the number of an earlier key: in the name of no organization
PAGES, GENERATED = "pages", ("index.md", "index.html")
BUNDLE, README = "submission.bmwg.tar", "README.md"
_NAME = re.compile(r"[a-z0-9][a-z0-9.-]{0,99}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Examined:
    """What verifying a bundle found. `findings` are contradictions; `state` says why no grade can be given.

    `trusted` is whether the organization's key in the registry signed it. `grades` are (document,
    benchmark, grade). `redacted` is whether telling texts are hidden, `beside` names parts that were rendered
    elsewhere, and `trials` has a digest of what each trial counted. `said` are the lines of who signed what,
    what that shows, what nobody can show, and what a reader should ask. `functions` and `options` are those
    of the cells. `candidate` has what is held against another party's run, `answers` are those of the run,
    `marks` say what may bound the figures of some beside the device, by the answer's id.
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
    redacted: bool = True
    beside: tuple[str, ...] = ()
    trials: frozenset[str] = frozenset()
    said: tuple[str, ...] = ()
    functions: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    candidate: Candidate | None = None
    answers: tuple[Outcome, ...] = ()
    marks: Mapping[str, str] = field(default_factory=dict)

    @property
    def standing(self) -> Standing | None:
        """How it stands before the registry's body; None where nothing could be read."""
        return self.candidate.standing if self.candidate else None


Examine = Callable[[Path, Path | None], Examined]


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One submission folder; `examined` is None when there is no bundle to examine.

    `accepted` is when it was accepted; empty where nobody wrote it down.
    """

    folder: Path
    toolkit_version: str
    organization: str
    name: str
    examined: Examined | None
    accepted: str = ""

    @property
    def badge(self) -> str:
        """The way of the drawing that says its level."""
        return self.page.removesuffix("html") + "svg"

    @property
    def place(self) -> str:
        """The folder's way from the registry's root."""
        return f"{PUBLISHED}/{self.toolkit_version}/{self.organization}/{self.name}"

    @property
    def page(self) -> str:
        """The way of the page that the registry renders of it."""
        return f"{PAGES}/{self.toolkit_version}/{self.organization}/{self.name}.html"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing against the convention: the rule, where, and what was expected and found."""

    rule_id: str
    place: str
    expected: str
    found: str

    def __str__(self) -> str:
        return f"{self.rule_id}  {self.place}\n          expected {self.expected}, found {self.found}"


def is_name(text: str) -> bool:
    """Whether a folder of the convention can be called so."""
    return _NAME.fullmatch(text) is not None and ".." not in text
