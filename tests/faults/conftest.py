"""What every test here needs: CPUs that do not halt, and folders that no test beside it uses.

What it owes to the next one, however it went: its runs ended and their objects removed.
"""

import pytest
from tests.awake import cpus_kept_awake, one_limit_of_latency
from tests.beside import folders_of_its_own
from tests.faults import support

__all__ = ["cpus_kept_awake", "folders_of_its_own", "one_limit_of_latency", "runs_end"]


@pytest.fixture(autouse=True)
def runs_end(tmp_path):
    """End the runs that a failed test left going: they would hold the machine against the next tests."""
    yield
    support.end_started()
    for ledger in sorted(tmp_path.glob("**/ledger.jsonl")):
        if (ledger.parent / "run.json").exists() and support.owes(ledger.parent):
            support.bmwg(tmp_path, "cleanup", str(ledger.parent))
