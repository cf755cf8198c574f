"""The toolkit itself: which code took this record."""

from __future__ import annotations

import pathlib
import platform

import bmwg
from bmwg.drivers.platform_record.values import Group, NotApplicable, Unread

_LIBRARIES = ("pyroute2", "robotframework", "execnet", "jsonschema", "PyYAML")


def toolkit(group: Group) -> None:
    """Version, commit and whether the work tree differs from it; Python and the libraries that act."""
    group.take("version", "computed", "bmwg.__version__", lambda: bmwg.__version__)
    group.take("python", "computed", "platform.python_version", platform.python_version)
    root = str(pathlib.Path(bmwg.__file__).resolve().parents[2])
    # the checkout may belong to the user who calls us as root; its code runs in this process already
    git = ["git", "-C", root, "--no-optional-locks", "-c", f"safe.directory={root}"]

    def told(*words: str) -> str:
        if not (pathlib.Path(root) / ".git").exists():
            raise NotApplicable("installed from a package, not from a work tree")
        return group.source.run([*git, *words]).strip()

    def dirty() -> bool:
        return bool(told("status", "--porcelain", "--untracked-files=no"))

    def libraries() -> dict[str, str]:
        from importlib import metadata

        found = {}
        for name in _LIBRARIES:
            try:
                found[name] = metadata.version(name)
            except metadata.PackageNotFoundError:
                found[name] = "not installed"
        if not found:
            raise Unread("no library is known")
        return found

    group.take("commit", "command", "git rev-parse HEAD", lambda: told("rev-parse", "HEAD"))
    group.take("dirty", "command", "git status --porcelain", dirty)
    group.take("libraries", "computed", "importlib.metadata", libraries)
