"""The doctor's live measurement: whether its numbers agree with each other. It asserts no speed."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

import pytest

from bmwg.drivers.platform_record.doctor import stalls
from bmwg.drivers.testbed.file import load_testbed
from bmwg.drivers.watch import awake
from bmwg.methodology.profiles import load_profile
from bmwg.methodology.trial.keep_awake import KeepAwake

pytestmark = [
    pytest.mark.quiet,
    pytest.mark.root,
]


def children() -> set[str]:
    """Processes that this one has started and that still are there."""
    found: set[str] = set()
    for task in Path("/proc/self/task").iterdir():
        with contextlib.suppress(FileNotFoundError):  # the thread ended since: its children went to another
            found |= set((task / "children").read_text().split())
    return found


def test_what_was_measured_agrees_and_nothing_stays():
    before, limit_us, files = children(), awake.limit_us(), len(os.listdir("/proc/self/fd"))
    found = stalls.look(load_testbed(), load_profile("quick"))
    assert children() == before
    assert awake.limit_us() == limit_us
    assert len(os.listdir("/proc/self/fd")) == files
    if found.not_measured:
        pytest.skip(f"needs the watch: {found.not_measured}")
    assert found.held.asked is KeepAwake.PM_QOS
    assert (found.awake is None) == (found.held.held is KeepAwake.NONE)
    for side in filter(None, (found.halting, found.awake)):
        assert side.slices == stalls.BLOCKS * stalls.BLOCK_SLICES
        assert side.watched_ns >= side.slices * stalls.SLICE_NS
        counts = [count for _, count in side.stalled_by_cpu]
        assert tuple(cpu for cpu, _ in side.stalled_by_cpu) == found.cpus
        assert max(counts) <= side.stalled_slices <= sum(counts)
        assert (side.longest_stall_ns > found.limit_ns) == (side.stalled_slices > 0)
    assert stalls.lines(found)[-1].startswith("on this machine about")
