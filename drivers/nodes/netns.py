"""Act in another network namespace from a thread of one's own: nothing is forked, the caller stays.

A forked copy of the runner would hold its open files (Robot's output, the journal) and its signal handlers; a
thread holds neither. Ids: NETNS-01 the namespace cannot be entered.
"""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable
from typing import TypeVar

from bmwg.methodology.errors import TestbedError

_CLONE_NEWNET = 0x40000000
_libc = ctypes.CDLL(None, use_errno=True)
_T = TypeVar("_T")


def within(netns: str | None, act: Callable[[], _T]) -> _T:
    """Return `act()` run in the network namespace of path `netns` (None: where the caller is).

    Raises what `act` raises, TestbedError NETNS-01 when the namespace is not there or not ours to enter.
    """
    if netns is None:
        return act()
    results: list[_T] = []
    errors: list[BaseException] = []

    def enter_and_act() -> None:
        try:
            _enter(netns)
            results.append(act())
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=enter_and_act, name="netns")
    thread.start()
    thread.join()
    if errors:
        raise errors[0]
    return results[0]


def in_initial_namespace(netns: str | None) -> bool:
    """Node function: whether it is that of the machine's own interfaces: ours, or that of process 1."""
    if netns is None:
        return True
    target = os.stat(netns)
    for home in ("/proc/self/ns/net", "/proc/1/ns/net"):
        try:
            own = os.stat(home)
        except OSError:
            continue
        if (own.st_dev, own.st_ino) == (target.st_dev, target.st_ino):
            return True
    return False


def _enter(netns: str) -> None:
    try:
        descriptor = os.open(netns, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise _refused(netns, error.strerror or str(error)) from error
    try:
        if _libc.setns(descriptor, _CLONE_NEWNET) != 0:  # of this thread only
            raise _refused(netns, os.strerror(ctypes.get_errno()))
    finally:
        os.close(descriptor)


def _refused(netns: str, found: str) -> TestbedError:
    return TestbedError("NETNS-01", f"network namespace {netns}", expected="to be entered", found=found)
