"""Fixtures: CPUs are kept from halting while a suite runs, as they are in a run."""

import os

import pytest

from bmwg.drivers.watch.awake import DEVICE, kept_awake
from bmwg.methodology.trial.keep_awake import KeepAwake


@pytest.fixture(scope="session", autouse=True)
def cpus_kept_awake():
    """Hold the request until the last test of the suite has ended."""
    with kept_awake(KeepAwake.PM_QOS, os.sched_getaffinity(0)) as held:
        yield held


@pytest.fixture(scope="session", autouse=True)
def one_limit_of_latency():
    """Hold the request that keeps CPUs from halting, so that it is in force in all processes all the time.

    The limit is the machine's, and a fact of a run's platform: a run of one process would see that another's
    begins or ends, and rightly call that a change.
    """
    try:
        handle = os.open(DEVICE, os.O_WRONLY)
    except OSError:
        yield  # then no run here can hold it either
        return
    try:
        os.write(handle, (0).to_bytes(4, "little"))
        yield
    finally:
        os.close(handle)
