"""What set-up has recorded of programs that it built: versions and SHA-256, one word and its value a line."""

from __future__ import annotations

from pathlib import Path

from bmwg.drivers.api.protocols import JsonValue


def versions(folder: str) -> dict[str, JsonValue]:
    """Return what the file `versions` of a folder of built programs says; a reason where there is none."""
    try:
        lines = Path(folder, "versions").read_text().splitlines()
    except OSError as error:
        return {"reason": f"{folder}/versions: {error.strerror}", "sha256": {}}
    told: dict[str, JsonValue] = {}
    hashes: dict[str, str] = {}
    for line in lines:
        words = line.split()
        if words[0] == "sha256":
            hashes[words[1]] = words[2]
        else:
            told[words[0]] = words[1]
    return {**told, "sha256": hashes}
