"""Folders of the host that a mount of the guest hides, shared with it once more."""

from __future__ import annotations

from pathlib import Path

TAG = "bmwg-checkout"
_OWN = "/tmp"  # a guest's own, in its memory


def hidden() -> dict[str, str]:
    """Return the checkout with the tag of its share, where it lies below a folder of the guest's own."""
    root = Path(__file__).resolve().parents[2]
    return {str(root): TAG} if root.is_relative_to(_OWN) else {}
