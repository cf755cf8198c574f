"""`python -m bmwg.cli.known` writes the list of the toolkit's own commits and shipped profiles anew.

Needs a checkout with its whole history. Entries are only ever added (docs/adr/0256): a run that was measured
by a commit of the toolkit stays one.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from bmwg.methodology.keep_awake import KeepAwake
from bmwg.reports.store.canonical import sha256_of
from bmwg.reports.verify.known import FILE, known
from bmwg.schemas.document import parse

ROOT = Path(__file__).resolve().parents[3]


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
    data = {
        "commits": commits,
        "profiles": {name: sorted(hashes) for name, hashes in sorted(profiles.items())},
    }
    return json.dumps(data, indent=0) + "\n"


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
    """Return the hashes of a profile as runs record it: as it is, and with what it leaves open."""
    data = parse(text).data
    if not isinstance(data, dict):
        return set()
    return {sha256_of(data), sha256_of({"keep_awake": KeepAwake.PM_QOS.value, **data})}


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
