"""Document 003's claims of order between networks, as found: each with the interval that carries it."""

from __future__ import annotations

from collections.abc import Sequence

from bmwg.methodology.answers.student import Difference
from bmwg.methodology.kinds.streams.orders import Measured, Order, orders
from bmwg.methodology.kinds.streams.records import Exchange
from bmwg.reports.render.blocks import Block, paragraph, table, title
from bmwg.reports.render.text import NONE, nanoseconds

_SHOWN = {1: "as in the document", 0: "no difference shown", -1: "the other way"}
_TOO_FEW = "too few executions to tell"
_ABOUT = (
    "Document 003 found OVS with VXLAN faster than flannel with VXLAN; TCP falling from macvlan by OVS with "
    "VLAN and SR-IOV to ipvlan between pods of one node, and without SR-IOV between two nodes; UDP latency "
    "falling from SR-IOV (messages up to 16 KiB) by OVS with VLAN and ipvlan to macvlan on one node, where "
    "its sign > is read as a longer time; and MPI_Alltoall taking longer by VXLAN than by VLANs and SR-IOV "
    "(claims of pods on hosts; those in guests have none). Options are taken by their names. Each line is "
    "one comparison of this run's executions on one path by Welch's interval at 95 %, none corrected for the "
    "others beside it."
)


def lines(measured: Sequence[Measured]) -> list[Block]:
    """Return the table below its title; nothing where no path has two of the networks."""
    found = orders(measured)
    if not found:
        return []
    rows = [
        [
            one.larger.path,
            _load(one),
            f"{one.larger.network} above {one.smaller.network}",
            f"{one.ratio:.3f}",
            _gap(one),
            _SHOWN[one.gap.sign] if one.gap else _TOO_FEW,
        ]
        for one in found
    ]
    head = ["path", "load", "claim", "ratio of means", "first less second", "at 95 %, of these deployments"]
    return [
        *title("Document 003's order of networks, as found", 2),
        *paragraph(_ABOUT),
        *table(head, rows, "Order of the networks"),
    ]


def _load(one: Order) -> str:
    spec = one.larger.spec
    if spec.exchange is Exchange.ALL_TO_ALL:
        return f"time of MPI_Alltoall, {spec.parallel} processes in each of {spec.pods} pods"
    figure = "round trip" if spec.exchange is Exchange.PING_PONG else f"goodput {spec.way.value}"
    return f"{figure} over {spec.transport.value.upper()}, {spec.message_octets} octets a message"


def _gap(one: Order) -> str:
    if one.gap is None:
        return NONE
    return _mbits(one.gap) if one.larger.spec.exchange is Exchange.BULK else _time(one.gap)


def _mbits(gap: Difference) -> str:
    return f"{gap.difference / 1e6:+.1f} ± {gap.half_width / 1e6:.1f} Mbit/s"


def _time(gap: Difference) -> str:
    sign = "-" if gap.difference < 0 else "+"
    return f"{sign}{nanoseconds(abs(gap.difference))} ± {nanoseconds(gap.half_width)}"
