"""A node function that waits for the first frame of a server."""

from __future__ import annotations

import errno
import socket
import time

from bmwg.methodology.errors import TestbedError


def wait_answer(*, address: str, within_s: float) -> float:
    """Node function: wait until something at `address` answers, by refusing a connection; returns seconds.

    Raises TestbedError CLOUD-20: no frame comes through, whatever the cloud says of the server.
    """
    began_s = time.monotonic()
    last = "silence"
    while time.monotonic() - began_s < within_s:
        try:
            with socket.create_connection((address, 9), timeout=1.0):  # the discard port: nobody listens
                return time.monotonic() - began_s
        except OSError as error:
            if error.errno == errno.ECONNREFUSED:
                return time.monotonic() - began_s
            last = str(error)
        time.sleep(0.1)
    raise TestbedError(
        "CLOUD-20",
        f"server at {address}: no frame passes its test port",
        expected=f"an answer within {within_s:g} s",
        found=last,
        hint="is port security off on the test port, and does the image set the address of the config drive?",
    )
