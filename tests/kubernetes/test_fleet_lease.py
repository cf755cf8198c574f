"""Two runners and a testbed's Lease between them, in a real cluster."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.unit.fleet import lease_runners, made
from tests.unit.fleet.lease_runners import LEASE, Runners

pytestmark = [pytest.mark.root, pytest.mark.slow]


@pytest.mark.parametrize("check", lease_runners.CHECKS)
def test_a_cluster_keeps_runners_apart(
    runtime: Any, node: Any, tmp_path: Path, check: Callable[[Runners], None]
) -> None:
    bed = made.testbed(tmp_path, "first")
    runtime.api.delete(LEASE)
    check(
        Runners(
            kubeconfig=runtime.api.access.kubeconfig,
            enter=("nsenter", f"--net=/proc/{node.pid}/ns/net"),
            api=runtime.api,
            at=tmp_path,
            plan=made.plan(tmp_path, bed, shards=2),
        )
    )
