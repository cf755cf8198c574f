"""A node function that waits for the first frame of a server."""

from __future__ import annotations

import time

from bmwg.drivers.nodes import half_open
from bmwg.methodology.errors import TestbedError


def wait_answer(*, address: str, within_s: float) -> float:
    """Node function: wait until something at `address` answers, by refusing a connection; returns seconds.

    Raises TestbedError CLOUD-20: no frame comes through, whatever the cloud says of the server.
    """
    began_s = time.monotonic()
    last = "silence"
    while time.monotonic() - began_s < within_s:
        last = half_open.refuses(address=address, within_s=1.0)
        if not last:
            return time.monotonic() - began_s
        time.sleep(0.1)
    raise TestbedError(
        "CLOUD-20",
        f"server at {address}: no frame passes its test port",
        expected=f"an answer within {within_s:g} s",
        found=last,
        hint="is port security off on the test port, and does the image set the address of the config drive?",
    )
