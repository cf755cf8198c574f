"""What the metrics of switches mean (RFC 2889), and in which clause."""

from __future__ import annotations

from bmwg.methodology.benchmarks import (
    broadcast_latency,
    caching_capacity,
    congestion,
    forwarding_rate,
    illegal_frames,
    learning_rate,
)
from bmwg.reports.render.sections.definition import Definition

_FPS = "frames/s over all ports"
_MESH = "RFC 2889 section 5.1.4.2, RFC 2285 section 3.6"
_BLOCKING = "RFC 2889 section 5.5"
_OF = {"uncongested": "ports that one port sends to", "congested": "ports that two ports send to"}

SWITCHES = {
    forwarding_rate.METRIC: Definition(
        _FPS,
        f"RFC 2889 section 5.6.1, {_MESH}",
        "maximum forwarding rate: the highest rate of frames that came to the port that they were"
        " meant for, of loads from the throughput to the maximum offered load; each broadcast copy counts",
    ),
    forwarding_rate.APPLIED: Definition(
        _FPS, _MESH, "offered load at which the maximum forwarding rate was seen"
    ),
    forwarding_rate.INTENDED: Definition(
        "frames/s",
        "RFC 2889 section 5.6.5",
        "intended load of each sending port at which the maximum forwarding rate was seen",
    ),
    forwarding_rate.AT_MAXIMUM: Definition(_FPS, _MESH, "forwarding rate at the maximum offered load"),
    forwarding_rate.MAXIMUM: Definition(
        _FPS,
        "RFC 2285 section 3.5.3",
        "maximum offered load: the highest that the tester sends, or that the medium carries",
    ),
    congestion.METRIC: Definition(
        "1",
        _BLOCKING,
        f"share of frames lost on their way to {_OF['uncongested']}, while another port is congested;"
        " it is head-of-line blocking where the same senders lose none without congestion",
    ),
    f"{congestion.METRIC}.congested.loss_ratio": Definition(
        "1", _BLOCKING, f"share of frames lost on their way to {_OF['congested']}"
    ),
    **{
        f"{congestion.METRIC}.{name}.{part}": Definition(
            _FPS, _BLOCKING, f"{words} {of}, at the maximum offered load"
        )
        for name, of in _OF.items()
        for part, words in (("offered", "load offered to"), ("forwarded", "rate at which frames came to"))
    },
    broadcast_latency.METRIC: Definition(
        broadcast_latency.UNIT,
        "RFC 2889 section 5.10.3",
        "time from sending one broadcast frame to its reception, both by the tester's software: mean"
        " over the receiving ports of their means over the repetitions",
    ),
    **{
        name: Definition(
            broadcast_latency.UNIT,
            "RFC 2889 section 5.10.3",
            f"{which} latency of a single broadcast frame at any port, of all repetitions",
        )
        for name, which in ((broadcast_latency.LEAST, "least"), (broadcast_latency.MOST, "largest"))
    },
    **{
        name: Definition(
            broadcast_latency.UNIT,
            "RFC 2889 section 5.10.3",
            f"mean latency of single broadcast frames at port {port}, over the repetitions",
        )
        for port, name in enumerate(broadcast_latency.PORTS)
    },
    caching_capacity.METRIC: Definition(
        "addresses",
        "RFC 2889 section 5.7",
        "most MAC addresses that the switch knows at one time: those of the learning port and the"
        " testing port's one, every one of them asked for and none flooded",
    ),
    caching_capacity.LEARNED: Definition("addresses", "RFC 2889 section 5.7", "of these the learning port's"),
    caching_capacity.FLOODED: Definition(
        "addresses",
        "RFC 2889 section 5.7",
        "least number of the learning port's addresses of which frames to one or more were flooded",
    ),
    learning_rate.METRIC: Definition(
        "frames/s",
        "RFC 2889 section 5.8",
        "highest rate of frames from new addresses, tried by the search, at which each was learned",
    ),
    learning_rate.NOT_LEARNED: Definition(
        "frames/s",
        "RFC 2889 section 5.8",
        "lowest rate tried by the search at which in no turn all addresses were learned",
    ),
    illegal_frames.METRIC: Definition(
        "frames",
        "RFC 2889 section 5.9",
        "frames of illegal size (below 64 octets, or above 1518) that came to any port of the tester,"
        " also those that were changed on their way; 0: the switch filters them",
    ),
    illegal_frames.SENT: Definition(
        "frames", "RFC 2889 section 5.9", "frames of illegal size that were sent"
    ),
    illegal_frames.CHANGED: Definition(
        "frames",
        "RFC 2889 section 5.9",
        "of those that came, frames with another length or other octets than were sent",
    ),
}
