"""A fixture: CPUs are kept from halting while a suite runs, as they are in a run."""

import os

import pytest

from bmwg.drivers.watch.awake import kept_awake
from bmwg.methodology.trial.keep_awake import KeepAwake


@pytest.fixture(scope="session", autouse=True)
def cpus_kept_awake():
    """Hold the request until the last test of the suite has ended."""
    with kept_awake(KeepAwake.PM_QOS, os.sched_getaffinity(0)) as held:
        yield held
