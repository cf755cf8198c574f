"""One way to write JSON, so that equal data has equal bytes and a hash of it means something."""

from __future__ import annotations

import hashlib
import json
from typing import Any

_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def canonical(data: Any) -> str:
    """Return JSON with sorted keys, no spaces, ASCII only. Raises ValueError on NaN and infinity."""
    return _ENCODER.encode(data)


def sha256_of(data: Any) -> str:
    """Return the SHA-256 of the canonical JSON of `data`, in hexadecimal."""
    return hashlib.sha256(canonical(data).encode("ascii")).hexdigest()
