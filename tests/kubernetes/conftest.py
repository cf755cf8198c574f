"""A cluster for the tests of this folder: made once on a namespace node, as a run makes its own."""

import os
import secrets
import shutil

import pytest
from tests.awake import cpus_kept_awake, one_limit_of_latency

from bmwg.drivers.containers.kubernetes import KubernetesRuntime
from bmwg.drivers.kubernetes import programs
from bmwg.drivers.nodes.namespace import NamespaceNode
from bmwg.drivers.undo.ledger import Ledger

__all__ = ["cpus_kept_awake", "one_limit_of_latency"]


def lacking():
    """Return what is missing on this machine for a cluster, in words, or None."""
    if os.geteuid() != 0:
        return "needs root (network namespaces)"
    found = programs.missing()
    return f"needs {found['what']}: {found['reason']} ({found['mend']})" if found else None


@pytest.fixture(scope="session")
def run_dir(tmp_path_factory):
    if reason := lacking():
        pytest.skip(reason)
    folder = tmp_path_factory.mktemp("run")
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def ledger(run_dir):
    return Ledger(run_dir / "ledger.jsonl", index_dir=run_dir / "index")


@pytest.fixture(scope="session")
def node(run_dir):
    with NamespaceNode("dut1", keep=[run_dir], owner=f"test-{secrets.token_hex(4)}") as opened:
        yield opened


@pytest.fixture(scope="session")
def runtime(run_dir, ledger, node):
    # the tests' machine may be busy with something else: how fast it is belongs to another test
    made = KubernetesRuntime(run_dir=str(run_dir), undo=ledger, options={"ready_s": 300})
    with made.standing({"dut1": node}, cpus="1"):
        yield made
