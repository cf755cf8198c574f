"""SIGKILL at random points, resume, cleanup: `python -m tests.faults.campaign --points 200` prints JSON.

Each point is a line of `--state`, so that a campaign that was itself ended goes on. The runs are forked from
this process, which has imported everything: the time goes into runs, not into Python's start. Their code is
that of `robot` and of `bmwg resume`. Run it `--apart` on a machine that others use: in mount, network and
process namespaces of its own, with reservations and ledger index of its own.
"""

import argparse
import contextlib
import json
import os
import random
import shutil
import signal
import statistics
import sys
import tempfile
import time
from pathlib import Path

from robot.run import run_cli
from tests.faults import policed
from tests.faults.support import (
    ROOT,
    SUITES,
    TESTS,
    bounds,
    check_complete,
    eventually_clean,
    journal_lines,
    machine,
    trials_on_disk,
    write_profile,
    write_testbed,
)

from bmwg.cli.main import main as bmwg_main
from bmwg.drivers.undo.ledger import Ledger
from bmwg.reports.render.page.report import write_report
from bmwg.reports.store import read_run

OLD_RUN = ROOT / "tests" / "data" / "runs" / "run-1.0"
RUN_DEADLINE_S = 180.0
TWICE_RATIO = 0.25  # of the points kill the continued run once more
REDRAWS = 6  # a run that ended before its kill is no point
REFERENCES = 3  # undisturbed runs
POLL_S = 0.002
SIMULATED_TESTER = {
    "driver": "simulated",
    "ports": ["tester/p0", "tester/p1"],
    "io": "af_packet",
    "cpus": [0],
    "options": {"knee_fps": policed.TRUTH_FPS, "stall_ratio": 0.1, "seed": 7},
}
SIMULATED_PROFILE = {
    "trial": {"restabilize_s": 0.1},
    "search": {"min_load_fps": 188, "relative_width": 0.01, "verification_trials": 2},
}


class MachineChangedError(Exception):
    """Something else changed the machine between the run and its continuation: the refusal is right."""


class Forked:
    """A run in a process of its own, forked from this one, in a session of its own."""

    def __init__(self, body, log):
        self.begun_s = time.monotonic()
        self.returncode = None
        self.pid = os.fork()
        if self.pid == 0:
            status = 70
            try:
                os.setsid()
                out = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
                for number in (1, 2):
                    os.dup2(out, number)
                status = body()
            except BaseException as error:
                os.write(2, f"{type(error).__name__}: {error}\n".encode())
            finally:
                os._exit(status)

    def poll(self):
        if self.returncode is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.returncode = os.waitstatus_to_exitcode(status)
        return self.returncode

    def wait(self, deadline_s=RUN_DEADLINE_S):
        end_s = time.monotonic() + deadline_s
        while self.poll() is None:
            if time.monotonic() > end_s:
                self.kill()
                raise TimeoutError(f"a run did not end within {deadline_s:g} s")
            time.sleep(POLL_S)
        return self.returncode

    def kill(self):
        if self.poll() is None:
            os.kill(self.pid, signal.SIGKILL)
            self.returncode = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


class Progress:
    """How far a run has come: answers that it holds, and trials since the last of them."""

    def __init__(self, run):
        self._run, self._seen, self._answers, self._used = run, None, 0, 0

    def now(self):
        with contextlib.suppress(OSError, ValueError):
            stat = (self._run / "run.json").stat()
            if (stat.st_mtime_ns, stat.st_ino) != self._seen:
                outcomes = json.loads((self._run / "run.json").read_text())["outcomes"]
                self._answers = len(outcomes)
                self._used = sum(len(outcome["trials"]) for outcome in outcomes)
                self._seen = (stat.st_mtime_ns, stat.st_ino)
        return self._answers, max(0, trials_on_disk(self._run) - self._used)


class Campaign:
    def __init__(self, folder, bed):
        self.folder, self.simulated = folder, bed == "simulated"
        if self.simulated:
            self.testbed = write_testbed(folder, "simulated", tester=SIMULATED_TESTER)
            self.profile = write_profile(folder, **SIMULATED_PROFILE)
        else:
            self.profile, self.testbed = policed.write_bed(folder)
        policed.install(self.profile)
        os.environ.update(BMWG_TESTBED=str(self.testbed), BMWG_RESULTS=str(folder / "results"))
        self.log = folder / "runner.log"
        shutil.copytree(OLD_RUN, folder / "old")
        write_report(folder / "old")  # imports what is imported at the first report only

    def start(self, run_id):
        robot = ["--output", "NONE", "--report", "NONE", "--log", "NONE", "--console", "verbose"]
        for test_id in TESTS:
            robot += ["--include", f"id:{test_id}"]

        def body():
            os.environ["BMWG_RUN_ID"] = run_id
            return run_cli([*robot, str(SUITES)], exit=False)

        return Forked(body, self.log), self.folder / "results" / run_id

    def command(self, *arguments):
        return Forked(lambda: bmwg_main([str(argument) for argument in arguments]), self.log)

    def reference(self):
        """Run undisturbed, the fastest of some; returns bounds, length, and when (s) it came how far."""
        found = [self._undisturbed() for _ in range(REFERENCES)]
        assert all(one["bounds"] == found[0]["bounds"] for one in found), "undisturbed runs differ"
        return min(found, key=lambda one: one["wall_s"])

    def _undisturbed(self):
        process, run = self.start("undisturbed")
        marks, progress = [], Progress(run)
        while process.poll() is None:
            now = progress.now()
            if now > (marks[-1][1] if marks else (0, 0)):
                marks.append((time.monotonic() - process.begun_s, now))
            time.sleep(POLL_S)
        wall_s = time.monotonic() - process.begun_s
        assert process.returncode == 0, self.log.read_text()[-2000:]
        whole = self.checked(run, ())
        shutil.rmtree(run)
        return {"bounds": bounds(whole), "marks": marks, "trials": len(whole.trials), "wall_s": wall_s}

    def checked(self, run, kept):
        return check_complete(run, kept)

    def kill_within(self, process, run, reference, at, haste=1.0):
        """SIGKILL at a point (0..1) of the reference's time, found again by how far the run has come.

        `haste` (0..1) shortens the wait after that: the machine may have been slower in the reference.
        False when the run had ended.
        """
        at_s = at * reference["wall_s"]
        passed = [(stamp_s, tuple(mark)) for stamp_s, mark in reference["marks"] if stamp_s <= at_s]
        stamp_s, mark = passed[-1] if passed else (0.0, (0, 0))
        progress = Progress(run)
        while progress.now() < mark and process.poll() is None:
            time.sleep(POLL_S)
        time.sleep((at_s - stamp_s) * haste)
        if process.poll() is not None:
            return False
        process.kill()
        return True

    def resumed(self, run):
        said_before = self.log.stat().st_size
        if self.command("resume", run).wait() != 0:
            said = self.log.read_bytes()[said_before:]
            assert b"RES-04" in said, f"resume failed: {said[-1500:].decode(errors='replace')}"
            assert self.command("cleanup", run).wait() == 0, "cleanup failed"
            assert eventually_clean(run) == []
            shutil.rmtree(run)
            raise MachineChangedError

    def point(self, number, seed, reference):
        """`attempt`, again with another point of time where something else changed the machine meanwhile."""
        for changed in range(REDRAWS):
            with contextlib.suppress(MachineChangedError):
                return self.attempt(number, f"{seed}/{number}/{changed}", reference) | {
                    "machine_changed": changed
                }
        raise AssertionError("the machine was changed by something else each time")

    def attempt(self, number, seed, reference):
        """Kill, continue, clear away, compare; returns what to write down."""
        begun_s = time.monotonic()
        chance = random.Random(seed)
        at = chance.random()
        for draw in range(REDRAWS):
            process, run = self.start(f"point-{number}-{draw}")
            if self.kill_within(process, run, reference, at, 0.5**draw):
                break
            shutil.rmtree(run)
        else:
            raise AssertionError(f"{REDRAWS} runs ended before they were killed")
        kills, killed_after = 1, trials_on_disk(run)
        began = (run / "run.json").exists()
        kept = journal_lines(run) if began else []
        if began and chance.random() < TWICE_RATIO:
            process = self.command("resume", run)
            kills += self.kill_within(process, run, reference, chance.random())
            now = journal_lines(run)
            assert now[: len(kept)] == kept, "a finished trial was lost or changed"
            kept = now
        if not began:  # nothing was measured or made: there is nothing to continue
            assert eventually_clean(run) == []
            shutil.rmtree(run, ignore_errors=True)
            process, run = self.start(run.name)
            assert process.wait() == 0, "the run anew failed"
        elif read_run(run).status != "complete":
            self.resumed(run)
        assert self.command("cleanup", run).wait() == 0, "cleanup failed"
        found = self.checked(run, kept)
        assert Ledger(run / "ledger.jsonl").pending == ()
        left = eventually_clean(run)
        assert left == [], f"left behind: {left}"
        types = {outcome.outcome_id: str(outcome.type) for outcome in found.outcomes}
        assert bounds(found) == reference["bounds"], f"other bounds: {bounds(found)}, {types}"
        trials = len(found.trials)
        shutil.rmtree(run)
        return {
            "at": round(at, 4),
            "draws": draw + 1,
            "kills": kills,
            "began": began,
            "killed_after_trials": killed_after,
            "trials": trials,
            "seconds": round(time.monotonic() - begun_s, 2),
        }


def reap_orphans():
    """Collect what killed runs have left to the first process of the namespace."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def apart():
    """Go on in namespaces of this campaign's own, whose first process this becomes."""
    inner = (
        "mount --make-rprivate / && for place in /run/bmwg /run/netns /var/lib/bmwg; do"
        ' mkdir -p $place && mount -t tmpfs none $place || exit 1; done; ip link set lo up && exec "$@"'
    )
    words = [argument for argument in sys.argv[1:] if argument != "--apart"]
    command = [
        "unshare",
        "--mount",
        "--net",
        "--pid",
        "--fork",
        "--mount-proc",
        "--kill-child",
        "sh",
        "-c",
        inner,
        "campaign",
        sys.executable,
    ]
    os.execvp(command[0], [*command, "-m", "tests.faults.campaign", *words])


def kept_reference(campaign, state):
    """The undisturbed run: of an earlier part of this campaign, or made now."""
    path = state.with_suffix(".reference.json") if state else None
    if path and path.exists():
        kept = json.loads(path.read_text())
        return kept | {"bounds": {name: tuple(loads) for name, loads in kept["bounds"].items()}}
    reference = campaign.reference()
    if path:
        path.write_text(json.dumps(reference))
    return reference


def summary(reference, points, chosen):
    good = [point for point in points if point["ok"]]
    seconds = [point["seconds"] for point in good] or [0]
    return {
        "bed": chosen.bed,
        "seed": chosen.seed,
        "points": len(points),
        "as_promised": len(good),
        "killed_twice": sum(point["kills"] > 1 for point in good),
        "killed_before_it_began": sum(not point["began"] for point in good),
        "redrawn_as_the_machine_changed": sum(point["machine_changed"] for point in good),
        "undisturbed_run_s": round(reference["wall_s"], 2),
        "undisturbed_trials": reference["trials"],
        "bounds": reference["bounds"],
        "seconds_a_point": [statistics.median(seconds), min(seconds), max(seconds)],
        "failures": [point for point in points if not point["ok"]],
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bed", choices=("embedded", "simulated"), default="embedded")
    parser.add_argument("--points", type=int, default=200)
    parser.add_argument("--first", type=int, default=0, help="number of the first point, to share out points")
    parser.add_argument("--seed", default="8")
    parser.add_argument("--state", type=Path, help="file of the points so far (default: none is kept)")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin no point after that long")
    parser.add_argument("--apart", action="store_true", help="in namespaces of its own")
    chosen = parser.parse_args()
    if chosen.apart:
        apart()
    end_s = time.monotonic() + chosen.seconds
    folder = Path(tempfile.mkdtemp(prefix="campaign-"))
    campaign = Campaign(folder, chosen.bed)
    points = []
    if chosen.state and chosen.state.exists():
        points = [json.loads(line) for line in chosen.state.read_text().splitlines()]
    reference = kept_reference(campaign, chosen.state)
    before = machine()
    for number in range(chosen.first + len(points), chosen.first + chosen.points):
        if time.monotonic() > end_s:
            break
        try:
            point = {"point": number, "ok": True, **campaign.point(number, chosen.seed, reference)}
        except Exception as error:
            point = {"point": number, "ok": False, "why": f"{type(error).__name__}: {error}"[:2000]}
        reap_orphans()  # no run of ours is under way here
        if machine() != before:
            point |= {"ok": False, "why": f"{point.get('why', '')} the machine's interfaces differ"}
        points.append(point)
        if chosen.state:
            with chosen.state.open("a") as file:
                file.write(json.dumps(point) + "\n")
    failed = any(not point["ok"] for point in points)
    if not failed:
        shutil.rmtree(folder)
    print(
        json.dumps(summary(reference, points, chosen) | ({"kept": str(folder)} if failed else {}), indent=1)
    )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
