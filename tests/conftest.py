"""Removes what a killed pass of these tests left behind, and asks a `quiet` test again that lost its CPU.

A run refuses to start beside pods and processes of an ended run (LOCK-03), and a program that polls takes a
CPU: leftovers would fell later tests. They are removed before the first test. Each pass notes its process in
`.lock` of its temporary folder and removes that file when it ends by itself.

A `quiet` test needs the machine's CPUs. Where it failed and the kernel counted time that the hypervisor took
meanwhile, the test is asked again, at most twice; `RERUN` in the summary names it. Without that evidence a
failure stands.
"""

import contextlib
import gc
import os
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from bmwg.drivers.undo.ledger import FILE_NAME, cleanup
from bmwg.methodology.errors import ToolkitError

# choice: new objects between two searches for unreachable ones. Python has 700; runs that are kept have none.
gc.set_threshold(20_000)
# A pass that a script starts in the background ignores SIGINT, and so would every command that it interrupts.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_sessionstart(session: pytest.Session) -> None:
    """Clean up once a pass, not once a worker; only root can have left or can remove anything."""
    if os.geteuid() != 0 or "PYTEST_XDIST_WORKER" in os.environ:
        return
    for lock in _of_killed_passes():
        for ledger in sorted(lock.parent.rglob(FILE_NAME)):
            with contextlib.suppress(ToolkitError, OSError):  # the tests that it fells say what is wrong
                cleanup(ledger.parent)
        lock.unlink(missing_ok=True)


def _of_killed_passes() -> Iterator[Path]:
    """Yield the locks whose process is gone: a pass that was killed leaves its own behind."""
    for lock in sorted(Path(tempfile.gettempdir()).glob("pytest-of-*/pytest-*/.lock")):
        with contextlib.suppress(OSError, ValueError):
            if not Path(f"/proc/{int(lock.read_text())}").exists():
                yield lock


_stolen_before = [0]  # ticks, where the test that runs began


def _stolen() -> int:
    """Ticks of CPU time that the hypervisor gave to somebody else since boot, of all CPUs."""
    return int(Path("/proc/stat").read_text().split("\n", 1)[0].split()[8])


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Note where this attempt begins."""
    _stolen_before[0] = _stolen()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what needs root without it; ask a quiet test again that failed while CPU time was stolen."""
    again = pytest.mark.flaky(reruns=2, condition=lambda: _stolen() > _stolen_before[0])
    not_here = pytest.mark.skipif(os.geteuid() != 0, reason="needs root (network namespaces)")
    for item in items:
        if item.get_closest_marker("root"):
            item.add_marker(not_here)
        if item.get_closest_marker("quiet"):
            item.add_marker(again)
