"""The file of a fleet's plan: what its shards are, and a hash by which each run names it.

Ids: FLEET-01 the file is not what was planned, FLEET-02 it has no shard of that number.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bmwg.methodology.errors import ConfigError
from bmwg.reports.checker.strict import strict_json
from bmwg.reports.store.canonical import sha256_of
from bmwg.reports.store.checks import check_document, check_own, check_version, read_bytes

KIND = "fleet"
HASH_KEY = "fleet_sha256"
MAX_OCTETS = 4 << 20  # choice: a thousand shards have less


@dataclass(frozen=True, slots=True, kw_only=True)
class Shard:
    """One run of a fleet. `tests` are those whose answers count; seconds are estimates."""

    number: int
    tests: tuple[str, ...]
    calibration: tuple[str, ...]
    plan_sha256: str
    cells: int
    needed_cells: int
    estimate_s: int
    needed_s: int
    calibration_s: int
    needs: Mapping[str, Any]

    @property
    def selected(self) -> frozenset[str]:
        """The tests that its run measures."""
        return frozenset((*self.tests, *self.calibration))


@dataclass(frozen=True, slots=True, kw_only=True)
class Fleet:
    """A plan in shards. `sha256` is what the header of each of its runs names it by; `data` is the file."""

    sha256: str
    toolkit: Mapping[str, Any]
    order_seed: int
    profile: str
    profile_sha256: str
    narrowing: Mapping[str, Any]
    suites: tuple[str, ...]
    plan_sha256: str
    cells: int
    estimate_s: int
    shards: tuple[Shard, ...]
    data: Mapping[str, Any]

    def shard(self, number: int) -> Shard:
        """Return the shard of a number. Raises ConfigError FLEET-02."""
        for one in self.shards:
            if one.number == number:
                return one
        raise ConfigError(
            "FLEET-02",
            f"shard {number} of fleet {self.sha256[:12]}; nothing was started",
            expected=f"1 to {len(self.shards)}",
            found=str(number),
        )

    def mark(self, number: int, attempt: int) -> dict[str, Any]:
        """Return what the header of a shard's run says of its fleet."""
        return {
            "sha256": self.sha256,
            "shard": number,
            "of": len(self.shards),
            "attempt": attempt,
            "plan_sha256": self.shard(number).plan_sha256,
        }


def sealed(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return a plan with its hash. Raises ToolkitBug STORE-05 for one that breaks its schema."""
    made = {**document, HASH_KEY: _hash(document)}
    check_own(made, KIND)
    return made


def text_of(document: Mapping[str, Any]) -> str:
    """Return a plan as the text of its file; the same plan gives the same text."""
    return json.dumps(document, indent=1, sort_keys=True) + "\n"


def read_fleet(path: Path) -> Fleet:
    """Read a plan. Raises ConfigError FLEET-01 for one that was changed, STORE-02, STORE-03, STORE-04."""
    if not path.is_file():
        expected = "the file that `bmwg fleet plan --output` wrote"
        raise ConfigError("STORE-02", f"{path}: cannot be read", expected=expected, found="no file")
    data = strict_json(read_bytes(path), str(path), MAX_OCTETS)
    check_version(data, KIND, str(path))
    check_document(data, KIND, str(path))
    assert isinstance(data, dict)
    if data[HASH_KEY] != (found := _hash(data)):
        raise ConfigError(
            "FLEET-01",
            f"{path}: the plan was changed after it was made; nothing was started",
            expected=f"content of hash {data[HASH_KEY]}",
            found=found,
            hint="take the original, or make a new plan: runs of this one do not belong to it",
        )
    numbers = [one["number"] for one in data["shards"]]
    tests = [name for shard in data["shards"] for name in shard["tests"]]
    if numbers != list(range(1, len(numbers) + 1)) or len(set(tests)) != len(tests):
        raise ConfigError(
            "FLEET-01",
            f"{path}: the shards of the plan",
            expected="numbers from 1, and each test in one shard",
            found="others",
        )
    return Fleet(
        sha256=data[HASH_KEY],
        toolkit=data["toolkit"],
        order_seed=data["order_seed"],
        profile=data["profile"],
        profile_sha256=data["profile_sha256"],
        narrowing=data["narrowing"],
        suites=tuple(data["suites"]),
        plan_sha256=data["plan_sha256"],
        cells=data["cells"],
        estimate_s=data["estimate_s"],
        shards=tuple(_shard(one) for one in data["shards"]),
        data=data,
    )


def _shard(told: Mapping[str, Any]) -> Shard:
    return Shard(**{**told, "tests": tuple(told["tests"]), "calibration": tuple(told["calibration"])})


def _hash(document: Mapping[str, Any]) -> str:
    return sha256_of({key: value for key, value in document.items() if key != HASH_KEY})
