"""An interface of the kernel as a port of a DPDK program, by the driver that needs no NIC of its own.

Its ring of received frames is a buffer of the device under test: it adds its frames to what a short trial
finds carried, and its length over the rate to the latency near that. So it is DPDK's own default.
"""

from __future__ import annotations

RING_FRAMES = 512  # DPDK's default (`framecnt`) for this driver; docs/adr/0632


def device(number: int, interface: str, *, queues: int = 1) -> str:
    """Return the EAL device of an interface; `number` makes its name unique in the program."""
    return (
        f"net_af_packet{number},iface={interface},qpairs={queues},"
        f"framesz=2048,blocksz=65536,framecnt={RING_FRAMES}"
    )
