"""`python -m bmwg.cli.known` writes the list of the toolkit's own commits and shipped profiles anew.

Needs a checkout with its whole history. Entries are only ever added (docs/adr/0256): a run that was measured
by a commit of the toolkit stays one. Beside each commit stands what it measured by: the versions of its
procedures, the format of its runs and how they are bound (docs/adr/0298).
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import yaml

from bmwg.methodology.keep_awake import KeepAwake
from bmwg.reports.store.canonical import sha256_of
from bmwg.reports.verify.known import FILE, Measured, known
from bmwg.schemas.document import parse

ROOT = Path(__file__).resolve().parents[3]
_PROCEDURES, _BINDING, _RUN, _TOOLKIT = (
    "methodology/procedures.py",
    "reports/store/binding.py",
    "reports/store/run.py",
    "src/bmwg/__init__.py",
)
_VERSION = re.compile(r'^__version__ = "([^"]+)"', re.MULTILINE)
_BOUND = re.compile(r"^VERSION = (\d+)", re.MULTILINE)
_SCHEMA = re.compile(r'"(run/\d+\.\d+)"')


@dataclass(frozen=True, slots=True)
class _Texts:
    """The texts of the files that say by what a commit measures; empty for one that it has not."""

    procedures: str
    binding: str
    run: str
    toolkit: str


def written() -> str:
    """Return the list with what the history of this checkout has beyond it."""
    old = known()
    commits = [
        *old.ordered,
        *(one for one in git("rev-list", "--reverse", "HEAD").split() if one not in old.commits),
    ]
    profiles = {name: set(hashes) for name, hashes in old.profiles.items()}
    for folder in sorted(str(found.relative_to(ROOT)) for found in (ROOT / "methodology").rglob("profiles")):
        for name, text in _versions(folder):
            profiles.setdefault(name, set()).update(_hashes(text))
    measured = {**old.measured, **_measured(commits)}
    data = {
        "commits": commits,
        "measured": _grouped([measured.get(one) for one in commits]),
        "profiles": {name: sorted(hashes) for name, hashes in sorted(profiles.items())},
    }
    return json.dumps(data, indent=0) + "\n"


def _measured(commits: Iterable[str]) -> dict[str, Measured]:
    """Return by what each commit of this history measures; those from before there were runs are left out."""
    found: dict[str, Measured] = {}
    read: dict[tuple[str, ...], Measured | None] = {}
    for commit, blobs in _blobs(commits, (_PROCEDURES, _BINDING, _RUN, _TOOLKIT)).items():
        if blobs not in read:
            read[blobs] = _read(_Texts(*(git("cat-file", "blob", one) if one else "" for one in blobs)))
        if (told := read[blobs]) is not None:
            found[commit] = told
    return found


def _read(texts: _Texts) -> Measured | None:
    schemas, bound = _SCHEMA.findall(texts.run), _BOUND.search(texts.binding)
    version = _VERSION.search(texts.toolkit)
    if not schemas or version is None:
        return None
    module = ModuleType("procedures_of_a_commit")
    sys.modules[module.__name__] = module  # where its data classes look their own module up
    exec(compile(texts.procedures, _PROCEDURES, "exec"), module.__dict__)
    del sys.modules[module.__name__]
    return Measured(
        version=version[1],
        procedures=dict(sorted(getattr(module, "CURRENT", {}).items())),
        names_procedures=bool(texts.procedures),
        platform_bound=int(bound[1]) if bound else 0,
        schemas=sorted(set(schemas)),
    )


def _blobs(commits: Iterable[str], paths: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    """Return the ids of files in commits, empty for one that is not there; strange commits are left out."""
    asked = [(commit, path) for commit in commits for path in ("", *paths)]
    lines = "".join(f"{commit}:{path}\n" if path else f"{commit}\n" for commit, path in asked)
    command = ["git", "-C", str(ROOT), "cat-file", "--batch-check=%(objectname)"]
    done = subprocess.run(command, input=lines, check=True, capture_output=True, text=True, timeout=60)
    names = ("" if one.endswith(" missing") else one for one in done.stdout.splitlines())
    told = dict(zip(asked, names, strict=True))
    return {
        commit: tuple(told[commit, path] for path in paths)
        for commit in dict.fromkeys(commit for commit, _ in asked)
        if told[commit, ""]
    }


def _grouped(measured: Iterable[Measured | None]) -> list[Mapping[str, object]]:
    """Return each kind once, with the positions of its commits: first and last of each stretch."""
    stretches: dict[str, list[int]] = {}
    before = None
    for position, one in enumerate(measured):
        text = None if one is None else json.dumps(one.as_builtins(), sort_keys=True)
        if text is not None and text == before:
            stretches[text][-1] = position
        elif text is not None:
            stretches.setdefault(text, []).extend((position, position))
        before = text
    return [{**json.loads(text), "commits": ends} for text, ends in stretches.items()]


def _versions(folder: str) -> list[tuple[str, str]]:
    """Return each text that a file of a folder ever had, with the file's name."""
    found: dict[tuple[str, str], str] = {}
    for commit in git("rev-list", "HEAD", "--", folder).split():
        for line in git("ls-tree", commit, f"{folder}/").splitlines():
            blob, path = line.split()[2], line.split("\t")[1]
            if path.endswith(".yaml") and (path, blob) not in found:
                found[path, blob] = git("cat-file", "blob", blob)
    return [(Path(path).stem, text) for (path, _), text in found.items()]


def _hashes(text: str) -> set[str]:
    """Return the hashes of a profile as runs record it: as it is, and with what it leaves open.

    Profiles of other kinds than frames may say something once and refer to it: only a full reader follows.
    """
    found: set[str] = set()
    for data in (parse(text).data, yaml.safe_load(text)):
        if isinstance(data, dict):
            found |= {sha256_of(data), sha256_of({"keep_awake": KeepAwake.PM_QOS.value, **data})}
    return found


def git(*arguments: str) -> str:
    """Return what git says of this checkout."""
    command = ["git", "-C", str(ROOT), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout


def main() -> int:
    """Write the list."""
    FILE.write_text(written(), encoding="ascii")
    print(FILE)
    return 0


if __name__ == "__main__":
    sys.exit(main())
