"""Receive queues and rings of an interface, as its driver tells them; node functions.

A socket of AF_XDP has one queue. A NIC of several spreads flows over them, and what comes by another queue
goes past the socket: nobody counts it. Ids: QUEUE-04 more than one receive queue.
"""

from __future__ import annotations

from pyroute2.ethtool.ethtool import Ethtool
from pyroute2.ethtool.ioctl import EthtoolError

from bmwg.methodology.errors import TestbedError


def receive_queues(*, interface: str) -> int:
    """Return how many queues frames may come by; 1 where the driver tells none."""
    try:
        with Ethtool() as tool:
            channels = tool.get_channels(interface)
    except (EthtoolError, OSError):
        return 1
    return max(1, int(channels.combined_count) + int(channels.rx_count))


def require_one_queue(*, interface: str, where: str) -> None:
    """Raise TestbedError QUEUE-04 for an interface of several receive queues."""
    queues = receive_queues(interface=interface)
    if queues > 1:
        raise TestbedError(
            "QUEUE-04",
            f"{where}: interface {interface}; no traffic was sent",
            expected="one receive queue, as a socket of AF_XDP has: frames by others would be lost unseen",
            found=f"{queues}",
            hint=f"ethtool -L {interface} combined 1 (before the run; the record tells it)",
        )


def ring_frames(*, interface: str) -> int | None:
    """Return how many frames the receive ring of the interface holds; None where the driver does not say."""
    try:
        with Ethtool() as tool:
            frames = tool.get_rings(interface).rx
    except (EthtoolError, OSError):
        return None
    return int(frames) if frames else None
