"""Throughput where a switch's flows match frames by given fields and act on them (LTD 3.2.2.1.15), by name.

A flow stands for each of the two ports, in these words of `ovs-ofctl`; in braces is what a deployment fills
in: the port that a frame enters by, the one that it leaves by, addresses of its sender and of its receiver.
Frames whose tag is changed or taken away are sent with one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from bmwg.methodology.mlrsearch.goal import apart

METRIC = "throughput_match_action.ltd_3_2_2_1_15"
FRAMES = "modifier.matched_frames"  # count of a trial
REQUIREMENTS = ("LTD-3.2.2.1.15",)
_PREFIX = "match-action-"


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchAction:
    """What is matched, and what is done; `share` (0..1) of the test frames match.

    All are sent with the tag of `vlan_id`, where there is one, and arrive with `added_tags` tags more (-1:
    without).
    """

    code: str
    match: str
    actions: str
    share: Fraction = Fraction(1)
    vlan_id: int | None = None
    added_tags: int = 0

    @property
    def modifier(self) -> str:
        """What a trial beside these flows names."""
        return f"{_PREFIX}{self.code}"

    @property
    def metric(self) -> str:
        """The metric of its throughput."""
        return f"{METRIC}.{self.code}"

    @property
    def words(self) -> str:
        """Match, actions and share, as a reader calls them."""
        share = "all frames" if self.share == 1 else f"{float(self.share):.0%} of the frames"
        return f"{self.match} -> {self.actions}, of {share}"


_OUT = "output:{to}"
_VLANS = (100, 200)  # choice: as sent, and as it arrives
KNOWN: Mapping[str, MatchAction] = {
    one.code: one
    for one in (
        MatchAction(code="normal", match="in_port={from},ip", actions="NORMAL"),
        MatchAction(code="output", match="in_port={from},ip", actions=_OUT),
        MatchAction(code="flood", match="in_port={from},ip", actions="FLOOD"),
        MatchAction(code="ethertype", match="in_port={from},dl_type=0x0800", actions=_OUT),
        MatchAction(code="macs", match="dl_src={sender_mac},dl_dst={receiver_mac}", actions=_OUT),
        MatchAction(code="source", match="ip,nw_src={sender_ip}", actions=_OUT),
        MatchAction(code="dec_ttl", match="in_port={from},ip", actions=f"dec_ttl,{_OUT}"),
        MatchAction(code="set_dscp", match="in_port={from},ip", actions=f"mod_nw_tos:32,{_OUT}"),
        MatchAction(
            code="set_mac", match="in_port={from},ip", actions=f"mod_dl_src:02:00:00:00:00:5f,{_OUT}"
        ),
        MatchAction(  # the flows of test frames have source ports in a row (rfc2544-C.2.6.4)
            code="dec_ttl_half",
            match="in_port={from},udp,tp_src=0x1/0x1",
            actions=f"dec_ttl,{_OUT}",
            share=Fraction(1, 2),
        ),
        MatchAction(
            code="set_vlan",
            match=f"in_port={{from}},dl_vlan={_VLANS[0]}",
            actions=f"mod_vlan_vid:{_VLANS[1]},{_OUT}",
            vlan_id=_VLANS[0],
        ),
        MatchAction(  # 0xffff: frames without a tag, to which the number of one adds it (ovs-ofctl)
            code="push_vlan",
            match="in_port={from},ip,dl_vlan=0xffff",
            actions=f"mod_vlan_vid:{_VLANS[1]},{_OUT}",
            added_tags=1,
        ),
        MatchAction(
            code="pop_vlan",
            match=f"in_port={{from}},dl_vlan={_VLANS[0]}",
            actions=f"strip_vlan,{_OUT}",
            vlan_id=_VLANS[0],
            added_tags=-1,
        ),
        MatchAction(code="all", match="in_port={from},ip", actions="ALL"),
    )
}


def of_modifier(name: str) -> MatchAction | None:
    """Return what a modifier of a trial says; None where it is another one."""
    return KNOWN.get(name.removeprefix(_PREFIX)) if name.startswith(_PREFIX) else None


def of_metric(metric: str) -> MatchAction | None:
    """Return what a metric says, with the code of a goal or without; None where it is another one."""
    prefix, _, code = apart(metric)[0].rpartition(".")
    return KNOWN.get(code) if prefix == METRIC else None
