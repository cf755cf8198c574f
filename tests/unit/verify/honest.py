"""Honest runs for lies to start from: made once a session by the real bench, on a simulated tester.

What a model lacks is added: interfaces that count, watchdogs, latencies of which no two are alike, and stamps
as far apart as the trials lasted. Such a run does not call itself simulated: a lie about it is one about a
device.
"""

from __future__ import annotations

import fcntl
import json
import shutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "checker"))

import http_run
import liar
import liar_source
import loads_run
import replayable
import runs

from bmwg.methodology.records import StreamCounts, TrialResult, TrialSpec
from bmwg.methodology.trial.cpu_watch import CpuWatch, HostDisturbance
from bmwg.methodology.trial.frame_times import LatencyHistogram
from bmwg.reports.bundle.make import folder_evidence, make_bundle, submission_data
from bmwg.reports.bundle.signing import load_private
from bmwg.reports.render.page.report import write_report
from bmwg.reports.store.frame_codec import result_to_json, spec_to_json

BEGAN = "2026-01-31T08:00:00.000000Z"
BREAK_S = 18
TESTER_CPU, SUT_CPU = 0, 1
_VETH = {"kind": {"value": "veth", "how": {"kind": "netlink", "from": "RTM_GETLINK"}}}
_PORTS = {"schema": "record/1.0", "scope": "network", "fields": {"nic": {"p0": _VETH, "p1": _VETH}}}
_GAP_NS = 1_000_000  # from which the tester counts gaps
_BUCKETS, _TAIL = 400, 60


class Lab(runs.Tester):
    """The simulated tester with what a real one tells as well."""

    def run(self, spec: TrialSpec, /) -> TrialResult:
        result = super().run(spec)
        streams = tuple(self._spread_out(one) for one in _uneven(result.streams))
        told = {name: count for name, count in result.auxiliary if name != "simulated"}
        counted = result_to_json(replace(result, streams=streams))["streams"]
        told |= replayable.counters(spec_to_json(spec), counted)
        watched = None if result.disturbance is None else self._watched(result)
        told |= self._beside(result, watched)
        told["gaps_over_1ms"] = sum(one.largest_gap_ns > _GAP_NS for one in streams)
        return replace(
            result,
            streams=streams,
            wall_time_ns=result.wall_time_ns + 1 + self._random.randrange(998),
            auxiliary=tuple(sorted(told.items())),
            disturbance=watched,
        )

    def _beside(self, result: TrialResult, watched: HostDisturbance | None) -> dict[str, int]:
        """Return what a machine with a pod and two CPUs would have done meanwhile."""
        window_ns = result.wall_time_ns + 5_000_000
        passed = sum(one.received_frames for one in result.streams)
        stolen_ns = sum(count for _, count in watched.steal_ns) if watched else 0
        return {
            "host.steal_ns": stolen_ns + 10_000_000 * self._random.randrange(2),
            "host.softirq_ns": window_ns // 2,
            "host.dut.cpus.softirq_ns": window_ns // 3,
            "host.dut.cpus.window_ns": window_ns,
            "host.dut.pod0.net0.frames": passed,
            "host.dut.pod0.net1.frames": passed,
        }

    def _watched(self, result: TrialResult) -> HostDisturbance:
        mine = result.disturbance
        assert mine is not None
        sut = CpuWatch(cpu=SUT_CPU, tester=False, absences=0, absent_ns=0, longest_ns=0)
        stolen = ((TESTER_CPU, 20_000_000), (SUT_CPU, 0)) if mine.watches[0].absences else mine.steal_ns
        return replace(mine, steal_ns=stolen, largest_stall_ns=((SUT_CPU, 0),), watches=(*mine.watches, sut))

    def _spread_out(self, stream: StreamCounts) -> StreamCounts:
        """Return a stream whose latencies chance spread over many buckets."""
        base_ns, counts = self.config.latency_ns, dict[int, int]()
        tail = stream.received_frames // 1000 and _TAIL
        frames = stream.received_frames - tail
        for number in range(min(frames, _BUCKETS)):
            low_ns = base_ns + 16 * int(self._random.gammavariate(4.0, 20.0))
            share = (
                frames // _BUCKETS if number else frames - (min(frames, _BUCKETS) - 1) * (frames // _BUCKETS)
            )
            counts[low_ns] = counts.get(low_ns, 0) + share
        for _ in range(tail):  # the slowest frames are few in each bucket
            low_ns = base_ns + 16 * int(400 + self._random.expovariate(1 / 400))
            counts[low_ns] = counts.get(low_ns, 0) + 1
        buckets = tuple((low, low + 15, count) for low, count in sorted(counts.items()) if count)
        if not buckets:
            return stream
        drawn = self._random.choice(buckets)[1]
        return replace(
            stream,
            tagged_ns=tuple(None if one is None else drawn for one in stream.tagged_ns),
            largest_gap_ns=stream.largest_gap_ns + self._random.randrange(1000),
            largest_lateness_ns=stream.largest_lateness_ns + self._random.randrange(1000),
            effective_duration_ns=stream.effective_duration_ns - self._random.randrange(100),
            latency=LatencyHistogram(
                buckets=buckets,
                sum_ns=sum((low + 7) * count for low, _, count in buckets),
                min_ns=buckets[0][0],
                max_ns=buckets[-1][1],
            ),
        )


def _uneven(streams: tuple[StreamCounts, ...]) -> tuple[StreamCounts, ...]:
    """Have the way back lose more, where frames are lost."""
    forward, *back = streams
    lost = forward.sent_frames - forward.received_frames
    fewer = [replace(one, received_frames=max(0, one.received_frames - 1 - lost // 50)) for one in back]
    return (forward, *(fewer if lost else back))


def _as_measured(files: liar.Files) -> None:
    """Say what a run by a committed toolkit on an embedded testbed says."""
    run = files.run
    run["toolkit"] = {**run["toolkit"], "commit": replayable.COMMIT, "dirty": False}
    run["simulated"] = False
    run["testbed"]["tester"] |= {"driver": "embedded", "io": "af_xdp"}
    run["testbed"]["tester"].pop("options", None)
    run["drivers"] = [
        {**one, "driver": "embedded", "simulated": False} if one.get("driver") == "simulated" else one
        for one in run["drivers"]
    ]
    for name, deployment in files.platform["deployments"].items():
        deployment.pop("simulated", None)
        files.platform.setdefault("records", {}).setdefault(name, {})["tester"] = _PORTS
    files.platform |= {"doctor": [{"at": BEGAN, "suite": "Throughput", "findings": []}], "drift": []}
    for trial in files.trials:
        trial["platform"]["doctor"] = 1
    liar.numbered(files)
    begin_ns = files.trials[0]["times"]["deployed_ns"] or files.trials[0]["times"]["began_ns"]
    run["started_at"] = BEGAN
    for trial in files.trials:
        trial["at"] = _after(BEGAN, trial["times"]["ended_ns"] - begin_ns)
    run["ended_at"] = _after(files.trials[-1]["at"], 10**9)


def _after(stamp: str, elapsed_ns: int) -> str:
    moment = datetime.fromisoformat(stamp) + timedelta(microseconds=elapsed_ns // 1000 + 1000)
    return f"{moment:%Y-%m-%dT%H:%M:%S.%fZ}"


def _with_break(files: liar.Files) -> None:
    """Have the run stand still for some seconds amid its longest search, and go on on a new deployment."""
    group = max(liar_source._groups(files).values(), key=len)
    first = group[len(group) // 2]
    before = files.trials[first["seq"] - 2]
    name = first["deployment"]
    number = 1 + max(int(one.rpartition("-")[2]) for one in files.platform["deployments"])
    again = f"{name.rpartition('-')[0]}-{number}"
    for part in ("deployments", "records"):
        if name in files.platform.get(part, {}):
            files.platform[part][again] = json.loads(json.dumps(files.platform[part][name]))
    for trial in files.trials[first["seq"] - 1 :]:
        trial["at"] = _after(trial["at"], BREAK_S * 10**9)
        for step, value in trial["times"].items():
            trial["times"][step] = None if value is None else value + BREAK_S * 10**9
        if trial["deployment"] == name:
            trial["deployment"] = again
    liar.numbered(files)
    files.run["ended_at"] = _after(files.run["ended_at"], BREAK_S * 10**9)
    files.run["interruptions"] = [
        {
            "ended_at": None,
            "last_sign_at": before["at"],
            "noticed_at": _after(before["at"], BREAK_S * 10**9 - 10**8),
            "reason": "the runner ended without a word: killed, or out of power",
            "after_trial": before["seq"],
            "trial_cut_off": None,
            "repairs": [],
        }
    ]


_PACKETS = (runs.BOTH_WAYS, runs.TST009, runs.LATENCY, runs.TAGGED)


def _frames(to: Path, *tests: str, tester: type[runs.Tester] = Lab, **options: Any) -> Path:
    with runs.folder() as memory:
        runs.ROOT.insert(0, memory)
        try:
            made = Path(runs.run(*tests, base="quick", small=False, tester=tester, **options)().files.where)
            runs._made.cache_clear()
            to.parent.mkdir(parents=True, exist_ok=True)
            shutil.copytree(made, to)
        finally:
            runs.ROOT.pop(0)
    return to


def _ladder(to: Path) -> Path:
    _frames(to, "CN-TPUT-1.1", "CN-TPUT-1.2", "CN-LAT-1.2", device={"stall_ratio": 0.1, "seed": 5})
    return liar.told(to, _as_measured)


def _packets(to: Path) -> Path:
    _frames(to, *_PACKETS, device={"stall_ratio": 0.15})
    return liar.told(to, _as_measured)


def _resumed(to: Path) -> Path:
    shutil.copytree(_made("packets", to.parent), to)
    return liar_source.told(to, _with_break)


def _loads(to: Path) -> Path:
    beside = to.parent / "of-loads"
    frames = _frames(beside / "frames", "CN-TPUT-5.1")
    return loads_run.make(beside / "joined", liar.told(frames, _as_measured)).rename(to)


_MAKERS: Mapping[str, Callable[[Path], Path]] = {
    "ladder": _ladder,
    "packets": _packets,
    "resumed": _resumed,
    "simulated": lambda to: _frames(to, *_PACKETS, tester=runs.Tester, device={"stall_ratio": 0.1}),
    "loads": _loads,
    "http": lambda to: http_run.make_run(to.parent / "of-http", report=False).rename(to),
    "made": lambda to: replayable.make_run(
        to.parent / "of-made", simulated=False, sizes=(64, 512, 1518)
    ).rename(to),
    "turns": lambda to: replayable.make_run(
        to.parent / "of-turns", simulated=False, paths=("wire", "pvp"), sizes=(64, 512, 1518), order_seed=3
    ).rename(to),
}
NAMES = tuple(_MAKERS)
_RENDERED = ("ladder", "packets", "simulated", "loads")


@cache
def _made(name: str, place: Path) -> Path:
    place.mkdir(parents=True, exist_ok=True)
    whole = place / f"{name}.whole"
    with (place / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # another process of the session may need the same run, and waits
        if not whole.exists():
            folder = _MAKERS[name](place / name)
            if name in _RENDERED:
                write_report(folder)
            whole.touch()
    return place / name


def run(place: Path, name: str) -> Path:
    """Return the folder of a run, made once in a place; whoever changes it copies it first."""
    return _made(name, place)


def copied(place: Path, name: str, to: Path) -> Path:
    """Return a copy of a run that may be changed."""
    return Path(shutil.copytree(run(place, name), to / name))


_SUBMISSION = (
    b"schema: submission/1.0\norganization: Example Networks\nproduct:\n  name: Example Forwarder\n"
    b'  version: "4.2.1"\ncontact: ["a@example.net"]\n'
)


def submitted(
    place: Path, name: str, bundle: Path, key: Path, *, salt: bytes | None = loads_run.SALT
) -> Path:
    """Bundle a run as an organization hands it in: with a submission, signed, with a `salt` redacted."""
    folder = run(place, name)
    return make_bundle(
        folder,
        bundle,
        evidence=folder_evidence(folder, submission_data(_SUBMISSION, "submission.yaml")),
        findings=[],
        submission_octets=_SUBMISSION,
        signer=load_private(key),
        salt=salt,
    )
