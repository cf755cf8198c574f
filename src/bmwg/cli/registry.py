"""`bmwg registry check|index FOLDER`: check a public registry of submissions, or write its index page."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Any

from bmwg.cli import as_json
from bmwg.methodology.errors import ConfigError
from bmwg.reports import rooms
from bmwg.reports.registry import Checked, Examined, check
from bmwg.reports.registry.against import changed
from bmwg.reports.registry.check import accepted_at, place_of
from bmwg.reports.registry.entry import ACCEPTED, BUNDLE, KEYS, PAGES, README, Examine
from bmwg.reports.registry.pages import generated, strange
from bmwg.reports.store.files import not_written, utc_text, write_atomically
from bmwg.reports.submissions.announcements import read_log, require_one_history
from bmwg.reports.submissions.names import slug
from bmwg.reports.submissions.reproduction import candidate
from bmwg.reports.submissions.trust import LOGS, Trust, announced_by, has_body, trust_of
from bmwg.resources.run.provenance import GIT_DEADLINE_S

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
    parser.add_argument(
        "--log", type=Path, help="add: an organization's log of announced runs, <organization>.jsonl"
    )
    parser.add_argument("--readme", type=Path, help="add: README.md with a section '## Reproduce'")
    as_json.add_argument(parser)
    parser.set_defaults(handler=handle)


def handle(chosen: argparse.Namespace) -> int:
    """Print every finding; 1 when there is one. Raises ConfigError REG-09 for `--json` of another act."""
    if chosen.json and chosen.act != "check":
        raise ConfigError("REG-09", "--json", expected="registry check", found=f"registry {chosen.act}")
    of_add = [name for name in ("log", "bundle", "key", "readme") if getattr(chosen, name)]
    if of_add and (chosen.act != "add" or (chosen.log and len(of_add) > 1)):
        expected = "registry add, of a bundle or of a log"
        found = f"registry {chosen.act} with {', '.join(f'--{name}' for name in of_add)}"
        raise ConfigError("REG-09", f"--{of_add[-1]}; nothing was done", expected=expected, found=found)
    trust = trust_of(chosen.folder) if has_body(chosen.folder) else None
    if chosen.act == "add" and chosen.log:
        print(_add_log(chosen.folder, chosen.log, trust))
        return 0
    if chosen.act == "add":
        print(_add(chosen.folder, chosen.bundle, chosen.key, chosen.readme, trust))
    checked = check(chosen.folder, examiner(chosen.folder, trust), (trust.announced if trust else None) or {})
    findings = list(checked.findings)
    if chosen.against:
        with tempfile.TemporaryDirectory(prefix="bmwg-registry-") as before:
            _checkout(chosen.folder, chosen.against, Path(before))
            findings += changed(Path(before), chosen.folder)
    if chosen.act == "index":
        _write(chosen.folder, checked)
    elif chosen.act == "check":
        findings += strange(chosen.folder, lambda: generated(checked))
    if chosen.json:
        told = {"submissions": len(checked.entries), "findings": list(map(str, findings))}
        as_json.show("registry", told)
        return 1 if findings else 0
    for finding in findings:
        print(finding)
    print(f"{len(checked.entries)} submissions, {len(findings)} findings")
    return 1 if findings else 0


def _write(root: Path, checked: Checked) -> None:
    """Write the pages of the registry; one whose submission is not published any more is taken away."""
    made = generated(checked)
    for path in sorted(one for form in ("html", "svg") for one in (root / PAGES).rglob(f"*.{form}")):
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


def _add(root: Path, bundle: Path | None, key: Path | None, readme: Path | None, trust: Trust | None) -> Path:
    """Put a bundle into its place in a registry, and the place at the end of the list of accepted ones."""
    if bundle is None or readme is None:
        raise ConfigError("REG-09", "registry add", expected="--bundle and --readme", found="not both")
    if not readme.is_file():
        raise ConfigError(
            "REG-09", f"{readme}", expected="a file with a section '## Reproduce'", found="none"
        )
    seen = examine(bundle, key, trust)
    if seen.findings or not seen.organization:
        found = "; ".join(seen.findings[:3]) or "no submission.yaml"
        raise ConfigError("REG-09", f"{bundle}", expected="a bundle that verifies, of a product", found=found)
    place = place_of(seen)
    folder = _unlinked(root, root / place)
    own = _unlinked(root, root / KEYS / f"{slug(seen.organization)}.pem")
    order = _unlinked(root, root / ACCEPTED)
    if folder.exists():
        raise ConfigError("REG-09", f"{folder}", expected="a place that is free", found="a submission")
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".adding-", dir=root) as beside:  # whole, or not in its place
            whole = Path(beside) / folder.name
            whole.mkdir()
            shutil.copyfile(bundle, whole / BUNDLE)
            shutil.copyfile(readme, whole / README)
            whole.rename(folder)
    except OSError as error:
        raise not_written(folder, error) from error
    if key is not None and not own.exists():
        own.parent.mkdir(exist_ok=True)
        shutil.copyfile(key, own)
    with order.open("a", encoding="utf-8") as file:
        file.write(f"{place} {utc_text(datetime.now(UTC))}\n")
    return folder


def _add_log(root: Path, log: Path, trust: Trust | None) -> Path:
    """Keep a longer copy of a log.

    Raises ConfigError ANN-03 for another history, ANN-04 for somebody else's line, REG-09 for no log.
    """
    path = root / LOGS / log.name
    if trust is None or log.suffix != ".jsonl" or slug(log.stem) != log.stem:
        expected = "a log called <organization>.jsonl, and a registry with a body (bmwg keys init)"
        raise ConfigError("REG-09", f"{log}", expected=expected, found=log.name)
    lines = announced_by(log, trust.keyring)
    if path.exists():
        require_one_history(path, log)
        if len(lines) < len(read_log(path)):
            raise ConfigError("ANN-03", f"{log}", expected="the lines that are there", found="fewer")
    path.parent.mkdir(exist_ok=True)
    write_atomically(path, log.read_bytes())
    path.chmod(0o644)
    return path


def examiner(root: Path, trust: Trust | None) -> Examine:
    """Return what verifies an entry of a registry, its keys judged at the time of its acceptance."""
    times = accepted_at(root)

    def of(bundle: Path, key: Path | None) -> Examined:
        return examine(bundle, key, trust, times.get(bundle.parent.relative_to(root).as_posix()))

    return of


def examine(
    bundle: Path, key: Path | None, trust: Trust | None = None, at: datetime | None = None
) -> Examined:
    """Verify a bundle as `bmwg verify` does, and say what a registry asks of it."""
    try:
        verifier: Any = import_module("bmwg.reports.verify.certified")
        signing: Any = import_module("bmwg.reports.bundle.signing")
    except ModuleNotFoundError as error:
        raise ConfigError("REG-09", "registry", expected="a verifier of bundles", found=str(error)) from error
    try:
        trusted = signing.load_public(key) if key else None
    except ConfigError as error:
        return Examined(findings=(str(error),), trusted=False)
    verified = verifier.certified(bundle, trusted, trust, at=at)
    findings = tuple(str(finding) for finding in verified.findings)
    evidence = verified.evidence
    if evidence is None or evidence.run is None:
        return Examined(findings=findings or ("no run could be read",), trusted=False)
    held = candidate(
        evidence, verified.standing.key_ids if verified.standing else frozenset(), verified.standing
    )
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
        trials=held.trials,
        candidate=held,
        answers=evidence.outcomes,
        marks=rooms.marks_in(evidence),
        functions=_distinct(outcome.cell.function for outcome in evidence.outcomes),
        options=_distinct(one.cell.network for one in evidence.outcomes),
        grades=tuple((grade.document, grade.benchmark, grade.grade.value) for grade in judgement.grades)
        if judgement
        else (),
    )


def _distinct(words: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(set(words) - {"none"}))


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
