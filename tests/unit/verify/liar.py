"""Lies of a vendor who owns the signing key: a run is changed, hashed anew and signed, so nothing is broken.

Each family changes what an honest run holds in one way that pays: a device that looks better, a model that
looks like a device, a bad cell that is not there. The tables below name the run of `honest` that a family
starts from.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import replayable

from bmwg.reports.bundle.archive import RENDERED_PARTS
from bmwg.reports.bundle.make import folder_evidence, make_bundle
from bmwg.reports.bundle.signing import load_private

Json = dict[str, Any]


@dataclass(slots=True, kw_only=True)
class Files:
    """A run's files as data, for changing: `trials` are lines without their hashes."""

    run: Json
    platform: Json
    trials: list[Json]
    chance: random.Random


Lie = Callable[[Files], None]


def relabelled(files: Files) -> None:
    """Call a simulated run a real one: header, testbed and descriptions; the trials stay as they were."""
    files.run["simulated"] = False
    files.run["testbed"]["tester"] |= {
        "driver": "embedded",
        "io": files.chance.choice(["af_xdp", "af_packet"]),
    }
    files.run["testbed"]["tester"].pop("options", None)
    files.run["drivers"] = [{"driver": "embedded", "simulated": False, "dpdk": "DPDK 22.11.11"}]
    for deployment in files.platform["deployments"].values():
        deployment.pop("simulated", None)


def relabelled_without_sign(files: Files) -> None:
    """The same, with the sign of the simulation taken out of each trial."""
    relabelled(files)
    for trial in files.trials:
        del trial["result"]["auxiliary"]["simulated"]


def relabelled_with_counters(files: Files) -> None:
    """The same, with counters of interfaces made up."""
    relabelled_without_sign(files)
    for trial in files.trials:
        trial["result"]["auxiliary"] |= replayable.counters(trial["spec"], trial["result"]["streams"])


def relabelled_as_other_tester(files: Files) -> None:
    """The same, as a tester that counts no interfaces."""
    relabelled_without_sign(files)
    files.run["testbed"]["tester"] |= {"driver": "trex", "io": "pci"}
    files.run["drivers"] = [{"driver": "trex"}]


def relabelled_with_time(files: Files) -> None:
    """The same, with the trials written as far apart as they would have lasted."""
    relabelled_with_counters(files)
    now = datetime.fromisoformat(files.run["started_at"])
    for trial in files.trials:
        now += timedelta(
            microseconds=trial["result"]["wall_time_ns"] // 1000 + files.chance.randrange(20_000)
        )
        trial["at"] = f"{now:%Y-%m-%dT%H:%M:%S.%fZ}"
    files.run["ended_at"] = f"{now + timedelta(seconds=1):%Y-%m-%dT%H:%M:%S.%fZ}"


def later_half(files: Files) -> None:
    """Say that the second half was measured an hour later than it was."""
    for trial in files.trials[len(files.trials) // 2 :]:
        trial["at"] = _an_hour_later(trial["at"])
    files.run["ended_at"] = _an_hour_later(files.run["ended_at"])


def _an_hour_later(text: str) -> str:
    return f"{datetime.fromisoformat(text) + timedelta(hours=1):%Y-%m-%dT%H:%M:%S.%fZ}"


def with_line_rate(files: Files) -> None:
    """Declare a rate for a medium that has none, so that no envelope limits what is a plain number."""
    files.run["medium"]["line_rate_bps"] = files.chance.choice([10**9, 10**10, 10**11])


def small_line_rate(files: Files) -> None:
    """Declare, in the testbed as well, a medium that cannot carry what was sent."""
    medium = {"kind": "cable", "line_rate_bps": files.chance.choice([10**6, 10**7])}
    files.run["testbed"]["medium"] = dict(medium)
    files.run["medium"] = dict(medium)


def losses_gone(files: Files) -> None:
    """Call every frame of some lossy trials received; the interfaces keep what they counted."""
    lossy = [
        trial
        for trial in files.trials
        if any(stream["received_frames"] < stream["sent_frames"] for stream in trial["result"]["streams"])
    ]
    for trial in files.chance.sample(lossy, max(1, len(lossy) // 2)):
        for stream in trial["result"]["streams"]:
            stream["received_frames"] = stream["sent_frames"]


def longer_trials(files: Files) -> None:
    """Say that trials sent a hundred times longer than they did."""
    for trial in files.trials:
        trial["spec"]["duration_s"] *= 100


def times_moved(files: Files) -> None:
    """Put the run's end before its trials, or its beginning before there was a toolkit."""
    if files.chance.random() < 0.5:
        files.run["ended_at"] = files.run["started_at"]
    else:
        files.run["started_at"] = "2019-01-31T08:00:00.000000Z"


def cells_gone(files: Files) -> None:
    """Leave out the cells of one frame size, of plan, outcomes and journal, as if nobody had asked."""
    sizes = sorted({one["cell"]["frame_octets"] for one in files.run["plan"]})
    size = files.chance.choice(sizes[1:])
    bad = {
        (one["metric"], one["cell"]["cell_id"])
        for one in files.run["plan"]
        if one["cell"]["frame_octets"] == size
    }
    files.run["outcomes"] = [
        one for one in files.run["outcomes"] if (one["metric"], one["cell"]["cell_id"]) not in bad
    ]
    files.run["plan"] = [
        one for one in files.run["plan"] if (one["metric"], one["cell"]["cell_id"]) not in bad
    ]
    kept, seqs = [], {}
    for trial in files.trials:
        if (trial["metric"], trial["cell"]) not in bad:
            kept.append(trial)
            seqs[trial["seq"]] = len(kept)
    files.trials[:] = kept
    for one in files.run["outcomes"]:
        one["trials"] = [seqs[seq] for seq in one["trials"]]
        for bound in one["bounds"].values():
            if bound:
                bound["trials"] = [seqs[seq] for seq in bound["trials"]]


def other_commit(files: Files) -> None:
    """Name a commit that the toolkit never had."""
    files.run["toolkit"]["commit"] = f"{files.chance.getrandbits(160):040x}"


def profile_in_disguise(files: Files) -> None:
    """Call a profile by the name of a shipped one."""
    files.run["profile"]["name"] = files.chance.choice(["rfc2544", "cloud", "tst009"])


def other_driver(files: Files) -> None:
    """Describe another tester than the one that the testbed names."""
    files.run["drivers"] = [{"driver": "trex", "simulated": False}]


def another_seed(files: Files) -> None:
    """Name another seed than the one that the order was drawn from."""
    files.run["order_seed"] += 1 + files.chance.randrange(1000)


def option_after_option(files: Files) -> None:
    """Have one option measured after the other, and claim that they took turns."""
    at = [(trial["at"], trial.get("times")) for trial in files.trials]
    files.trials.sort(key=lambda trial: (not trial["cell"].startswith("wire/"), trial["deployment"]))
    seqs = {trial["seq"]: number for number, trial in enumerate(files.trials, start=1)}
    for trial, (moment, times) in zip(files.trials, at, strict=True):
        trial["at"] = moment
        if times is not None:
            trial["times"] = times
    for one in files.run["outcomes"]:
        one["trials"] = [seqs[seq] for seq in one["trials"]]
        for bound in one["bounds"].values():
            if bound:
                bound["trials"] = [seqs[seq] for seq in bound["trials"]]


PLANS: dict[Lie, str] = {cells_gone: "made"}
TURNS: dict[Lie, str] = {another_seed: "turns", option_after_option: "turns"}
STRANGERS: dict[Lie, str] = {other_commit: "unreleased toolkit", profile_in_disguise: "unknown profile"}
TIMES: dict[Lie, tuple[str, str]] = {  # base, question
    relabelled_with_time: ("simulated", "question: times: "),
    later_half: ("packets", "question: clock: "),
}
PHYSICS: dict[Lie, str] = {
    other_driver: "packets",
    relabelled: "simulated",
    relabelled_without_sign: "simulated",
    relabelled_with_counters: "simulated",
    relabelled_as_other_tester: "simulated",
    with_line_rate: "packets",
    small_line_rate: "packets",
    losses_gone: "packets",
    longer_trials: "packets",
    times_moved: "packets",
}


def numbered(files: Files) -> None:
    """Number the trials of each deployment as a tester counts them."""
    count: Counter[str] = Counter()
    for trial in files.trials:
        if trial["kind"] == "frames":
            count[trial["deployment"]] += 1
            trial["result"]["auxiliary"]["tester.trial"] = count[trial["deployment"]]


def read(folder: Path, seed: int = 0) -> Files:
    """Read a run folder for changing."""
    return Files(
        run=json.loads((folder / "run.json").read_text("ascii")),
        platform=json.loads((folder / "platform.json").read_text("ascii")),
        trials=replayable.bodies(folder),
        chance=random.Random(seed),
    )


def told(folder: Path, lie: Lie, seed: int = 0) -> Path:
    """Change the run in a folder, and make its hashes, bonds and chain anew."""
    files = read(folder, seed)
    lie(files)
    (folder / "platform.json").write_text(json.dumps(files.platform, indent=1) + "\n", encoding="ascii")
    replayable.forge(folder, files.run, files.trials)
    return folder


def signed(
    folder: Path, bundle: Path, key: Path, *, report: str | None = None, robot: Path | None = None
) -> Path:
    """Bundle a folder as it is, found faults or not, and sign it; `report` is the page beside it."""
    for name in RENDERED_PARTS:
        (folder / name).unlink(missing_ok=True)
    if report is not None:
        (folder / "report.html").write_text(report, encoding="utf-8")
    return make_bundle(
        folder,
        bundle,
        evidence=folder_evidence(folder),
        findings=[],
        signer=load_private(key),
        robot_output=robot,
    )
