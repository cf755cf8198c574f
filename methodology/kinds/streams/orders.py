"""What document 003 says of networks' order, as a run's executions on one path show it. Pure.

Each claim is a difference of means with its 95 % interval (Welch), held by itself: nothing is corrected for
many claims beside each other. Networks are known by the names of their options.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product

from bmwg.methodology.answers.student import Difference, difference
from bmwg.methodology.kinds.streams.records import StreamsSpec, Transport

LOCAL = "p2p"  # document 003's BMP2BMP (local)
# its BMP2BMP (remote); pods in guests have no claim here
REMOTE = ("p2p-underlay", "p2p-vxlan", "p2p-cluster")
_VLAN, _SRIOV, _IPVLAN, _MACVLAN = "ovs-vlan", "sr-iov", "ipvlan", "macvlan"
_TUNNELS = ("ovs-vxlan", "flannel")  # the first above the second
_Pairs = tuple[tuple[str, str], ...]


def _pairs(*falling: str) -> _Pairs:
    return tuple(combinations(falling, 2))


_LARGER_FIRST: Mapping[tuple[str, bool], _Pairs] = {  # by experiment, and whether the path is the local one
    ("tcp", True): (_TUNNELS, *_pairs(_MACVLAN, _VLAN, _SRIOV, _IPVLAN)),
    ("tcp", False): (_TUNNELS, *_pairs(_MACVLAN, _VLAN, _IPVLAN)),
    # "SRIOV(up to 16K) > ovs-vlan > ipvlan > macvlan": of UDP; read as of times, as the sign says
    ("round_trip", True): _pairs(_SRIOV, _VLAN, _IPVLAN, _MACVLAN),
    # "VLAN technologies are shown better performance [...] than overlay network": they take less time
    **{("all_to_all", local): tuple(product(_TUNNELS, (_VLAN, _MACVLAN, _SRIOV))) for local in (True, False)},
}
_MOST_OCTETS = {_SRIOV: 16_384}  # of a message: the round trips' claim of SR-IOV goes no further


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """The figure of each valid execution of a cell: goodput (bit/s), or a time (ns)."""

    experiment: str
    path: str
    network: str
    spec: StreamsSpec
    values: Sequence[float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """A claim that `larger` has the larger figure. `gap` is its mean less that of `smaller`.

    None: too few executions, or none that vary. `ratio` is of the means.
    """

    larger: Measured
    smaller: Measured
    gap: Difference | None

    @property
    def ratio(self) -> float:
        """Mean of `larger` per mean of `smaller`."""
        means = [sum(one.values) / len(one.values) for one in (self.larger, self.smaller)]
        return means[0] / means[1]


def orders(measured: Sequence[Measured]) -> tuple[Order, ...]:
    """Return every claim for which a path has both networks under the same load, in the claims' order."""
    told = [one for one in measured if one.values and all(one.values) and one.path in (LOCAL, *REMOTE)]
    by_network = {(one.experiment, one.path, one.spec, one.network): one for one in told}
    found = []
    for experiment, path, spec in dict.fromkeys((one.experiment, one.path, one.spec) for one in told):
        for pair in _LARGER_FIRST.get((experiment, path == LOCAL), ()):
            first, second = (by_network.get((experiment, path, spec, network)) for network in pair)
            if first is None or second is None:
                continue
            most_octets = min(_MOST_OCTETS.get(network, spec.message_octets) for network in pair)
            if experiment == "round_trip" and (
                spec.transport is not Transport.UDP or spec.message_octets > most_octets
            ):
                continue
            found.append(Order(larger=first, smaller=second, gap=difference(first.values, second.values)))
    return tuple(found)
