"""What every process of these tests holds, for they run side by side."""

from __future__ import annotations

import os

import pytest

from bmwg.drivers.watch.awake import DEVICE


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


@pytest.fixture(scope="session", autouse=True)
def no_power_is_lost():
    """Leave out the waits for the disk: no test here ends the machine, and what programs see is the same."""
    with pytest.MonkeyPatch.context() as changed:
        changed.setattr(os, "fsync", lambda _: None)
        yield
