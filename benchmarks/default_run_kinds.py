"""Answers of the default run by port kind: whole runs with each kind in turn, side by side.

For each run and kind `bmwg run` on the embedded testbed with `io` set, in a folder of its own that stays.
Prints Markdown: each throughput's answer with its type in every run, and how many were plain numbers.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path

from bmwg.drivers.testbed.file import embedded_file

METRICS = ("tester.envelope", "throughput.rfc2544_26_1")
RUN_DEADLINE_S = 1800.0


def testbed_of(io: str, folder: Path) -> Path:
    """Write the embedded testbed's file with one kind of port."""
    text = embedded_file().read_text(encoding="utf-8")
    lines = [f"  io: {io}" if line.strip().startswith("io:") else line for line in text.splitlines()]
    file = folder / f"{io}.yaml"
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return file


def one_run(io: str, number: int, folder: Path, arguments: list[str]) -> Path:
    """Run the suites once; return the run's own folder."""
    results = folder / f"{io}-{number}"
    environment = {**os.environ, "BMWG_TESTBED": str(testbed_of(io, folder)), "BMWG_RESULTS": str(results)}
    with (folder / f"{io}-{number}.log").open("w") as log:
        subprocess.run(
            [sys.executable, "-m", "bmwg", "run", *arguments],
            env=environment,
            stdout=log,
            stderr=subprocess.STDOUT,
            timeout=RUN_DEADLINE_S,
            check=False,
        )
    return next(path.parent for path in results.glob("*/run.json"))


def answers(run: Path) -> dict[str, str]:
    """The throughputs of a run as text, by cell: the number when it is plain, else the type."""
    found = {}
    for outcome in json.loads((run / "run.json").read_text(encoding="utf-8"))["outcomes"]:
        if outcome["metric"] in METRICS:
            values = outcome.get("values") or []
            found[str(outcome["cell"]["cell_id"])] = (
                f"{values[0]['number']:,}" if values else str(outcome["type"])
            )
    return found


def main() -> None:
    """Run and print."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("folder", type=Path, help="where the runs stay; it must not exist")
    options.add_argument("--runs", type=int, default=3)
    options.add_argument("--io", nargs="+", default=["af_xdp", "xdp"])
    options.add_argument("arguments", nargs="*", help="further arguments of `bmwg run`, after --")
    wanted = options.parse_args()
    wanted.folder.mkdir(parents=True)
    table: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for number in range(wanted.runs):
        for io in wanted.io:
            for cell, answer in answers(one_run(io, number, wanted.folder, wanted.arguments)).items():
                table[cell][io].append(answer)
    print(f"| cell | {' | '.join(wanted.io)} |")
    print("|---" * (len(wanted.io) + 1) + "|")
    for cell, kinds in table.items():
        print(f"| {cell} | {' | '.join(' / '.join(kinds[io]) for io in wanted.io)} |")
    for io in wanted.io:
        types = Counter("plain" if one[0].isdigit() else one for kinds in table.values() for one in kinds[io])
        print(f"\n{io}: {', '.join(f'{count} {name}' for name, count in types.most_common())}")


if __name__ == "__main__":
    main()
