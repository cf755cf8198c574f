"""Which toolkit a run was made with: version, commit, and whether the tree was changed."""

from __future__ import annotations

import json
import subprocess
from importlib import resources
from pathlib import Path

from bmwg import __version__
from bmwg.drivers.nodes import bounded

GIT_DEADLINE_S = 20.0  # choice: a late answer would make a run that cannot be continued


def toolkit_state() -> tuple[str, str | None, bool | None]:
    """Return version, commit and whether tracked files differ from it.

    Of an installed package both are what was noted when it was built; None where nothing was.
    """
    root = Path(__file__).resolve().parents[2]
    commit = _git(root, "rev-parse", "HEAD")
    if commit is None:
        return __version__, *_noted()
    status = _git(root, "status", "--porcelain", "--untracked-files=no")
    return __version__, commit.strip(), None if status is None else bool(status.strip())


def _noted() -> tuple[str | None, bool | None]:
    """Return what setup.py wrote beside the package's root module."""
    note = resources.files("bmwg") / "commit.json"
    if not note.is_file():
        return None, None
    told = json.loads(note.read_text(encoding="ascii"))
    return told["commit"], told["dirty"]


def _git(root: Path, *arguments: str) -> str | None:
    """Ask git about the checkout that this very code runs from, whoever owns its files."""
    if not (root / ".git").exists():
        return None
    try:
        done = bounded.run(
            ["git", "-c", f"safe.directory={root}", "-C", str(root), *arguments], deadline_s=GIT_DEADLINE_S
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout if done.returncode == 0 else None
