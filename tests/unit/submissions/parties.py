"""A body, a vendor, a lab and a witness with keys, and the runs that they make and hand in."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "verify"))

import replayable

from bmwg.reports.bundle.make import folder_evidence, make_bundle, submission_data
from bmwg.reports.bundle.signing import load_private, load_public, make_key
from bmwg.reports.checker.reading import read_evidence
from bmwg.reports.checker.source import FolderFiles
from bmwg.reports.store.codec import plan_sha256
from bmwg.reports.submissions.announcements import append
from bmwg.reports.submissions.challenge import challenge_of, write_challenge
from bmwg.reports.submissions.countersign import countersigned
from bmwg.reports.submissions.documents import moment
from bmwg.reports.submissions.keyring import Role, key_entry, write_keys
from bmwg.reports.submissions.standing import lines
from bmwg.reports.submissions.trust import trust_of
from bmwg.reports.verify.certified import certified

VENDOR, LAB, WITNESS, OTHER, BODY = (
    "Example Networks",
    "Second Lab",
    "Third Witness",
    "Other Networks",
    "Example Body",
)
ROLES = {"vendor": VENDOR, "lab": LAB, "witness": WITNESS, "other": OTHER}
BEGIN, END = "2026-01-31T07:00:00Z", "2026-02-28T00:00:00Z"  # made runs begin on 2026-01-31 at 08:00
WITHIN = "2026-02-01T00:00:00Z"
VALID = ("2026-01-01T00:00:00Z", "2026-12-31T00:00:00Z")
PATHS = ("wire", "pvp")
SALT = b"0123456789abcdef"


def submission_of(organization: str, version: str = "4.2.1") -> bytes:
    """Return the submission block of an organization that measured the example's product."""
    return (
        f"schema: submission/1.0\norganization: {organization}\nproduct:\n  name: Example Forwarder\n"
        f'  version: "{version}"\ncontact: ["a@example.net"]\n'
    ).encode("ascii")


@cache
def planned(place: Path) -> str:
    """Return the hash of the plan that all these runs have."""
    folder = replayable.make_run(place / "plan", simulated=False, paths=PATHS, order_seed=1)
    return plan_sha256(read_evidence(FolderFiles(folder)).plan)


@dataclass(frozen=True)
class World:
    """A place with keys, and a folder of trust that the body keeps."""

    place: Path
    made_in: Path | None = None  # of another world, whose runs this one copies

    @property
    def trust(self) -> Path:
        """The body's folder."""
        return self.place / "registry"

    @property
    def log(self) -> Path:
        """The body's copy of the vendor's log."""
        return self.trust / "announced" / "example-networks.jsonl"

    def key(self, name: str) -> Path:
        """Return a private key, made once."""
        path = self.place / f"{name}.key"
        if not path.exists():
            make_key(path)
        return path

    def public(self, name: str) -> Path:
        """Return a public key."""
        return self.key(name).with_name(f"{name}.key.pub")

    def entry(self, name: str, **changes: Any) -> dict[str, Any]:
        """Return the entry of a party's key in the body's list."""
        made = key_entry(
            load_public(self.public(name)), ROLES[name], Role("vendor" if name == "other" else name), *VALID
        )
        return made | changes

    def lists(
        self, *entries: Mapping[str, Any], by: str = "body", thresholds: Mapping[str, int] | None = None
    ) -> None:
        """Have the body list these keys; without any, all parties'."""
        told = {
            "body": BODY,
            "issued_at": WITHIN,
            "keys": list(entries) or [self.entry(name) for name in ROLES],
            **({"thresholds": thresholds} if thresholds else {}),
        }
        self.trust.mkdir(exist_ok=True)
        shutil.copy(self.public("body"), self.trust / "body.pem")
        (self.trust / "keys.json").write_bytes(write_keys(told, load_private(self.key(by))))

    def challenge(self, name: str = "challenge", by: str = "body", **changes: Any) -> Path:
        """Return a challenge of the vendor's product, with changes."""
        told = {
            "body": BODY,
            "nonce": "ab" * 32,
            "organization": VENDOR,
            "product": {"name": "Example Forwarder", "version": "4.2.1"},
            "profile": "quick",
            "plan_sha256": planned(self.made_in or self.place),
            "order_seed": 3,
            "from": BEGIN,
            "until": END,
        }
        path = self.place / f"{name}.json"
        path.write_bytes(write_challenge(told | changes, load_private(self.key(by))))
        return path

    def run(self, name: str, challenge: Path | None = None, **options: Any) -> Path:
        """Return the folder of a run of this id that takes a challenge, with the trials of the options."""
        made = _run(self.made_in or self.place, tuple(sorted(options.items())))
        folder = self.place / "runs" / name
        if folder.exists():
            shutil.rmtree(folder)
        shutil.copytree(made, folder)
        run, platform = (
            json.loads((folder / part).read_text("ascii")) for part in ("run.json", "platform.json")
        )
        run["run_id"] = platform["run_id"] = name
        if challenge is not None:
            run["challenge_sha256"] = challenge_of(challenge).sha256
            shutil.copy(challenge, folder / "challenge.json")
        (folder / "platform.json").write_text(json.dumps(platform, indent=1) + "\n", encoding="ascii")
        replayable.forge(folder, run, replayable.bodies(folder))
        return folder

    def bundle(
        self,
        run: Path,
        key: str = "vendor",
        organization: str = VENDOR,
        *,
        version: str = "4.2.1",
        salt: bytes | None = None,
    ) -> Path:
        """Return the bundle of a run as an organization hands it in."""
        octets = submission_of(organization, version)
        path = self.place / f"{run.name}-{key}.tar"
        path.unlink(missing_ok=True)
        return make_bundle(
            run,
            path,
            evidence=folder_evidence(run, submission_data(octets, "submission.yaml")),
            findings=[],
            submission_octets=octets,
            signer=load_private(self.key(key)),
            salt=salt,
        )

    def announced(
        self, run: Path, *acts: str, log: Path | None = None, key: str = "vendor", said: str = ""
    ) -> Path:
        """Announce a run."""
        header = read_evidence(FolderFiles(run)).run
        assert header is not None
        for act in acts:
            self.announced_header(header, act, log=log, key=key, said=said)
        return log or self.log

    def announced_header(
        self,
        header: Mapping[str, Any],
        act: str = "start",
        *,
        log: Path | None = None,
        key: str = "vendor",
        said: str = "",
    ) -> None:
        """Announce a run by its header."""
        path = log or self.log
        path.parent.mkdir(parents=True, exist_ok=True)
        append(path, header, act, load_private(self.key(key)), at=WITHIN, said=said)


@cache
def _run(place: Path, options: tuple[tuple[str, Any], ...]) -> Path:
    given: dict[str, Any] = {"simulated": False, "paths": PATHS, "order_seed": 3, **dict(options)}
    number = len(list((place / "made").glob("*"))) if (place / "made").is_dir() else 0
    return replayable.make_run(place / "made", f"made-{number}", **given)


@dataclass
class Case:
    """A bundle as somebody hands it in, to be judged before a body at a time."""

    world: World
    bundle: Path
    at: str = WITHIN
    beside: Path | None = None
    said: list[str] = field(default_factory=list)

    def shown(self) -> str:
        """Return what a reader is told."""
        verified = certified(
            self.bundle, None, trust_of(self.world.trust), at=moment(self.at), reproduction=self.beside
        )
        standing = lines(verified.standing) if verified.standing else []
        return "\n".join([*map(str, verified.findings), *standing, *self.said])


Make = Callable[[World], Case]
LATE = {"from": "2026-01-01T00:00:00Z", "until": "2026-01-02T00:00:00Z"}  # a window before made runs


def case_of(name: str, asked: Mapping[str, Any] | None = None, **handed_in: Any) -> Make:
    """Return what makes a case under a name: a run of a challenge that asks for this, and its bundle."""

    def make(world: World) -> Case:
        challenge = None if asked is None else world.challenge(**asked)
        return Case(world, world.bundle(world.run(name, challenge), **handed_in))

    make.__name__ = name
    return make


def signed_by(world: World, bundle: Path, name: str) -> Path:
    """Return the bundle with a signature more."""
    path = bundle.with_name(f"{bundle.stem}+{name}.tar")
    countersigned(bundle, path, load_private(world.key(name)))
    return path
