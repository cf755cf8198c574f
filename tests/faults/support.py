"""Starts runs, breaks them, takes them up again, and counts what they leave on the machine."""

import contextlib
import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import yaml

from bmwg.drivers.containers import oci
from bmwg.drivers.nodes import cgroups
from bmwg.drivers.undo.ledger import INDEX_DIR, Ledger
from bmwg.methodology.errors import ToolkitError
from bmwg.reports.bundle.make import folder_evidence
from bmwg.reports.store import read_run
from bmwg.reports.verify.replay import contradictions

ROOT = Path(__file__).resolve().parents[2]
SUITES = ROOT / "testcases" / "containerized"
END_DEADLINE_S = 240.0  # of a busy machine; nothing waits for it otherwise

SHORT_PROFILE = {
    "schema": "profile/1.0",
    "name": "quick",
    "title": "A plan of seconds, to be broken",
    "indicative": True,
    "traffic": {"directions": ["forward"], "frame_formats": ["ipv4-udp"], "flows": [1]},
    "trial": {
        "duration_s": 0.2,
        "min_sent_ratio": 0.999,
        "max_stall_ns": 1000000,
        "max_host_stall_ns": 1000000,
        "max_steal_ns": 10000000,
        "max_repeats": 30,
        "set_aside_host_stalls": True,
        "stall_evidence": "tester",
        "most_set_aside_ratio": 0.5,
        "learning": "deployment",
        "settle_s": 0.0,
        "learning_wait_s": 0.02,
        "drain_s": 0.02,
        "restabilize_s": 0.02,
        "expected_invalid_ratio": 0.3,
    },
    "search": {
        "min_load_fps": 1000,
        "relative_width": 0.2,
        "short_limit": 2,
        "verification_trials": 1,
        "max_reopenings": 2,
    },
    "latency": {"duration_s": 0.3, "frame_octets": [64]},
    "paths": [
        {"path": "wire", "hosting": "none", "function": "none", "networks": "none", "frame_octets": [64]},
        {
            "path": "pvp",
            "hosting": "pod",
            "function": "kernel-l3",
            "networks": ["bridge"],
            "frame_octets": [64],
        },
    ],
    "deviations": [
        {
            "requirement": "RFC2544-4",
            "what": "trials with stalls are set aside and repeated",
            "why": "a plan of seconds on a shared machine",
        },
        {
            "requirement": "RFC2544-23-03",
            "what": "a trial counts when nearly all intended frames were sent",
            "why": "a plan of seconds on a shared machine",
        },
    ],
}
COARSE = {"relative_width": 0.5, "state_checks": 0}
TESTS = ("CN-TPUT-1.1", "CN-TPUT-1.3", "CN-LAT-1.3")
_started: list[subprocess.Popen[bytes]] = []


def write_profile(folder, **changes):
    """Write the short profile, with sections changed, and return its path."""
    content = {
        key: ({**value, **changes[key]} if key in changes else value) for key, value in SHORT_PROFILE.items()
    }
    path = folder / "profile.yaml"
    path.write_text(yaml.safe_dump(content, sort_keys=False))
    return path


def write_testbed(folder, name, **changes):
    """Write a testbed of the repository with top-level keys changed, and return its path."""
    content = yaml.safe_load((ROOT / "testbeds" / f"{name}.yaml").read_text())
    path = folder / f"{name}.yaml"
    path.write_text(yaml.safe_dump({**content, **changes}, sort_keys=False))
    return path


def write_small_bed(folder, **bridge):
    """Write the embedded testbed with option bridge alone, and a profile; returns folder, profile, testbed.

    Limits of stalls are lenient, since a busy machine must not decide a test, and a coarse answer that is not
    checked again does. `bridge` changes the option.
    """
    option = yaml.safe_load((ROOT / "testbeds" / "embedded.yaml").read_text())["networks"]["bridge"]
    testbed = write_testbed(folder, "embedded", networks={"bridge": {**option, **bridge}})
    lenient = {"max_stall_ns": 10**9, "max_host_stall_ns": 10**9, "max_steal_ns": 10**9}
    return folder, write_profile(folder, trial=lenient, search=COARSE), testbed


def environment(**settings):
    kept = {name: value for name, value in os.environ.items() if not name.startswith("BMWG_")}
    return kept | settings


def start(folder, profile, testbed, *, run_id="run", tests=TESTS, results=None):
    """Start a run in a session of its own; returns the process and the run's folder."""
    results = results or folder / "results"
    robot = ["--output", "NONE", "--report", "NONE", "--log", "NONE", "--console", "verbose"]
    for test_id in tests:
        robot += ["--include", f"id:{test_id}"]
    with (folder / "runner.log").open("ab") as log:
        process = subprocess.Popen(
            [
                sys.executable,
                str(ROOT / "tests" / "faults" / "bench_runner.py"),
                str(profile),
                *robot,
                str(SUITES),
            ],
            cwd=folder,
            env=environment(BMWG_TESTBED=str(testbed), BMWG_RESULTS=str(results), BMWG_RUN_ID=run_id),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    _started.append(process)
    return process, results / run_id


def end_started():
    """Kill the runs of `start` that still go, and wait for their end."""
    while _started:
        process = _started.pop()
        if process.poll() is None:
            process.kill()
            process.wait(30)


def resume(folder, run):
    """Start `bmwg resume` in a session of its own."""
    with (folder / "runner.log").open("ab") as log:
        return subprocess.Popen(
            [sys.executable, "-m", "bmwg", "resume", str(run)],
            cwd=folder,
            env=environment(),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )


def bmwg(folder, *arguments, deadline_s=END_DEADLINE_S):
    """Run the command to its end."""
    return subprocess.run(
        [sys.executable, "-m", "bmwg", *arguments],
        cwd=folder,
        env=environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=deadline_s,
        check=False,
    )


def trials_on_disk(run):
    """Whole lines of the journal, as they stand now."""
    try:
        return (run / "trials.jsonl").read_bytes().count(b"\n")
    except FileNotFoundError:
        return 0


def wait_for(condition, what, deadline_s=END_DEADLINE_S, process=None):
    """Wait until a condition holds; the deadline, or the end of `process`, fails and says what never came."""
    end_s = time.monotonic() + deadline_s
    while not (found := condition()):
        assert process is None or process.poll() is None, f"ended with {process.returncode} before: {what}"
        assert time.monotonic() < end_s, f"never came: {what}"
        time.sleep(0.004)
    return found


def kill_all(pids):
    """SIGKILL processes; the rest of a pod ends with its first process, which is no error."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(int(pid), signal.SIGKILL)


def kill_at(process, run, trials, delay_s):
    """SIGKILL the runner `delay_s` after that many trials are on the disk (or when it has ended before)."""
    wait_for(lambda: trials_on_disk(run) >= trials or process.poll() is not None, f"{trials} trials of {run}")
    time.sleep(delay_s)
    if process.poll() is None:
        os.kill(process.pid, signal.SIGKILL)
    process.wait(30)


def _under_way(run, path):
    """Whether a trial on a path has begun and is not on the disk yet."""
    try:
        note = json.loads((run / "under_way.json").read_text())
    except (OSError, ValueError):
        return False
    return note["cell"].startswith(path) and note["after_trial"] == trials_on_disk(run)


@contextlib.contextmanager
def paused_in_trial_of(process, run, path):
    """Stop the runner within a trial on a path and let it go on afterwards.

    Its tester and its nodes go on. So what is done meanwhile falls into that trial, however long a busy
    machine takes for it. Trials must take 0.2 s or more.
    """
    end_s = time.monotonic() + END_DEADLINE_S
    while True:
        wait_for(lambda: _under_way(run, path), f"a trial on {path}", process=process)
        process.send_signal(signal.SIGSTOP)
        try:
            wait_for(lambda: state_of(process.pid) == "T", "a stopped runner", process=process)
            age_s = time.time() - (run / "under_way.json").stat().st_mtime
            if _under_way(run, path) and age_s < 0.15:  # else it may have been judged already
                yield
                return
        finally:
            process.send_signal(signal.SIGCONT)
        assert time.monotonic() < end_s, f"never stopped within a trial on {path}"
        time.sleep(0.01)


def state_of(pid):
    """One letter of the kernel for what a process does; empty when there is none."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    return ""


def journal_lines(run):
    """Whole lines of the journal; what follows the last newline was never acknowledged."""
    lines = (run / "trials.jsonl").read_bytes().splitlines(keepends=True)
    return [line for line in lines if line.endswith(b"\n")]


def children(pid):
    """Every process that descends from this one."""
    parents = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                stat = Path(f"/proc/{name}/stat").read_text()
            except OSError:
                continue
            parents[int(name)] = int(stat.rpartition(")")[2].split()[1])
    found = {pid}
    while more := {child for child, parent in parents.items() if parent in found} - found:
        found |= more
    return sorted(found - {pid})


def command_line(pid):
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""


def hostname_of(pid):
    """The host name that a process sees: a namespace node has its own."""
    done = subprocess.run(
        ["nsenter", "-t", str(pid), "-u", "hostname"], capture_output=True, text=True, timeout=10, check=False
    )
    return done.stdout.strip()


def remains(run):
    """What a run has left on this machine, as texts: processes, pods' cgroups, mounts, index, namespaces."""
    found = []
    label = f"BMWG_OWNER={run.name}-".encode()
    for pid in (name for name in os.listdir("/proc") if name.isdigit()):
        try:
            if any(word.startswith(label) for word in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")):
                found.append(f"process {pid} {Path(f'/proc/{pid}/cmdline').read_bytes()[:80]!r}")
        except OSError:
            continue
    ledger = run / "ledger.jsonl"
    for line in ledger.read_text().splitlines() if ledger.exists() else ():
        entry = json.loads(line)
        if entry.get("kind") == "pod":
            pod_id = entry["arguments"]["pod_id"]
            found += [f"cgroup {path}" for path in cgroups.folders(oci.cgroup_of(pod_id))]
    mounts = Path("/proc/self/mountinfo").read_text().splitlines()
    # by where it is mounted: the whole machine may stand in a folder of such a name
    found += [f"mount {line}" for line in mounts if str(run) in line or "bmwg-" in line.split()[4]]
    for kind in ("pods", "commands", "cni"):
        if (run / kind).exists():
            found += [f"file {path}" for path in (run / kind).iterdir()]
    index = INDEX_DIR / f"{hashlib.sha256(str(ledger.absolute()).encode()).hexdigest()[:16]}.json"
    if index.exists():
        found.append(f"index {index}")
    return found


def owes(run):
    """Whether `bmwg cleanup` has anything to do for a run: most have undone all that their ledger holds."""
    try:
        return bool(Ledger(run / "ledger.jsonl").pending or remains(run))
    except (OSError, ValueError, ToolkitError):  # the command says what is wrong with it
        return True


def machine():
    """What the machine's own namespace shows, for comparison before and after."""
    names = set()
    if Path("/run/netns").is_dir():
        names = set(os.listdir("/run/netns"))
    return {"interfaces": sorted(os.listdir("/sys/class/net")), "named namespaces": sorted(names)}


def eventually_clean(run, deadline_s=60.0):
    """Processes that were killed need a moment to go; returns what is left after it."""
    end_s = time.monotonic() + deadline_s
    while (left := remains(run)) and time.monotonic() < end_s:
        time.sleep(0.05)
    return left


def check_complete(folder, kept=()):
    """The run is whole: every planned answer once, every search's trials the procedure's own.

    `kept` are journal lines that stood before: they must stand still, unchanged and in their place. Returns
    the run.
    """
    run = read_run(folder)
    assert run.status == "complete", (run.status, run.interruption)
    planned = sorted(f"{entry.test_id}:{entry.cell.cell_id}" for entry in run.plan)
    answered = sorted(outcome.outcome_id for outcome in run.outcomes)
    assert set(planned) <= set(answered)
    assert len(answered) == len(set(answered))
    assert journal_lines(folder)[: len(kept)] == list(kept)
    used = [seq for outcome in run.outcomes for seq in outcome.trials]
    assert sorted(used) == [trial.seq for trial in run.trials], "a trial was lost, or used twice"
    evidence = folder_evidence(folder)
    wrong = [shortfall for outcome in evidence.outcomes for shortfall in contradictions(evidence, outcome)]
    assert wrong == []  # the answers follow from the trials, and no trial is another than was called for
    return run


def bounds(run):
    """The loads of every answer's bounds, for comparison between runs."""
    return {
        outcome.outcome_id: tuple(bound and bound.load_fps for bound in (outcome.lower, outcome.upper))
        for outcome in run.outcomes
        if not outcome.metric.startswith("latency")
    }
