"""How far lower bounds of one path lie apart: searched again on one deployment, and on others of its kind.

The default profile's search of a conditional throughput, 64 octets. Prints JSON: each answer, and the share
of pairs whose lower bounds are within one width, of searches on one deployment and of different deployments.
Where the second is smaller than the first, the device differs from one deployment to the next, and no search
mends that.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from itertools import combinations
from pathlib import Path

from ending import end_in_order
from holding import keep_awake
from known_truth import Truth, answer

from bmwg.drivers.paths import path_driver
from bmwg.drivers.paths.bed import open_bed
from bmwg.drivers.testbed.file import load_testbed
from bmwg.drivers.traffic.embedded.driver import EmbeddedTraffic
from bmwg.drivers.undo.ledger import Ledger
from bmwg.methodology.profiles import load_profile
from bmwg.methodology.records import Cell, OutcomeType

WIDTH = 1.0315  # of the default profile's goals: one step of their loads
TENTH_OF_ENVELOPE_FPS = 160_000  # `answer` searches up to ten times this
PATHS = {
    "node": Cell(path="node", hosting="baremetal", function="kernel-l3", network="none", frame_octets=64),
    "bridge": Cell(path="pvp", hosting="pod", function="kernel-l3", network="bridge", frame_octets=64),
    "ptp": Cell(path="pvp", hosting="pod", function="kernel-l3", network="ptp", frame_octets=64),
}


def share_within(pairs: list[tuple[float, float]]) -> str:
    """Return how many pairs are within one width, of how many."""
    return f"{sum(max(pair) <= WIDTH * min(pair) for pair in pairs)} of {len(pairs)}"


def main() -> None:
    """Measure and print."""
    held = keep_awake()
    end_in_order()
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--path", choices=sorted(PATHS), default="node")
    options.add_argument("--deployments", type=int, default=6)
    options.add_argument("--searches", type=int, default=4, help="on each deployment")
    wanted = options.parse_args()
    cell, testbed = PATHS[wanted.path], load_testbed()
    lower_fps: list[list[float]] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with (
            open_bed(testbed, Ledger(folder / "ledger.jsonl", index_dir=folder), folder) as bed,
            EmbeddedTraffic.for_testbed(testbed, folder, load_profile("quick").policy.drain_s) as tester,
        ):
            for _ in range(wanted.deployments):
                lower_fps.append([])
                with path_driver(cell, bed).deploy() as deployment:
                    tester.attach(deployment.ports)
                    for _ in range(wanted.searches):
                        found = answer(tester, truth=Truth(cell=cell, fps=TENTH_OF_ENVELOPE_FPS))
                        if found.type is OutcomeType.MEASURED and found.lower is not None:
                            lower_fps[-1].append(found.lower.load_fps)
                    tester.detach()
    same = [pair for found in lower_fps for pair in combinations(found, 2)]
    other = [(one, two) for first, second in combinations(lower_fps, 2) for one in first for two in second]
    print(
        json.dumps(
            {
                "benchmark": "path_spread",
                "path": wanted.path,
                "kept_awake": held,
                "lower_fps": lower_fps,
                "within_a_width_on_one_deployment": share_within(same),
                "within_a_width_on_two_deployments": share_within(other),
            },
            indent=1,
        )
    )


if __name__ == "__main__":
    main()
