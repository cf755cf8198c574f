"""What a run says of the guest that it runs in: no figure of a translated machine may pass for another's."""

from __future__ import annotations

import contextlib
import subprocess

from bmwg.drivers.hosting import guest_run, mounts
from bmwg.reports.store import RunStore


_FIRST_USE = ("nft", "--json", "list", "ruleset")  # loads kernel modules and libraries over 9p
_FIRST_USE_DEADLINE_S = 60.0


def record_guest(store: RunStore) -> None:
    """Note in a run that it runs inside a guest of ours, and on which machine; does nothing elsewhere.

    The state of its pods is then kept in the guest's memory.
    """
    if machine := guest_run.evidence():
        mounts.in_memory(target=str(store.folder.resolve() / "pods"))  # a 9p share has no named pipes
        # a later record must not find what an earlier one gave up waiting for: that would be drift
        with contextlib.suppress(OSError, subprocess.TimeoutExpired):
            subprocess.run(_FIRST_USE, capture_output=True, timeout=_FIRST_USE_DEADLINE_S, check=False)
        store.add_driver({**machine, "name": "qemu guest", "version": machine.get("qemu")})
