"""What every test here owes to the next one: its runs ended and their objects removed, however it went."""

import pytest
from tests.faults import support


@pytest.fixture(autouse=True)
def runs_end(tmp_path):
    """End the runs that a failed test left going: they would hold the machine against the next tests."""
    yield
    support.end_started()
    for ledger in sorted(tmp_path.glob("**/ledger.jsonl")):
        if (ledger.parent / "run.json").exists():
            support.bmwg(tmp_path, "cleanup", str(ledger.parent))
