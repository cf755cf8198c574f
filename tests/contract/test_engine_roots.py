"""The root of pods by an engine is their node's own, and no copy of a part of it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from bmwg.drivers.containers.bundle import PodSpec
from bmwg.drivers.containers.engine import DockerRuntime, PodmanRuntime
from bmwg.drivers.nodes.namespace import NamespaceNode
from bmwg.drivers.undo.ledger import Ledger

pytestmark = pytest.mark.root


@pytest.mark.parametrize("kind", [DockerRuntime, PodmanRuntime])
def test_a_file_of_the_node_shows_in_a_pod_that_runs_already(kind, tmp_path):
    runtime = kind(run_dir=str(tmp_path), undo=Ledger(tmp_path / "ledger.jsonl", index_dir=tmp_path))
    spec = PodSpec(pod_id=f"bmwg-root{os.getpid()}", cpus="0", memory_octets=64 << 20)
    file = Path(f"/var/tmp/bmwg-root{os.getpid()}")
    with NamespaceNode("root") as node, runtime.made(node, spec) as pod:
        pod.start()
        file.touch()
        try:
            assert Path(f"/proc/{pod.pid}/root{file}").exists()
        finally:
            file.unlink()
