"""What a run has of a host over SSH for itself: locks on that host, held by the run's agent there.

They are the locks that runs on that host itself take (`drivers.locks`), so they hold against every user of
the toolkit. The kernel drops them with the agent, and the agent ends with its channel: however the runner
ends, nothing has to expire.
"""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

from bmwg.drivers.ports import pci_port
from bmwg.drivers.undo.locks import LOCK_DIR, claims_here, held

_HELD = ExitStack()  # until this process ends


def take(*, ports: list[str], cpus: list[int] | None = None, lock_dir: str = str(LOCK_DIR)) -> None:
    """Node function: hold these ports and CPUs of this host, all or none.

    Raises TestbedError LOCK-01, LOCK-02.
    """
    with ExitStack() as stack:
        for claim in claims_here(cpus or (), sorted(pci_port.names_of_all(ports))):
            stack.enter_context(held(claim, Path(lock_dir)))
        _HELD.push(stack.pop_all())
