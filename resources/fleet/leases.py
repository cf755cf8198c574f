"""The Lease of a testbed, which a program has while it works on a shard: for runners on several machines.

A program of a shard is one process with one testbed, so it has one lease at most; the run asks here for its
number, and before anything is recorded whether it is still ours.
"""

from __future__ import annotations

import os
import secrets
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from bmwg.drivers.kubernetes.access import Access
from bmwg.drivers.kubernetes.client import Cluster
from bmwg.drivers.kubernetes.lease import Lease, lease_name
from bmwg.methodology.errors import ToolkitError

_ANSWER_S = 30.0
_ours: list[Lease] = []  # none, or one


@dataclass(frozen=True, slots=True, kw_only=True)
class Leasing:
    """Where the leases are, and how long one lasts. No namespace: testbeds have none."""

    namespace: str
    duration_s: int


@contextmanager
def leased(testbed: str, leasing: Leasing) -> Iterator[Lease | None]:
    """Have a testbed's lease and renew it while the block runs; None where testbeds have none.

    Raises TestbedError LEASE-01, and what reaching the cluster raises. Once it is lost this process is
    interrupted, as by Ctrl-C: traffic must end, and the run goes on another time.
    """
    if not leasing.namespace:
        yield None
        return
    with Cluster(Access(), within_s=_ANSWER_S) as api:
        lease = Lease(
            api,
            namespace=leasing.namespace,
            name=lease_name(testbed),
            holder=f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(4)}",
            duration_s=leasing.duration_s,
        )
        lease.take()
        ended = threading.Event()
        renewing = threading.Thread(target=_renew, args=(lease, ended), daemon=True)
        _ours.append(lease)
        try:
            renewing.start()
            yield lease
        finally:
            _ours.remove(lease)
            ended.set()
            renewing.join()
            with suppress(ToolkitError):  # it ends by itself; the next one outwaits it
                lease.release()


def mark() -> dict[str, int]:
    """Return what the header of a run says of its lease."""
    return {"lease": _ours[0].transitions} if _ours else {}


def require() -> None:
    """Raise TestbedError LEASE-02 where this program's lease is lost."""
    for lease in _ours:
        lease.require()


def _renew(lease: Lease, ended: threading.Event) -> None:
    while not ended.wait(lease.every_s):
        try:
            lease.renew()
        except ToolkitError:
            if not ended.is_set():
                os.kill(os.getpid(), signal.SIGINT)
            return
