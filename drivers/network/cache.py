"""The runtime's memory of attachments on a node: one JSON file each, as the CNI specification asks."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bmwg.methodology.errors import TestbedError

SCHEMA = "cni-attachment/1.0"


def create(cache_dir: str, entry: Mapping[str, Any]) -> None:
    """Store a new attachment; raises TestbedError CNI-12 when one of that name is there already."""
    path = _path(cache_dir, entry["network"], entry["container_id"], entry["interface"])
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists():
        raise TestbedError(
            "CNI-12",
            f"network {entry['network']}: {entry['container_id']} has {entry['interface']} already",
            expected="none, or DEL first",
            found=str(path),
        )
    replace(cache_dir, entry)


def replace(cache_dir: str, entry: Mapping[str, Any]) -> None:
    """Store an attachment in the place of its former state; the file is whole at every moment."""
    path = _path(cache_dir, entry["network"], entry["container_id"], entry["interface"])
    draft = path.with_suffix(".draft")
    draft.write_text(json.dumps(entry, indent=1, sort_keys=True), encoding="utf-8")
    os.replace(draft, path)


def read(cache_dir: str, network: str, container_id: str, interface: str) -> dict[str, Any] | None:
    """Return the stored attachment, or None; raises TestbedError CNI-14 for a file that is none of ours."""
    path = _path(cache_dir, network, container_id, interface)
    try:
        entry = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except ValueError as error:
        raise _foreign(path, str(error)) from error
    if not isinstance(entry, dict) or entry.get("schema") != SCHEMA:
        raise _foreign(path, repr(entry.get("schema")) if isinstance(entry, dict) else "no object")
    return entry


def remove(cache_dir: str, network: str, container_id: str, interface: str) -> None:
    """Forget an attachment and, when it was the last, the folder."""
    path = _path(cache_dir, network, container_id, interface)
    path.unlink(missing_ok=True)
    try:
        path.parent.rmdir()
    except OSError:
        return  # other attachments are there


def _foreign(path: Path, found: str) -> TestbedError:
    return TestbedError(
        "CNI-14",
        f"{path} cannot be read as a cached CNI attachment",
        expected=SCHEMA,
        found=found,
        hint="remove the file when nothing of that network is left on the node",
    )


def _path(cache_dir: str, network: str, container_id: str, interface: str) -> Path:
    return Path(cache_dir) / f"{network}-{container_id}-{interface}.json"
