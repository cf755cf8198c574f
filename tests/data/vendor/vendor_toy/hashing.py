"""A workload: hashes blocks in this process, and counts them."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Sequence
from typing import Any, ClassVar, Self

from bmwg.drivers.api.workload import Takes, WorkloadDriver
from vendor_toy.blocks import KIND, BlocksResult, BlocksSpec


class Hashing:
    """SHA-256 of one block after the other, by the interpreter's own library."""

    kind: ClassVar[str] = KIND
    takes: ClassVar[Takes] = Takes(least=0, most=0)

    def probe(self) -> None:
        """Nothing can be missing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        """Nothing stays up."""

    def attach(self, endpoints: Sequence[Any]) -> None:
        """Take no endpoint: nothing leaves the process."""
        self.takes.refuse("hashing", endpoints)

    def detach(self) -> None:
        """Nothing is bound."""

    def learn(self, spec: BlocksSpec) -> None:
        """Nothing has to be learnt."""

    def run(self, spec: BlocksSpec) -> BlocksResult:
        """Hash until the time is over."""
        block, count = bytes(spec.block_octets), 0
        begun_ns = time.monotonic_ns()
        until_ns = begun_ns + round(spec.duration_s * 1e9)
        while time.monotonic_ns() < until_ns:
            hashlib.sha256(block).digest()
            count += 1
        return BlocksResult(blocks=count, elapsed_ns=time.monotonic_ns() - begun_ns)

    def describe(self) -> dict[str, Any]:
        """Name and digest."""
        return {"driver": "hashing", "digest": "sha256"}


_: type[WorkloadDriver[Sequence[Any], BlocksSpec, BlocksResult]] = Hashing
