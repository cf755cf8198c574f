"""CPU seconds of a registry's check beside verifying, and of three signatures and a stamp beside one.

    python benchmarks/certified_cost.py --entries 1000 --pairs 30

Makes a registry of that many entries by the tests' body and vendor: every entry is a run with trials of
its own, of a version of its own, so that no rule ends early. Writes the pages as `registry index`
does. Prints the CPU seconds of `registry check` with its making all pages anew, those of them that verifying
took, and their ratio. Before that it verifies one bundle in alternation with the same one that a lab and a
witness signed as well and an authority stamped, and prints the geometric mean of the ratios with its 95 %
interval by Student's t over the pairs' logarithms. Needs the extra `stamps` and OpenSSL.
"""

import argparse
import contextlib
import io
import math
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

TESTS = Path(__file__).parents[1] / "tests" / "unit"
sys.path[:0] = [str(TESTS / "verify"), str(TESTS / "submissions")]

import parties  # noqa: E402
import released  # noqa: E402
from authority import Authority  # noqa: E402

from bmwg.cli.main import main as bmwg  # noqa: E402
from bmwg.cli.registry import _write, examiner  # noqa: E402
from bmwg.methodology.answers.student import interval  # noqa: E402
from bmwg.reports.registry import check  # noqa: E402
from bmwg.reports.registry.pages import generated, strange  # noqa: E402
from bmwg.reports.submissions.countersign import countersigned  # noqa: E402
from bmwg.reports.submissions.documents import moment  # noqa: E402
from bmwg.reports.submissions.trust import trust_of  # noqa: E402
from bmwg.reports.verify import certified as verifier  # noqa: E402

README = "# Example forwarder\n\n## Reproduce\n\nTwo machines with a cable, then `bmwg run`.\n"


class Verifying:
    """Counts the CPU seconds that verifying takes inside of a check."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.bundles = 0
        self._verify = verifier.certified

    def __call__(self, *args: Any, **options: Any) -> Any:
        """Verify a bundle."""
        begin = time.process_time()
        try:
            return self._verify(*args, **options)
        finally:
            self.seconds += time.process_time() - begin
            self.bundles += 1


def registry_of(world: parties.World, entries: int) -> None:
    """Fill the body's folder with entries that nothing stands against."""
    accepted = []
    for number in range(entries):
        # gaps of two runs lie further apart than a run has trials, so that none counts as another's (REG-07)
        run = world.run(f"run-{number}", seed=7 + 7 * number, knee_fps=500_000 + 397 * number)
        bundle = world.bundle(run, version=f"4.2.{number}", salt=parties.SALT)
        place = f"published/0.1.0/example-networks/example-forwarder-4.2.{number}-quick"
        (world.trust / place).mkdir(parents=True)
        shutil.move(bundle, world.trust / place / "submission.bmwg.tar")
        (world.trust / place / "README.md").write_text(README, encoding="ascii")
        accepted.append(f"{place} {parties.WITHIN}\n")
        shutil.rmtree(run)
        shutil.rmtree(world.place / "made" / f"made-{number}", ignore_errors=True)
        (world.place / "made" / f"made-{number}").mkdir(parents=True)
    (world.trust / "accepted.txt").write_text("".join(accepted), encoding="ascii")


def check_cost(world: parties.World, entries: int) -> None:
    """Print what checking a registry costs beside verifying its bundles."""
    begin = time.process_time()
    registry_of(world, entries)
    print(f"made {entries} entries in {time.process_time() - begin:.1f} s", flush=True)
    verifying = Verifying()
    verifier.certified = verifying
    trust = trust_of(world.trust)
    with contextlib.redirect_stdout(io.StringIO()):
        _write(world.trust, check(world.trust, examiner(world.trust, trust), trust.announced))
    verifying.seconds, verifying.bundles = 0.0, 0
    begin, wall = time.process_time(), time.monotonic()
    found = check(world.trust, examiner(world.trust, trust), trust.announced)
    checked = time.process_time() - begin
    strangers = list(strange(world.trust, lambda: generated(found)))
    seconds, wall = time.process_time() - begin, time.monotonic() - wall
    verifier.certified = verifying._verify
    print(f"check {seconds:.2f} s CPU, {wall:.1f} s elapsed; {len(found.entries)} entries")
    print(f"verifying {verifying.seconds:.2f} s in {verifying.bundles} calls; {len(found.findings)} findings")
    print(f"making the pages anew took {seconds - checked:.2f} s of it; {len(strangers)} were others")
    for finding in found.findings[:3]:
        print(f"  {finding}")
    print(f"ratio {seconds / verifying.seconds:.3f}", flush=True)


def signature_cost(world: parties.World, pairs: int) -> None:
    """Print what three signatures and a stamp cost beside one signature."""
    authority = Authority(world.place / "authority")
    (world.trust / "stamps").mkdir()
    shutil.copy(authority.root, world.trust / "stamps")
    one = world.bundle(world.run("signed"))
    two, three, stamped = (world.place / f"{name}.tar" for name in ("two", "three", "stamped"))
    countersigned(one, two, parties.load_private(world.key("lab")))
    countersigned(two, three, parties.load_private(world.key("witness")))
    request, reply = world.place / "q.tsq", world.place / "q.tsr"
    of = ["--of", parties.load_public(world.public("vendor")).keyid]
    if bmwg(["sign", str(three), "--ask", str(request), *of]) != 0:
        raise SystemExit("no request for a stamp")
    authority.reply(request, reply)
    if bmwg(["sign", str(three), "--stamp", str(reply), *of, "--output", str(stamped)]) != 0:
        raise SystemExit("no stamp")
    trust = trust_of(world.trust)

    def seconds(bundle: Path) -> float:
        begin = time.process_time()
        verified = verifier.certified(bundle, None, trust, at=moment(parties.WITHIN))
        if verified.findings:
            raise SystemExit(f"{bundle}: {verified.findings[0]}")
        return time.process_time() - begin

    seconds(one), seconds(stamped)
    logs, first = [], []
    for number in range(pairs):
        order = (one, stamped) if number % 2 else (stamped, one)
        cost = {bundle: seconds(bundle) for bundle in order}
        logs.append(math.log(cost[stamped] / cost[one]))
        first.append(cost[one])
    found = interval(logs)
    half = found.half_width or 0.0
    mean, low, high = (math.exp(value) for value in (found.mean, found.mean - half, found.mean + half))
    print(f"one signature {sorted(first)[pairs // 2] * 1000:.1f} ms (median)")
    print(f"three and a stamp: {mean:.3f} of it (95 %: {low:.3f} to {high:.3f}; {pairs} pairs)")


def main() -> None:
    """Measure both."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--entries", type=int, default=1000)
    parser.add_argument("--pairs", type=int, default=30)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, released.listed(Path(folder)):
        world = parties.World(Path(folder))
        world.lists()
        signature_cost(world, options.pairs)
        check_cost(world, options.entries)


if __name__ == "__main__":
    main()
