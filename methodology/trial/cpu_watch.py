"""Records of CPUs that were taken away while a trial ran: evidence that no loss of frames is part of."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class CpuWatch:
    """What a watchdog on one CPU saw in one trial. Times are ns since the trial's first frame was due.

    `tester` says that the tester runs there, else the SUT does. `absences` counts the times in which the CPU
    was gone for longer than the watchdog tells apart (0.1 ms), `absent_ns` is their sum and `longest_ns` the
    longest; `intervals` holds the begin and end of the first of them, all when it is as long as `absences`.
    `throttled` and `lost` count the records by which the kernel's clock says that it was held back or that
    its samples were lost: with one of them silence proves nothing.
    """

    cpu: int
    tester: bool
    absences: int
    absent_ns: int
    longest_ns: int
    intervals: tuple[tuple[int, int], ...] = ()
    throttled: int = 0
    lost: int = 0

    @property
    def watched(self) -> bool:
        """Whether the watchdog may claim to have watched: its clock was neither held back nor lost."""
        return not self.throttled and not self.lost


@dataclass(frozen=True, slots=True, kw_only=True)
class HostDisturbance:
    """Evidence, independent of loss, that the machine took CPUs away during a trial (design decision 13).

    `steal_ns` by CPU number from /proc/stat (10 ms grain), of the CPUs of tester and SUT. `largest_stall_ns`
    by CPU number from a watchdog on the SUT's CPUs. `watches` is empty where the tester tells no more.
    `None` for a tester whose host cannot be watched.
    """

    steal_ns: tuple[tuple[int, int], ...] = ()
    largest_stall_ns: tuple[tuple[int, int], ...] = ()
    watches: tuple[CpuWatch, ...] = ()
