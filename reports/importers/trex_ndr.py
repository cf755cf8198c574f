"""TRex `ndr -o`: one number, no trials.

What it is: the rate near which drops were at most `pdr` percent (default 0.1 %), found to within
`pdr_error` percentage points of the measured maximum rate, one direction unless `bi_dir`. The counters are
read after half of `iteration_duration`, while traffic flows; the share of drops can then even be negative.
"""

from __future__ import annotations

from bmwg.methodology.records import Direction, Quantity
from bmwg.reports.importers.node import Node
from bmwg.reports.importers.records import FILE, ForeignFigure, ForeignTrial


def is_mine(node: Node) -> bool:
    """Whether the file has the form of TRex's ndr."""
    return node.find("results", "drop_rate_percentage") is not None and node.find("config", "pdr") is not None


def read(node: Node) -> tuple[str | None, tuple[ForeignFigure, ...], tuple[ForeignTrial, ...]]:
    """Return the figure; there are no trials in such a file, and no version."""
    results, config = node.child("results"), node.child("config")
    allowed = config.child("pdr").number(least=0) / 100
    seen = results.child("drop_rate_percentage").number() / 100
    both = config.child("bi_dir").flag()
    ports = config.find("ports")
    count = len(list(ports.entries())) if ports else 2
    remarks = [
        "counters were read while traffic flowed",
        f"found to within {config.child('pdr_error').number(least=0):g} points of the maximum rate",
        f"up to {config.child('q_full_resolution').number(least=0):g} % of full transmit queues were allowed",
        "the frame size stands in the traffic profile, not in the file",
    ]
    if count > 2:
        remarks.append(f"sum over {count} ports")
    irregular = ""
    if not 0 <= seen <= 1:
        irregular = f"a drop share of {seen:.2%} is none"
    elif seen > allowed:
        irregular = f"drops of {seen:.5%} are above the limit of {allowed:.5%}"
    title = results.find("title")
    return (
        None,
        (
            ForeignFigure(
                source_label="NDR" if title is None else f"NDR ({title.text()})",
                metric="sent rate near a drop limit, binary search",
                load_fps=None if irregular else results.child("tx_pps").number(least=0),
                scope="sum of directions" if both or count > 2 else "one direction",
                direction=Direction.BOTH if both else Direction.FORWARD,
                frame_octets=None,
                frame_text="not in the file",
                loss_ratio_allowed=allowed,
                loss_ratio_seen=seen,
                trial_duration_s=config.child("iteration_duration").number(least=0) / 2,
                sources=(("duration", f"{FILE}, halved as the tool does"), ("loss limit", FILE)),
                latency=_latency(results),
                irregular=irregular,
                remarks=tuple(remarks),
            ),
        ),
        (),
    )


def _latency(results: Node) -> tuple[Quantity, ...]:
    found = results.find("latency")
    made = []
    for stream, entry in found.items() if found and isinstance(found.data, dict) else ():
        for ours, theirs in (("avg", "average"), ("min", "total_min"), ("max", "total_max")):
            value = entry.find(theirs)
            if value is not None and value.number() > 0:
                metric = f"latency.stream_{stream[:20]}.{ours}"
                made.append(Quantity(metric=metric, number=value.number() * 1000, unit="ns"))
    return tuple(made)
