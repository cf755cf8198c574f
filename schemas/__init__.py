"""The toolkit's JSON Schemas (2020-12) as package data: `load(name)` and nothing else."""

from __future__ import annotations

import json
from functools import cache
from importlib import resources
from typing import Any


@cache
def load(name: str) -> dict[str, Any]:
    """Return the schema `<name>.schema.json`. The dictionary is shared: do not change it.

    Raises LookupError, listing the names there are, when there is no such schema.
    """
    folder = resources.files(__package__)
    file = folder / f"{name}.schema.json"
    if not name.replace("_", "").replace("-", "").isalnum() or not file.is_file():
        suffix = ".schema.json"
        known = sorted(
            entry.name.removesuffix(suffix) for entry in folder.iterdir() if entry.name.endswith(suffix)
        )
        raise LookupError(f"schema {name!r}: expected one of {', '.join(known)}")
    document: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return document
