"""What does the watch on the tester's own CPU cost the tester? Interleaved pairs at 64 octets.

Two testers on one veth pair, one watched and one not, take turns in trials beyond what they carry; the
order within a pair changes. Prints JSON: frames sent a second of each, and the watched over the others.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from contextlib import ExitStack
from pathlib import Path
from statistics import median, quantiles

import tester_bed as bed
from holding import keep_awake

from bmwg.drivers.traffic.embedded import process
from bmwg.drivers.traffic.embedded.driver import EmbeddedConfig, EmbeddedTraffic
from bmwg.methodology.records import TrialSpec

KINDS = ("watched", "bare")


class _Bare(process.TesterProcess):
    """A tester whose own CPU nobody watches."""

    def _argv(self, binary: Path, fd: int) -> list[str]:
        argv = super()._argv(binary, fd)
        argv[3] = json.dumps({**json.loads(argv[3]), "tester": []})
        return argv


def main() -> None:
    """Measure and print."""
    held = keep_awake()
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--pairs", type=int, default=30)
    options.add_argument("--seconds", type=float, default=0.3)
    options.add_argument("--load-fps", type=int, default=8_000_000)
    options.add_argument("--io", default="af_xdp")
    wanted = options.parse_args()
    last = (os.cpu_count() or 1) - 1
    sent: dict[str, list[float]] = {kind: [] for kind in KINDS}
    absences = 0
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        ports = stack.enter_context(bed.direct(wanted.io))
        config = EmbeddedConfig(run_dir=folder, watch_cpus=(last,))
        testers = {kind: EmbeddedTraffic(config) for kind in KINDS}
        testers["bare"]._process = _Bare(config)
        for tester in testers.values():
            stack.enter_context(tester)
        for pair in range(wanted.pairs):
            for kind in KINDS if pair % 2 else KINDS[::-1]:
                testers[kind].attach(ports)
                spec = TrialSpec(frame_octets=64, load_fps=wanted.load_fps, duration_s=wanted.seconds)
                result = testers[kind].run(spec)
                testers[kind].detach()
                sent[kind].append(result.sent_frames / wanted.seconds)
                if result.disturbance is not None:
                    absences += sum(one.absences for one in result.disturbance.watches if one.tester)
    ratios = [one / other for one, other in zip(sent["watched"], sent["bare"], strict=True)]
    print(
        json.dumps(
            {
                "benchmark": "tester_watch_cost",
                "kept_awake": held,
                "io": wanted.io,
                "pairs": wanted.pairs,
                "absences": absences,
                "sent_fps": {kind: round(median(found)) for kind, found in sent.items()},
                "ratio_median": round(median(ratios), 4),
                "ratio_quartiles": [round(one, 4) for one in quantiles(ratios, n=4)],
                "ratio_of_medians": round(median(sent["watched"]) / median(sent["bare"]), 4),
            },
            indent=1,
        )
    )


if __name__ == "__main__":
    main()
