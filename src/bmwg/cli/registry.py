"""`bmwg registry check|index FOLDER`: check a public registry of submissions, or write its index page."""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import tempfile
from importlib import import_module
from pathlib import Path
from typing import Any

from bmwg.methodology.errors import ConfigError
from bmwg.reports.registry import Checked, Examined, check
from bmwg.reports.registry.against import changed
from bmwg.reports.registry.check import place_of
from bmwg.reports.registry.entry import ACCEPTED, BUNDLE, KEYS, PAGES, README
from bmwg.reports.registry.names import slug
from bmwg.reports.registry.pages import generated, strange
from bmwg.reports.store.files import write_atomically
from bmwg.resources.provenance import GIT_DEADLINE_S

_AROUND = frozenset({"wall_ns"})  # the time around what an execution counted
_LINK = "120000"  # the mode of a link in a tree of git


def add_parser(verbs: Any) -> None:
    """Add the verb to the command."""
    parser = verbs.add_parser(
        "registry", help="check a registry of submissions, write its index", description=__doc__
    )
    parser.add_argument(
        "act",
        choices=("check", "index", "add"),
        help="check: say what is wrong; index: write the pages too; add: put a bundle in its place",
    )
    parser.add_argument("folder", type=Path, help="the registry's folder")
    parser.add_argument(
        "--against", metavar="REF", help="check: hold it against the registry at a git commit"
    )
    parser.add_argument("--bundle", type=Path, help="add: the bundle")
    parser.add_argument(
        "--key", type=Path, help="add: the organization's public key, where it has none there"
    )
    parser.add_argument("--readme", type=Path, help="add: README.md with a section '## Reproduce'")
    parser.set_defaults(handler=handle)


def handle(chosen: argparse.Namespace) -> int:
    """Print every finding; 1 when there is one."""
    if chosen.act == "add":
        print(_add(chosen.folder, chosen.bundle, chosen.key, chosen.readme))
    checked = check(chosen.folder, examine)
    findings = list(checked.findings)
    if chosen.against:
        with tempfile.TemporaryDirectory(prefix="bmwg-registry-") as before:
            _checkout(chosen.folder, chosen.against, Path(before))
            findings += changed(Path(before), chosen.folder)
    if chosen.act == "index":
        _write(chosen.folder, checked)
    elif chosen.act == "check":
        findings += strange(chosen.folder, lambda: generated(checked))
    for finding in findings:
        print(finding)
    print(f"{len(checked.entries)} submissions, {len(findings)} findings")
    return 1 if findings else 0


def _write(root: Path, checked: Checked) -> None:
    """Write the pages of the registry; one whose submission is not published any more is taken away."""
    made = generated(checked)
    for path in sorted((root / PAGES).rglob("*.html")):
        if path.relative_to(root).as_posix() not in made and (path.is_symlink() or path.is_file()):
            path.unlink()
    for name, octets in made.items():
        path = root / name
        if path.is_symlink():
            path.unlink()
        _unlinked(root, path)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, octets)
        path.chmod(0o644)  # it is published
        print(path)


def _checkout(folder: Path, ref: str, to: Path) -> None:
    """Write the registry as it was at a commit. Raises ConfigError REG-09 where git cannot give it.

    Its objects are read, not what `git archive` makes of them: attributes of the tree leave nothing out and
    change no octet. Links are not written.
    """
    git = ["git", "-C", str(folder)]
    try:
        commit = _asked([*git, "rev-parse", "--verify", "--end-of-options", f"{ref}^{{commit}}"]).strip()
        for entry in filter(None, _asked([*git, "ls-tree", "-r", "-z", commit.decode("ascii")]).split(b"\0")):
            said, _, name = entry.partition(b"\t")
            mode, kind, blob = said.decode("ascii").split(" ")
            path = (to / os.fsdecode(name)).resolve()
            if kind == "blob" and mode != _LINK and path.is_relative_to(to.resolve()):
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(_asked([*git, "cat-file", "blob", blob]))
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        words = getattr(error, "stderr", b"") or str(error).encode("utf-8", "replace")
        raise _no_commit(folder, ref, words.decode("utf-8", "replace").strip()) from error
    if not any(to.iterdir()):
        raise _no_commit(folder, ref, "no file")


def _asked(command: list[str]) -> bytes:
    done = subprocess.run(command, check=True, capture_output=True, timeout=GIT_DEADLINE_S)
    return done.stdout


def _no_commit(folder: Path, ref: str, found: str) -> ConfigError:
    expected = "a commit of the registry that is not empty"
    return ConfigError("REG-09", f"{folder}: at {ref}", expected=expected, found=found)


def _unlinked(root: Path, path: Path) -> Path:
    """Return a path below a registry. Raises ConfigError REG-09 where a link leads elsewhere."""
    for one in (path, *path.parents):
        if one == root:
            break
        if one.is_symlink():
            raise ConfigError("REG-09", f"{one}", expected="a folder or file of the registry", found="a link")
    return path


def _add(root: Path, bundle: Path | None, key: Path | None, readme: Path | None) -> Path:
    """Put a bundle into its place in a registry, and the place at the end of the list of accepted ones."""
    if bundle is None or readme is None:
        raise ConfigError("REG-09", "registry add", expected="--bundle and --readme", found="not both")
    seen = examine(bundle, key)
    if seen.findings or not seen.organization:
        found = "; ".join(seen.findings[:3]) or "no submission.yaml"
        raise ConfigError("REG-09", f"{bundle}", expected="a bundle that verifies, of a product", found=found)
    place = place_of(seen)
    folder = _unlinked(root, root / place)
    own = _unlinked(root, root / KEYS / f"{slug(seen.organization)}.pem")
    order = _unlinked(root, root / ACCEPTED)
    if folder.exists():
        raise ConfigError("REG-09", f"{folder}", expected="a place that is free", found="a submission")
    folder.mkdir(parents=True)
    shutil.copyfile(bundle, folder / BUNDLE)
    shutil.copyfile(readme, folder / README)
    if key is not None and not own.exists():
        own.parent.mkdir(exist_ok=True)
        shutil.copyfile(key, own)
    with order.open("a", encoding="utf-8") as file:
        file.write(f"{place}\n")
    return folder


def _digests(verified: Any) -> frozenset[str]:
    """Return digests of what each trial or repetition counted, whatever it is called and however long it was.

    Of frames there is one of the counts, with the gaps in ns that no two trials share, and one of the
    latencies. Where a tester tells neither, its time is all that tells trials apart.
    """
    counted = []
    for trial in verified.evidence.trials:
        result = trial.trial.result
        if any(stream.received_frames for stream in result.streams):
            told = any(stream.largest_gap_ns or stream.effective_duration_ns for stream in result.streams)
            counted.append(repr(result.streams if told else (result.wall_time_ns, result.streams)))
            counted += [repr(one.fingerprint) for one in trial.delays if one.telling]
    counted += [
        repr(sorted((key, str(value)) for key, value in one.body.result.items() if key not in _AROUND))
        for one in verified.evidence.executions
    ]
    return frozenset(hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:32] for text in counted)


def examine(bundle: Path, key: Path | None) -> Examined:
    """Verify a bundle as `bmwg verify` does, and say what a registry asks of it."""
    try:
        verifier: Any = import_module("bmwg.reports.verify.verify")
        signing: Any = import_module("bmwg.reports.bundle.signing")
    except ModuleNotFoundError as error:
        raise ConfigError("REG-09", "registry", expected="a verifier of bundles", found=str(error)) from error
    try:
        trusted = signing.load_public(key) if key else None
    except ConfigError as error:
        return Examined(findings=(str(error),), trusted=False)
    verified = verifier.verify_bundle(bundle, trusted)
    findings = tuple(str(finding) for finding in verified.findings)
    evidence = verified.evidence
    if evidence is None or evidence.run is None:
        return Examined(findings=findings or ("no run could be read",), trusted=False)
    submission = evidence.submission or {}
    product = submission.get("product", {})
    judgement = verified.judgement
    return Examined(
        findings=findings,
        trusted=verified.trust == verifier.TRUSTED,
        run_id=evidence.run["run_id"],
        toolkit_version=evidence.run["toolkit"]["version"],
        organization=submission.get("organization", ""),
        product=product.get("name", ""),
        version=product.get("version", ""),
        profile=evidence.run["profile"]["name"],
        state=(*(judgement.state if judgement else ()), *verified.strangers),
        redacted=_redacted(evidence),
        said=tuple(_said(verified)),
        beside=(*verified.rendered, *verified.unchecked),
        trials=_digests(verified),
        grades=tuple((one.document, one.benchmark, one.grade.value) for one in judgement.grades)
        if judgement
        else (),
    )


def _said(verified: Any) -> list[str]:
    """Return what a reader of a published page has to know of the bundle's trust, in sentences."""
    trust: Any = import_module("bmwg.reports.verify.trust")
    evidence = verified.evidence
    told = trust.who(
        verified.signature, evidence.submission, evidence.run, "a key of the organization in this registry"
    )
    return [*told, *(f"question: {text}" for text in verified.questions)]


def _redacted(evidence: Any) -> bool:
    """Whether a run hides what tells of machines and places: no openings, and records that say so."""
    base = (evidence.platform or {}).get("base", {}).get("before") or {}
    return "seals" not in evidence.run and "seals" not in (evidence.platform or {}) and "redaction" in base
