"""Processor cycles of single threads by the kernel's perf events; reads only, nothing of a thread changes.

A virtual machine often hides the counters: that is told, and no cycles are. The software clock is the same
interface without a processor's counter, which is how tests see it work where there is none.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import platform
import struct
from collections.abc import Iterable
from dataclasses import dataclass

_SYSCALL = {"x86_64": 298, "aarch64": 241}  # perf_event_open
_ATTRIBUTES_OCTETS = 64  # PERF_ATTR_SIZE_VER0, which every kernel takes
_CLOSE_ON_EXEC = 8
_PINNED = 1 << 2  # of an event's flags: it counts all the time, or not at all
CYCLES = (0, 0)  # PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES
TASK_CLOCK = (1, 1)  # PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, ns
_libc = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One event of one thread, counted while this descriptor is open."""

    descriptor: int

    @classmethod
    def of_thread(cls, thread: int, kind: tuple[int, int] = CYCLES) -> Event:
        """Begin to count. Raises OSError: ENOENT where there is no such counter, ESRCH without the thread.

        Where others count as well, a kernel may have one counter count for several events by turns: this one
        takes no part in that.
        """
        number = _SYSCALL.get(platform.machine())
        if number is None:
            raise OSError(38, f"the number of perf_event_open on {platform.machine()} is not known")
        fields = (kind[0], _ATTRIBUTES_OCTETS, kind[1], 0, 0, 0, _PINNED, 0, 0, 0)
        attributes = struct.pack("=IIQQQQQIIQ", *fields)
        buffer = ctypes.create_string_buffer(attributes, _ATTRIBUTES_OCTETS)
        descriptor = _libc.syscall(number, buffer, thread, -1, -1, _CLOSE_ON_EXEC)
        if descriptor < 0:
            found = ctypes.get_errno()
            raise OSError(found, os.strerror(found))
        return cls(descriptor=descriptor)

    def read(self) -> int:
        """Return what was counted since it was opened. Raises OSError where no counter was left for it."""
        told = os.read(self.descriptor, 8)
        if len(told) < 8:
            raise OSError(errno.EBUSY, "others have all counters of the processor")
        return int(struct.unpack("=Q", told)[0])

    def close(self) -> None:
        """Count no more. Idempotent."""
        with contextlib.suppress(OSError):
            os.close(self.descriptor)


def threads_of(process: int) -> list[int]:
    """Return the threads of a process; none when it has gone."""
    with contextlib.suppress(OSError):
        return sorted(int(name) for name in os.listdir(f"/proc/{process}/task"))
    return []


def opened(threads: Iterable[int], kind: tuple[int, int] = CYCLES) -> list[Event]:
    """Begin to count for each thread; on a refusal count for none and raise its OSError."""
    events: list[Event] = []
    try:
        for thread in threads:
            events.append(Event.of_thread(thread, kind))
    except OSError:
        for event in events:
            event.close()
        raise
    return events
