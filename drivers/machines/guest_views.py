"""Folders of the host that a guest sees beside its root: the checkout where a mount hides it, the toolkit."""

from __future__ import annotations

from pathlib import Path

import execnet

import bmwg

TAG = "bmwg-checkout"
_LIBRARIES_TAG = "bmwg-libraries"
_OWN = "/tmp"  # a guest's own, in its memory


def hidden() -> dict[str, str]:
    """Return the checkout with the tag of its share, where it lies below a folder of the guest's own."""
    root = Path(__file__).resolve().parents[2]
    return {str(root): TAG} if root.is_relative_to(_OWN) else {}


def toolkit() -> dict[str, str]:
    """Return what a guest needs whose root is not the host's, with the tags of their shares: the checkout,
    and the folder of its agent's libraries, which are pure Python.
    """
    root, libraries = Path(__file__).resolve().parents[2], _libraries()
    installed = root.is_relative_to(libraries)  # by a wheel
    return {str(libraries): _LIBRARIES_TAG, **({} if installed else {str(root): TAG})}


def python_path() -> str:
    """Return where the Python of such a guest finds both."""
    return f"{Path(bmwg.__file__).resolve().parents[1]}:{_libraries()}"


def _libraries() -> Path:
    return Path(execnet.__file__).resolve().parents[1]
