"""What every process of these tests holds, for they run side by side."""

from __future__ import annotations

import os

import pytest
from tests.awake import one_limit_of_latency

__all__ = ["one_limit_of_latency"]


@pytest.fixture(scope="session", autouse=True)
def no_power_is_lost():
    """Leave out the waits for the disk: no test here ends the machine, and what programs see is the same."""
    with pytest.MonkeyPatch.context() as changed:
        changed.setattr(os, "fsync", lambda _: None)
        yield
