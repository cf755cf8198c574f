"""Fuzz one reader or all of them: `python -m tests.fuzz.fuzz [NAME ...] --seconds 600 --findings FOLDER`.

Seconds are of CPU time, so that what else runs on the machine takes nothing from them.
Inputs are mutated as data and as octets, from the seeds, from tests/fuzz/corpus, and from inputs that reached
lines of the toolkit which none before them had reached. Each distinct finding is kept as a file. Prints JSON;
ends with 1 when something was found.
"""

import argparse
import json
import random
import sys
import time
import traceback
from pathlib import Path

from tests.fuzz.mutate import mutated
from tests.fuzz.targets import refused, targets

CORPUS = Path(__file__).parent / "corpus"
KEPT_INPUTS = 400
KEPT_OCTETS = 20_000  # or twice the longest seed: longer inputs only cost time
TRACED_RATIO = 0.25  # tracing slows a reader down by the factor of three to ten
SLOW_S = 5.0


def kept(name):
    """Inputs that found something once."""
    return [path.read_bytes() for path in sorted((CORPUS / name).glob("*"))]


class Coverage:
    """Which lines of the toolkit the inputs have reached."""

    def __init__(self):
        self.seen = set()
        self._new = False

    def _trace(self, frame, event, argument):
        if "/bmwg/" not in frame.f_code.co_filename:
            return None
        return self._line

    def _line(self, frame, event, argument):
        place = (frame.f_code, frame.f_lineno)
        if place not in self.seen:
            self.seen.add(place)
            self._new = True
        return self._line

    def run(self, act, traced=True):
        """Call `act`; returns whether it reached a line that none before had reached (if `traced`)."""
        self._new = False
        if not traced:
            act()
            return False
        sys.settrace(self._trace)
        try:
            act()
        finally:
            sys.settrace(None)
        return self._new


def where(error):
    """Kind of an exception and the innermost line of ours: what makes two findings one."""
    ours = [frame for frame in traceback.extract_tb(error.__traceback__) if "/tests/" not in frame.filename]
    at = f"{Path(ours[-1].filename).name}:{ours[-1].lineno}" if ours else "harness"
    return f"{type(error).__name__} {at}"


def fuzz(target, seconds, seed, findings_folder):
    """Fuzz one target for `seconds` of CPU time; returns a line for the table."""
    chance = random.Random(f"{seed}/{target.name}")
    inputs = [*target.seeds, *kept(target.name)]
    coverage, findings = Coverage(), {}
    counts = {"inputs": 0, "refused": 0}
    clock_begun_s, cpu_begun_s = time.monotonic(), time.process_time()
    fresh = list(inputs)
    limit = max(KEPT_OCTETS, 2 * max(map(len, target.seeds)))
    slowest_s = 0.0
    while time.process_time() - cpu_begun_s < seconds:
        traced = bool(fresh) or chance.random() < TRACED_RATIO
        octets = fresh.pop() if fresh else mutated(chance.choice(inputs), chance, target.form)
        counts["inputs"] += 1
        begun_s = time.monotonic()

        def act(octets=octets):
            counts["refused"] += refused(target, octets)

        try:
            new = coverage.run(act, traced)
        except Exception as error:
            new = False
            name = where(error)
            if name not in findings:
                findings[name] = f"{error}"[:200]
                if findings_folder:
                    folder = findings_folder / target.name
                    folder.mkdir(parents=True, exist_ok=True)
                    (folder / name.replace(" ", "-").replace(":", "-")).write_bytes(octets)
        slowest_s = max(slowest_s, time.monotonic() - begun_s)
        if new and len(octets) < limit:
            inputs.append(octets)
            if len(inputs) > KEPT_INPUTS:
                inputs.pop(len(target.seeds))
    return {
        "target": target.name,
        "cpu_s": round(time.process_time() - cpu_begun_s, 1),
        "clock_s": round(time.monotonic() - clock_begun_s, 1),
        **counts,
        "lines_reached": len(coverage.seen),
        "slowest_s": round(slowest_s, 3),
        "findings": findings,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--findings", type=Path)
    chosen = parser.parse_args()
    known = targets()
    unknown = sorted(set(chosen.names) - set(known))
    if unknown:
        parser.error(f"{', '.join(unknown)}: expected some of {', '.join(known)}")
    lines = [
        fuzz(known[name], chosen.seconds, chosen.seed, chosen.findings) for name in chosen.names or known
    ]
    print(json.dumps(lines, indent=1))
    return 1 if any(line["findings"] for line in lines) else 0


if __name__ == "__main__":
    sys.exit(main())
