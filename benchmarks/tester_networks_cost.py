"""What do destination networks and repeated bursts cost the tester? Interleaved, 64 octets.

Two testers on one veth pair, one built from the source before and one from this checkout, take turns in
trials beyond what they carry; this checkout's sends to one network and to 256. Prints JSON: frames sent a
second of each, and the ratio to the tester before within each turn.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from statistics import median, quantiles

import tester_bed as bed
from holding import keep_awake

from bmwg.drivers.paths.addresses import BEHIND
from bmwg.drivers.traffic.embedded.build import ensure_built
from bmwg.drivers.traffic.embedded.driver import EmbeddedConfig, EmbeddedTraffic
from bmwg.methodology.records import TrialSpec

KINDS = ("before", "one network", "256 networks")


def main() -> None:
    """Measure and print."""
    held = keep_awake()
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("before", type=Path, help="folder of the tester's source before")
    options.add_argument("--turns", type=int, default=30)
    options.add_argument("--seconds", type=float, default=0.3)
    options.add_argument("--load-fps", type=int, default=8_000_000)
    options.add_argument("--io", default="af_xdp")
    wanted = options.parse_args()
    sent: dict[str, list[float]] = {kind: [] for kind in KINDS}
    plain = TrialSpec(frame_octets=64, load_fps=wanted.load_fps, duration_s=wanted.seconds)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        left, right = stack.enter_context(bed.direct(wanted.io))
        ports = tuple(replace(port, networks_ipv4=BEHIND[side][0]) for side, port in enumerate((left, right)))
        config = EmbeddedConfig(run_dir=folder)
        old = EmbeddedTraffic(replace(config, binary=ensure_built(wanted.before)))
        new = EmbeddedTraffic(config)
        testers = {"before": old, "one network": new, "256 networks": new}
        for tester in (old, new):
            stack.enter_context(tester)
        for turn in range(wanted.turns):
            order = KINDS[turn % 3 :] + KINDS[: turn % 3]
            for kind in order if turn % 2 else order[::-1]:
                networks = 256 if kind == "256 networks" else 1
                testers[kind].attach((ports[0], ports[1]))
                result = testers[kind].run(replace(plain, destination_networks=networks))
                testers[kind].detach()
                stream = result.streams[0]
                sent[kind].append(stream.sent_frames / max(1, stream.effective_duration_ns) * 1e9)
    told: dict[str, object] = {"io": wanted.io, "turns": wanted.turns, "load": os.getloadavg()[0]}
    for kind in KINDS:
        told[kind] = {"median_fps": round(median(sent[kind]))}
    for kind in KINDS[1:]:
        ratios = [mine / theirs for mine, theirs in zip(sent[kind], sent["before"], strict=True)]
        low, middle, high = quantiles(ratios, n=4)
        told[f"{kind} over before"] = {
            "median": round(middle, 4),
            "quartiles": [round(low, 4), round(high, 4)],
            "n": len(ratios),
        }
    told["awake"] = str(held)
    print(json.dumps(told, indent=2))


if __name__ == "__main__":
    main()
