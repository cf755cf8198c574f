"""Notes in what is built from which commit it was; everything else stands in pyproject.toml."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py
from setuptools.command.sdist import sdist

ROOT = Path(__file__).resolve().parent
NOTE = "bmwg/commit.json"
RELEASES = ":(exclude)reports/releases.json"  # a release's own entry is written after its commit


def noted() -> str | None:
    """Return the note of the checkout, or the one that a source distribution brings; None for neither."""
    if not (ROOT / ".git").exists():
        brought = ROOT / "src" / NOTE
        return brought.read_text(encoding="ascii") if brought.exists() else None
    git = ["git", "-c", f"safe.directory={ROOT}", "-C", str(ROOT)]
    try:
        commit = subprocess.run([*git, "rev-parse", "HEAD"], capture_output=True, text=True, check=True)
        status = [*git, "status", "--porcelain", "--untracked-files=no", "--", ".", RELEASES]
        changes = subprocess.run(status, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return json.dumps({"commit": commit.stdout.strip(), "dirty": bool(changes.stdout.strip())}) + "\n"


def note(folder: Path) -> None:
    """Write the note below a folder."""
    if (told := noted()) is not None:
        (folder / NOTE).parent.mkdir(parents=True, exist_ok=True)
        (folder / NOTE).write_text(told, encoding="ascii")


class Build(build_py):
    """Builds the packages, with the note; an editable install asks git itself."""

    def run(self) -> None:
        """Build, then note."""
        super().run()
        if not self.editable_mode:
            note(Path(self.build_lib))


class Source(sdist):
    """Makes the source distribution, with the note."""

    def make_release_tree(self, base_dir: str, files: list[str]) -> None:
        """Copy the files, then note."""
        super().make_release_tree(base_dir, files)
        note(Path(base_dir) / "src")


setup(cmdclass={"build_py": Build, "sdist": Source})
