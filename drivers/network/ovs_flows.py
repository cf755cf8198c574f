"""The flows by which a bridge of the run's own Open vSwitch forwards."""

from __future__ import annotations

from bmwg.drivers.api.protocols import JsonValue
from bmwg.drivers.network import ovs_parts, ovs_tools, ovs_words


def join(bridge: str) -> None:
    """Forward between the ports of a bridge when it has two; drop everything otherwise."""
    names = ports(bridge)
    pairs = (names, names[::-1]) if len(names) == 2 else ()
    steer(bridge=bridge, ways=[{"from": one, "to": other, "destinations": []} for one, other in pairs])


def steer(*, bridge: str, ways: list[dict[str, JsonValue]]) -> list[str]:
    """Node function: forward on a bridge by these ways alone; return the flows that then stand.

    What enters by port `from` for the prefixes of `destinations` (none: whatever it is) leaves by port `to`.
    """
    flows = ovs_parts.require().flows
    target = f"unix:{ovs_tools.FOLDER}/{bridge}.mgmt"
    names = dict.fromkeys(way[end] for way in ways for end in ("from", "to"))
    number = {name: ovs_tools.read("interface", name, "ofport") for name in names}
    ovs_tools.run([flows, "del-flows", target])
    for way in ways:
        for match in ovs_words.matches(way["destinations"]):
            flow = f"in_port={number[way['from']]}{match},actions=output:{number[way['to']]}"
            ovs_tools.run([flows, "add-flow", target, flow])
    return standing(bridge)


def standing(bridge: str) -> list[str]:
    """Return the flows of a bridge as the switch tells them."""
    said = ovs_tools.run(
        [ovs_parts.require().flows, "dump-flows", f"unix:{ovs_tools.FOLDER}/{bridge}.mgmt", "--no-stats"]
    )
    return [line.strip() for line in said.splitlines() if "actions" in line]


def ports(bridge: str) -> list[str]:
    """Return the ports of a bridge by name."""
    return ovs_tools.configure("list-ports", bridge).split()
