"""What tests of drivers need: CPUs that do not halt, folders that no test beside uses, a testbed."""

import pytest
from tests.awake import cpus_kept_awake, one_limit_of_latency
from tests.beside import folders_of_its_own
from tests.contract.streams_support import bed

from bmwg.drivers.workload.run_authority import RunAuthority

__all__ = ["bed", "cpus_kept_awake", "folders_of_its_own", "one_limit_of_latency"]


@pytest.fixture(scope="module")
def authority() -> RunAuthority:
    """Whom clients of requests trust."""
    return RunAuthority()
