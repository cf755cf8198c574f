"""Frames of a mesh of four behind a bridge: what the tester counts at each port, against the kernel.

`python3 benchmarks/switch_truth.py --frames 10000000` prints JSON. All ports together send so many frames, in
trials of 30 s at most; in every second trial the switch knows none of the addresses and floods. A frame is
received, lost or flooded, and both count the same. A frame that a ring of the tester's still held was not
sent; for which port it was is not known. Root; makes namespaces of its own and removes them.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

from bmwg.drivers.paths import path_driver
from bmwg.drivers.paths.bed import open_bed
from bmwg.drivers.testbed.file import load_testbed
from bmwg.drivers.traffic.embedded.driver import EmbeddedTraffic
from bmwg.drivers.undo.ledger import Ledger
from bmwg.methodology.records import BAREMETAL, NOTHING, Cell, TrialResult, TrialSpec
from bmwg.methodology.trial.pattern import Pattern, full_mesh

ROOT = Path(__file__).resolve().parents[1]
CELL = Cell(path="switch", hosting=BAREMETAL, function="linux-bridge", network=NOTHING, frame_octets=64)
UNKNOWN = Pattern(to=((1,), (), (), ()), destinations=4096, unprepared=True)  # that nobody told
LONGEST_S = 30


def wrong(result: TrialResult) -> list[str]:
    """Say where the tester's counts and those of the kernel do not come to the same."""
    told, pattern = dict(result.auxiliary), result.spec.pattern
    assert pattern is not None
    found = []
    names = sorted(name.removesuffix(".sent_frames") for name in told if name.endswith(".sent_frames"))
    sent = [told[f"{name}.sent_frames"] for name in names]
    held = sum(told[f"{name}.held_frames"] for name in names)  # in rings; for which ports nobody knows
    if sum(one.sent_frames for one in result.streams) != sum(sent):
        found.append(f"the ports were sent other than the {sum(sent)} frames that left")
    for number, (name, one) in enumerate(zip(names, result.streams, strict=True)):
        came = one.received_frames + one.duplicate_frames + one.corrupt_frames + one.foreign_frames
        came += one.flooded_frames + told[f"{name}.returned_frames"] + told[f"{name}.stale_frames"]
        kernel = told[f"{name}.rx_packets"] - told.get(f"{name}.queue_rx_dropped", 0)
        if came != kernel:
            found.append(f"{name}: the kernel received {kernel} frames, the tester {came}")
        left = told[f"{name}.tx_packets"] + told.get(f"{name}.tx_dropped", 0)  # the switch's full queue drops
        if left != sent[number]:
            found.append(f"{name}: the kernel took {left} frames, the tester sent {sent[number]}")
        meant = pattern.meant_for(number, sent)
        if abs(one.sent_frames - meant) > held:
            found.append(f"{name}: {one.sent_frames} frames are for it, by its senders {meant}")
        if one.sent_frames != one.received_frames + one.lost_frames:
            found.append(f"{name}: sent is not received and lost")
    return found


def main() -> None:
    """Send the frames; print what was counted."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--frames", type=int, default=1_000_000, help="of all ports together, at least")
    parser.add_argument("--load", type=int, default=20_000, help="frames/s of each port")
    asked = parser.parse_args()
    testbed = load_testbed(ROOT / "testbeds" / "switch.yaml")
    told: dict[str, Any] = {"trials": 0, "sent": 0, "received": 0, "lost": 0, "flooded": 0}
    told |= {"dropped": 0, "wrong": []}
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        ledger = Ledger(folder / "ledger.jsonl", index_dir=folder / "index")
        with (
            open_bed(testbed, ledger, folder) as bed,
            EmbeddedTraffic.for_testbed(testbed, folder, 0.2) as tester,
            path_driver(CELL, bed).deploy() as deployment,
        ):
            tester.attach(deployment.ports)
            while told["sent"] < asked.frames:
                floods = told["trials"] % 2 == 1
                pattern = UNKNOWN if floods else full_mesh(4)
                seconds = min(
                    LONGEST_S, max(0.1, (asked.frames - told["sent"]) / asked.load / len(pattern.senders))
                )
                seconds = min(seconds, 1.0) if floods else seconds
                spec = TrialSpec(frame_octets=64, load_fps=asked.load, duration_s=seconds, pattern=pattern)
                if not floods:
                    tester.learn(spec)
                result = tester.run(spec)
                told["wrong"] += [result.fault] if result.fault else wrong(result)
                told["trials"] += 1
                told["sent"] += result.sent_frames
                told["received"] += result.received_frames
                told["lost"] += result.lost_frames
                told["dropped"] += sum(n for name, n in result.auxiliary if name.endswith(".tx_dropped"))
                told["flooded"] += sum(one.flooded_frames for one in result.streams)
            tester.detach()
    print(json.dumps(told, indent=2))


if __name__ == "__main__":
    main()
