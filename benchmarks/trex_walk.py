"""A walk through all that the driver asks of TRex's client: run against a server, and against what one said.

`walk` makes the same calls in the same order whoever answers, so a transcript that was recorded of it with a
real server can be replayed without one. `recorded` gives what each trial came to.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from bmwg.drivers.api.protocols import JsonValue, TesterPort
from bmwg.drivers.traffic.trex.channel import Client
from bmwg.drivers.traffic.trex.config import TrexConfig
from bmwg.drivers.traffic.trex.connection import Connection
from bmwg.drivers.traffic.trex.server import Server
from bmwg.drivers.traffic.trex.trial import Sent, TrialRunner, Wait
from bmwg.methodology.records import Direction, FrameFormat, TrialSpec

PLAIN = TrialSpec(frame_octets=64, load_fps=1_000, duration_s=0.2)
TRIALS = {
    "plain": PLAIN,
    "again": PLAIN,  # nothing of the one before is in it
    "reverse": replace(PLAIN, direction=Direction.REVERSE),
    "both ways": replace(PLAIN, direction=Direction.BOTH),
    "tagged": replace(PLAIN, frame_octets=128, vlan_id=100),
    "flows": replace(PLAIN, flows=20),
    "long frames": replace(PLAIN, frame_octets=1518),
    "mix": replace(PLAIN, frame_octets=594, mix_octets=(64, 64, 64, 594)),
    "IPv6": replace(PLAIN, frame_octets=128, frame_format=FrameFormat.IPV6_UDP),
}
_IPV6 = ("2001:2:0:0::2", "2001:2:0:1::2")


@dataclass(frozen=True, slots=True, kw_only=True)
class Walk:
    """What a walk found: who answered, and what it counted of each trial."""

    versions: dict[str, JsonValue]
    trials: dict[str, Sent]


def walk(
    client: Client,
    config: TrexConfig,
    ports: tuple[TesterPort, TesterPort],
    *,
    server: Server | None = None,
    sleep: Callable[[float], None] | None = None,
) -> Walk:
    """Reach the server, own its ports, teach, send every trial of TRIALS and leave."""
    connection = Connection(config, client)
    connection.open(server)
    connection.acquire()
    ways = connection.ways(ports)
    wait = Wait(reply_s=config.options.reply_s, quiet_s=config.drain_quiet_s, limit_s=config.drain_limit_s)
    runner = TrialRunner(client, config.options.ports, ways, wait, **({"sleep": sleep} if sleep else {}))
    runner.learn(PLAIN)
    found = {}
    for name, spec in TRIALS.items():
        runner.ways = ways
        if spec.frame_format is FrameFormat.IPV6_UDP:
            first, second = (
                replace(way, source_ip=_IPV6[side], destination_ip=_IPV6[1 - side])
                for side, way in enumerate(ways)
            )
            runner.ways = (first, second)
        found[name] = runner.send(spec)
    connection.leave()
    return Walk(versions=connection.versions, trials=found)
