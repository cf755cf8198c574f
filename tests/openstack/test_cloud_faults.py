"""The embedded cloud when something ends that should not: it is named, and nothing is left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from tests.openstack.support import needs_cloud, password, services, strays, until

from bmwg.drivers.undo.ledger import Ledger, cleanup

pytestmark = needs_cloud
_READY_S = 900.0  # on two cores with a load average of 30


def started(results: Path) -> tuple[subprocess.Popen[str], Path]:
    """`bmwg cloud`, ready, and its folder."""
    words = [sys.executable, "-W", "ignore", "-m", "bmwg", "cloud", "--results", str(results)]
    runner = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    until(lambda: bool(list(results.glob("cloud-*/clouds.yaml"))) or runner.poll() is not None, _READY_S)
    if runner.poll() is not None:
        raise AssertionError(f"bmwg cloud ended with {runner.returncode}: {runner.communicate()[0]}")
    (folder,) = results.glob("cloud-*")
    return runner, folder


def test_a_service_that_ends_is_named_and_the_cloud_ended(tmp_path: Path) -> None:
    runner, folder = started(tmp_path)
    assert password() in (folder / "clouds.yaml").read_text()
    assert (folder / "clouds.yaml").stat().st_mode & 0o077 == 0
    compute = services(folder, "nova-compute")
    assert compute
    os.kill(min(compute), signal.SIGKILL)
    said, _ = runner.communicate(timeout=90)
    assert runner.returncode == 0
    assert "services of the embedded OpenStack have ended: nova-compute" in said
    assert not (folder / "clouds.yaml").exists()
    assert strays(str(folder)) == []
    assert not (folder / "layers").exists()
    assert not Ledger(folder / "ledger.jsonl").pending


def test_a_runner_that_is_killed_leaves_nothing(tmp_path: Path) -> None:
    before = {path.name for path in Path("/sys/class/net").iterdir()}
    runner, folder = started(tmp_path)
    runner.kill()
    runner.wait(10)
    assert until(lambda: strays(str(folder)) == [], 30.0), strays(str(folder))
    assert {entry.kind for entry in Ledger(folder / "ledger.jsonl").pending} == {"owner", "cloud", "file"}
    assert cleanup(folder) == []
    assert not (folder / "layers").exists()
    assert not (folder / "clouds.yaml").exists()
    assert not Ledger(folder / "ledger.jsonl").pending
    assert {path.name for path in Path("/sys/class/net").iterdir()} == before
    secret = password().encode()
    assert [path for path in folder.rglob("*") if path.is_file() and secret in path.read_bytes()] == []
