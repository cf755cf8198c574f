"""Flows of a switch of the run's own that match test frames and act on them; node functions.

Id: VSW-03 the switch refused one.
"""

from __future__ import annotations

import re

from bmwg.drivers.network import ovs_flows, ovs_parts, ovs_tools

_COOKIE = "0x62"  # by which these flows are told from others
_PRIORITY = 200  # above what the switch does without flows


def install(*, bridge: str, match: str, actions: str, ways: list[dict[str, str]]) -> list[str]:
    """Node function: give the bridge a flow for each way; return its flows as it tells them.

    A way names the NICs `from` and `to` which frames pass, and what else the words have in braces.
    """
    remove(bridge=bridge)
    for way in ways:
        ports = {end: str(ovs_tools.read("interface", way[end], "ofport")) for end in ("from", "to")}
        words = {**way, **ports}
        flow = f"cookie={_COOKIE},priority={_PRIORITY},{match},actions={actions}".format(**words)
        ovs_tools.run([ovs_parts.require().flows, "add-flow", _target(bridge), flow])
    return ovs_flows.standing(bridge)


def counts(*, bridge: str) -> dict[str, int]:
    """Node function: return how many frames met these flows so far.

    The switch adds up what its caches counted when its revalidators come round; that is waited for.
    """
    ovs_tools.ask("revalidator/wait")
    words = ["dump-aggregate", _target(bridge), f"cookie={_COOKIE}/-1"]
    told = dict(re.findall(r"(\w+)=(\d+)", ovs_tools.run([ovs_parts.require().flows, *words])))
    return {"matched_frames": int(told["packet_count"])}


def remove(*, bridge: str) -> None:
    """Node function: remove these flows. Idempotent."""
    ovs_tools.run([ovs_parts.require().flows, "del-flows", _target(bridge), f"cookie={_COOKIE}/-1"])


def _target(bridge: str) -> str:
    return f"unix:{ovs_tools.FOLDER}/{bridge}.mgmt"
