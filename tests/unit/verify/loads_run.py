"""One run of frames over chains, requests, streams and the life of pods, redacted as for publication.

The frames are measured by the real bench. Executions of other loads never were; they are put beside them,
with the deployments that their cells ask for.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import http_run
import liar
import mutations
import replayable
from acts_run import executed
from repeated_run import Clock, deployed, header, recorded
from tests.unit.acts.lives import result as lived
from tests.unit.streams.test_kind import result as streamed

from bmwg.methodology.kinds.acts import profile as acts
from bmwg.methodology.kinds.acts.kind import ACTS
from bmwg.methodology.kinds.requests.kind import REQUESTS
from bmwg.methodology.kinds.streams import order
from bmwg.methodology.kinds.streams import profile as streams
from bmwg.methodology.kinds.streams.kind import STREAMS
from bmwg.methodology.kinds.streams.records import Transport
from bmwg.methodology.plan import blocks, turns
from bmwg.methodology.records import OutcomeType, Validity
from bmwg.reports.bundle.make import folder_evidence, make_bundle
from bmwg.reports.store import RunHeader, RunStore
from bmwg.reports.store.codec import planned_from_json

SALT = b"0123456789abcdef"
_TESTBED = {"name": "loads", "networks": replayable.TESTBED["networks"] | {"macvlan": {"driver": "cni"}}}
_OF_STREAMS = ("PP-TCP-1", "SK-UDP-4")
AT_THE_LIMIT = "p2p/bridge/tcp/forward/131072o/1s"  # whose executions fill its limit of time
_SLOW_NS = 4_600_000_000


def make(to: Path, frames: Path) -> Path:
    """Join a run of frames, which is changed, with the other loads; write the public copy of it."""
    to.mkdir()
    joined = liar.read(frames)
    seed = joined.run["order_seed"]
    parts = [
        _requests(to / "requests", seed),
        _streams(to / "streams", "of-streams", seed),
        _acts(to / "acts", "of-acts", seed),
    ]
    for kind, folder in zip(("requests", "streams", "acts"), parts, strict=True):
        _join(joined, kind, liar.read(folder))
    for name, described in joined.platform["deployments"].items():
        if described.get("path") == "chain":
            chain = next(one["cell"] for one in joined.trials if one["deployment"] == name)
            members = chain.partition("chain=")[2].split(">")
            described |= {"hosting": "pod", "chain": {"members": [{"name": one} for one in members]}}
    whole = _written(to, joined)
    bundle = make_bundle(whole, to / "public.tar", evidence=folder_evidence(whole), findings=[], salt=SALT)
    public = to / "public"
    public.mkdir()
    for name, octets in mutations.parts_of(bundle).items():
        if name in ("run.json", "platform.json", "trials.jsonl"):
            (public / name).write_bytes(octets)
    return public


def _written(to: Path, joined: liar.Files) -> Path:
    """Write a run of all these trials; what redaction may hide later is sealed by the real store."""
    run, platform = joined.run, joined.platform
    joint = RunHeader(
        toolkit_version=run["toolkit"]["version"],
        toolkit_commit=run["toolkit"]["commit"],
        toolkit_dirty=run["toolkit"]["dirty"],
        simulated=False,
        testbed=run["testbed"],
        testbed_source=None,
        profile=run["profile"],
        medium_kind=run["medium"]["kind"],
        line_rate_bps=None,
        plan=tuple(planned_from_json(one) for one in run["plan"]),
        drivers=tuple(run["drivers"]),
        procedures=run["procedures"],
        qualification_max_fps=run["qualification_max_fps"],
        order_seed=run["order_seed"],
        loads=run["loads"],
    )
    with RunStore.create(to, "whole", joint, clock=replayable.Clock()) as store:
        store.set_platform(before=platform["base"]["before"])
        for name, described in platform["deployments"].items():
            store.add_deployment(name, described)
        for name, places in platform.get("records", {}).items():
            store.platform.note_records(name, places)
        store.set_platform(after=platform["base"]["after"])
    whole = liar.read(store.folder)
    whole.run |= {name: run[name] for name in ("started_at", "ended_at", "outcomes")}
    replayable.forge(store.folder, whole.run, joined.trials)
    return store.folder


def _join(joined: liar.Files, kind: str, other: liar.Files) -> None:
    """Have the other run's trials follow, with their answers, deployments and header."""
    run, seqs = joined.run, len(joined.trials)
    later = _moment(run["ended_at"]) - _moment(other.run["started_at"])
    run.setdefault("loads", {})[kind] = {name: other.run[name] for name in ("testbed", "profile", "medium")}
    run["plan"] += other.run["plan"]
    run["procedures"] |= other.run["procedures"]
    for part in ("deployments", "records"):
        joined.platform.setdefault(part, {}).update(other.platform.get(part, {}))
    for trial in other.trials:
        trial["at"] = _stamp(_moment(trial["at"]) + later)
        trial["seq"] += seqs
        trial["platform"] = {"doctor": 0, "drift": 0, "sha256": "0" * 64}
        joined.trials.append(trial)
    for outcome in other.run["outcomes"]:
        outcome["trials"] = [seq + seqs for seq in outcome["trials"]]
        run["outcomes"].append(outcome)
    run["ended_at"] = _stamp(_moment(other.run["ended_at"]) + later)


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text)


def _stamp(moment: datetime) -> str:
    return f"{moment:%Y-%m-%dT%H:%M:%S.%fZ}"


def _requests(to: Path, seed: int) -> Path:
    folder = Path(http_run.make_run(to, report=False))
    files = liar.read(folder)
    for described in files.platform["deployments"].values():
        described["start_ns"] = [164_517_568]
    (folder / "platform.json").write_text(json.dumps(files.platform), encoding="ascii")
    planned = {one["cell"]["cell_id"]: one for one in files.run["plan"]}
    places = [one for one in REQUESTS.turns(files.run["profile"]) if one.key in planned]
    files.run["plan"] = [planned[one.key] for one in turns.interleaved(places, seed)]
    (folder / "run.json").write_text(json.dumps(files.run), encoding="ascii")
    return folder


def _deployed(store: RunStore, kind: str, cell: Any, known: dict[Any, str]) -> str:
    """Describe what a cell asks for, once, and return its id."""
    key = (cell.path, cell.hosting, cell.function, cell.network)
    if key not in known:
        known[key] = f"{kind}-{cell.path}-{cell.network}-{len(known) + 1}"
        described = {
            "path": cell.path,
            "hosting": cell.hosting,
            "function": {"name": cell.function},
            "network": {"driver": "cni", "network": cell.network},
        }
        deployed(store, known[key], described)
    return known[key]


def _streams(to: Path, run_id: str, seed: int) -> Path:
    chosen = streams.PROFILES.load("quick")
    plan = [one for one in chosen.plan() if one.test_id in _OF_STREAMS]
    clock, known = Clock(1.0), dict[Any, str]()
    planned_run = header(STREAMS, chosen.data, plan, _TESTBED, seed)
    with RunStore.create(to, run_id, planned_run, clock=clock) as store:
        here = {one.cell.cell_id: one for one in plan if one.cell.hosting in ("pod", "baremetal")}
        done: dict[str, list[Any]] = {name: [] for name in here}
        for cell_id in _in_turns(chosen.data, plan, here, seed):
            planned, tried = here[cell_id], done[cell_id]
            asked = replace(planned.spec, number=len(tried) + 1)
            came = _streamed(planned, list(here).index(cell_id), asked.number)
            clock.took_s = came.wall_ns / 1e9 + 0.05
            deployment = _deployed(store, "streams", planned.cell, known)
            tried.append(recorded(STREAMS, store, planned, deployment, asked, came))
            assert STREAMS.assessed(asked, came).validity is Validity.VALID
        for one in plan:
            if one.cell.cell_id in here:
                store.add_outcome(STREAMS.answered(one, done[one.cell.cell_id]))
            else:
                store.add_outcome(STREAMS.without_execution(one, OutcomeType.NOT_ASSESSED, "no program"))
        store.close(None, "complete")
    return store.folder


def _in_turns(
    profile: Mapping[str, Any], plan: Sequence[Any], here: Mapping[str, Any], seed: int
) -> Iterator[str]:
    """Give the cells of executions in order: one after the other, and forms of a sweep in turns."""
    for name, planned in here.items():
        if not order.sweep_of(profile, planned.cell):
            yield from [name] * planned.asked.wanted
    sweeps = dict.fromkeys(order.sweep_of(profile, one.cell) for one in here.values())
    for sweep in (one for one in sweeps if one):
        forms = order.forms(profile, [one.cell for one in plan], sweep)
        counts = {name: 0 for form in forms for name in form}
        while due := blocks.next_up(
            forms,
            counts,
            {name for name, count in counts.items() if name not in here or count == here[name].asked.wanted},
            seed=seed,
            experiment=sweep,
        ):
            counts[due] += 1
            yield due


def _streamed(planned: Any, place: int, number: int) -> Any:
    """An execution of a cell, of which no two are alike; the first is the slowest."""
    spec = planned.spec
    lasted_ns = int(spec.duration_s * 1e9)
    rate = 1.0 + number / 1000 + place / 100_000
    messages = int(40_000 * rate) if spec.transport is Transport.UDP else None
    octets = messages * spec.message_octets if messages else int(125_000_000 * spec.duration_s * rate)
    slow_ns = (
        _SLOW_NS if planned.cell.cell_id == AT_THE_LIMIT else (spec.duration_s + spec.omit_s + 0.3) * 1e9
    )
    came = streamed(
        octets,
        elapsed_ns=lasted_ns,
        process_ns=lasted_ns + int(spec.omit_s * 1e9) + 40_000_000 + number,
        wall_ns=slow_ns + 1000 * number + place,
    )
    frames = messages + number if messages else 1000
    crossings = tuple(replace(one, octets=octets + 46 * frames, frames=frames) for one in came.crossings)
    if messages:
        came = replace(came, sent_messages=messages, received_messages=messages, retransmits=None)
    return replace(came, crossings=crossings)


def _acts(to: Path, run_id: str, seed: int) -> Path:
    chosen = acts.PROFILES.load("quick")
    plan = [one for one in chosen.plan() if one.test_id == "LC-START-1"]
    clock, known = Clock(4.0), dict[Any, str]()
    with RunStore.create(to, run_id, header(ACTS, chosen.data, plan, _TESTBED), clock=clock) as store:
        for place, planned in enumerate(plan):
            if planned.cell.network not in ("bridge", "ptp"):
                store.add_outcome(ACTS.without_execution(planned, OutcomeType.NOT_ASSESSED, "no eBPF"))
                continue
            deployment = _deployed(store, "acts", planned.cell, known)
            results = [lived(1500 + 10 * place + number) for number in range(1, planned.asked.wanted + 1)]
            executed(store, planned, deployment, results)
        store.close(None, "complete")
    return store.folder
