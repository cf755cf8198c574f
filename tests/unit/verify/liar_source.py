"""Lies of a vendor who has the toolkit's source: the answers are computed anew from what he changed.

Of these families some are refused; others an honest run can look like, so
they are asked about; what cannot be shown at all is said on the first lines of each verification.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import liar
import released
import replayable
from liar import Files, Json, Lie

from bmwg.methodology.records import Outcome
from bmwg.reports.bundle.make import folder_evidence
from bmwg.reports.checker.evidence import Evidence
from bmwg.reports.store.codec import outcome_to_json
from bmwg.reports.verify import replay

HIDDEN = "sealed-" + "0" * 64


def told(folder: Path, lie: Lie, seed: int = 0) -> Path:
    """Tell a lie, and compute every answer anew from the trials that it leaves, where one follows."""
    liar.told(folder, lie, seed)
    evidence = folder_evidence(folder)
    made: dict[str, Outcome] = {}

    def kept(evidence: Evidence, outcome: Outcome, computed: Outcome, group: Any) -> Iterator[Any]:
        stood = replay._stood(evidence, computed, group)
        made[outcome.outcome_id] = replace(stood, trials=tuple(one.trial.seq for one in group))
        return iter(())

    compare, replay._compare = replay._compare, kept
    try:
        for _ in range(2):  # a latency stands on the throughput that is computed before it
            for outcome in evidence.outcomes:
                list(replay.contradictions(evidence, made.get(outcome.outcome_id, outcome)))
            answers = tuple(made.get(one.outcome_id, one) for one in evidence.outcomes)
            by_cell = {(one.cell.cell_id, one.metric): one for one in reversed(answers)}
            evidence = replace(evidence, outcomes=answers, by_cell=by_cell)
    finally:
        replay._compare = compare
    files = liar.read(folder, seed)
    mends = {one["id"]: one["mend"] for one in files.run["outcomes"]}
    files.run["outcomes"] = [outcome_to_json(one, mends[one.outcome_id]) for one in evidence.outcomes]
    replayable.forge(folder, files.run, files.trials)
    return folder


def _groups(files: Files) -> dict[tuple[str, str], list[Json]]:
    found: dict[tuple[str, str], list[Json]] = {}
    for trial in files.trials:
        found.setdefault((trial["cell"], trial["metric"]), []).append(trial)
    return found


def _without(files: Files, gone: list[Json]) -> None:
    """Take trials out, and number the others anew wherever they are named."""
    ids = {id(one) for one in gone}
    kept = [trial for trial in files.trials if id(trial) not in ids]
    seqs = {trial["seq"]: number for number, trial in enumerate(kept, start=1)}
    files.trials[:] = kept
    for one in files.run["outcomes"]:
        one["trials"] = [seqs[seq] for seq in one["trials"] if seq in seqs]
        for bound in one["bounds"].values():
            if bound:
                bound["trials"] = [seqs[seq] for seq in bound["trials"] if seq in seqs]
    for one in files.run.get("interruptions", ()):
        one["after_trial"] = sum(seq <= one["after_trial"] for seq in seqs)


def _last(files: Files, metric: str) -> list[Json]:
    return [trials for (_, one), trials in _groups(files).items() if one.startswith(metric)][-1]


def set_aside_gone(files: Files) -> None:
    """Leave out the trials that were set aside, and number the rest anew."""
    mine = [one for one in files.trials if one["assessment"]["validity"] != "valid"]
    inner = [one for one in mine if _between(files, one)]
    _without(files, files.chance.sample(inner, max(1, len(inner) // 2)))


def set_aside_renumbered(files: Files) -> None:
    """The same, with the tester's own numbers closed over the gap."""
    set_aside_gone(files)
    liar.numbered(files)


def _between(files: Files, trial: Json) -> bool:
    group = _groups(files)[trial["cell"], trial["metric"]]
    return trial is not group[0] and trial is not group[-1]


def closing_gone(files: Files) -> None:
    """Leave out the last trials of a search, which tried once more what it had found."""
    group = _last(files, "throughput.tst009")
    _without(files, group[-files.chance.choice([1, 2]) :])


def cell_called_missing(files: Files) -> None:
    """Say of a cell that its answer could not be had, and leave out what shows it."""
    metric = files.chance.choice(["latency.", "throughput.tst009"])
    group = _last(files, metric)
    cell, metric = group[0]["cell"], group[0]["metric"]
    _without(files, group)
    for one in files.run["outcomes"]:
        if (one["cell"]["cell_id"], one["metric"]) == (cell, metric):
            one |= {"type": "not_assessed", "values": [], "trials": [], "statement": "", "quality": []}
            one |= {"bounds": {"lower": None, "upper": None}, "requirements": []}
            one["reason"] = "plugin missing"
    liar.numbered(files)


def gaps_forgotten(files: Files) -> None:
    """Make trials valid that were set aside for the tester's own gap."""
    late = [one for one in files.trials if _gap(one) > 1_000_000 and not one["faults"]]
    for trial in files.chance.sample(late, max(1, len(late) // 2)):
        for stream in trial["result"]["streams"]:
            stream["largest_gap_ns"] = files.chance.randrange(20_000, 300_000)
            stream["largest_lateness_ns"] = min(stream["largest_lateness_ns"], stream["largest_gap_ns"])
        trial["assessment"] = {"validity": "valid", "reason": ""}


def _gap(trial: Json) -> int:
    return max((stream["largest_gap_ns"] for stream in trial["result"]["streams"]), default=0)


def stall_made_up(files: Files) -> None:
    """Set lossy trials aside for a stall of the DUT's CPU that nobody saw."""
    for trial in files.trials:
        lost = any(one["received_frames"] < one["sent_frames"] for one in trial["result"]["streams"])
        told = trial["result"]["disturbance"]
        if lost and told and trial["assessment"]["validity"] == "valid":
            stall_ns = files.chance.randrange(2_000_000, 9_000_000)
            told["largest_stall_ns"][1::2] = [stall_ns] * (len(told["largest_stall_ns"]) // 2)
            cpu = told["largest_stall_ns"][0]
            reason = f"CPU {cpu} stalled for {stall_ns} ns, limit 1000000 ns"
            trial["assessment"] = {"validity": "host_stalled", "reason": reason}


def watches_gone(files: Files) -> None:
    """Leave out what the watchdogs saw, of all trials or of one CPU."""
    tester = files.chance.choice([True, False, None])
    for trial in files.trials:
        told = trial["result"]["disturbance"]
        if told and "watches" in told:
            told["watches"] = [
                one for one in told["watches"] if tester is not None and one["tester"] is tester
            ]
            if not told["watches"]:
                del told["watches"]


def times_gone(files: Files) -> None:
    """Leave out when the steps around trials happened, so that no wait can be judged."""
    for trial in files.trials:
        trial.pop("times", None)


def other_version(files: Files) -> None:
    """Claim another version of a procedure than the toolkit's release has."""
    versions = files.run["procedures"]
    versions[files.chance.choice(sorted(versions))] += 1


def other_release(files: Files) -> None:
    """Say that another release measured, which had less to refuse."""
    files.run["toolkit"] |= {"version": released.OTHER.version, "commit": released.OTHER.commit}


def newer_version(files: Files) -> None:
    """Call the toolkit a release that never was."""
    files.run["toolkit"]["version"] = files.chance.choice(["0.2.0", "1.0.0", "9.9.9"])


def hidden_from_rules(files: Files) -> None:
    """Redact what a rule reads: the tester's driver, its ports' kind, or what the record calls them."""
    tester = files.run["testbed"]["tester"]
    if files.chance.random() < 0.5:
        tester["io"] = HIDDEN
    else:
        tester["driver"] = HIDDEN
        for one in files.run["drivers"]:
            one["driver"] = HIDDEN
    for trial in files.trials:
        _uncounted(trial)


def _uncounted(trial: Json) -> None:
    counters = trial["result"]["auxiliary"]
    for name in [name for name in counters if name.endswith(("x_packets", "x_dropped", "x_errors"))]:
        del counters[name]


def called_pci(files: Files) -> None:
    """Call the tester's ports devices whose interfaces nobody counts, and call every frame received."""
    files.run["testbed"]["tester"]["io"] = "pci"
    for trial in files.trials:
        _uncounted(trial)


def own_profile(files: Files) -> None:
    """Measure by a profile of one's own whose name reads like a shipped one."""
    files.run["profile"]["name"] = files.chance.choice(["rfc2544-full", "rfc-2544", "tst009-rfc2544"])


def tail_cut(files: Files) -> None:
    """Move the slowest frames of each latency into the buckets of the faster ones."""
    for trial in files.trials:
        for stream in trial["result"]["streams"]:
            latency = stream["latency"]
            flat = latency["buckets"]
            buckets = [flat[n : n + 3] for n in range(0, len(flat), 3)]
            while len(buckets) > 2 and buckets[-1][2] < sum(one[2] for one in buckets) / 20:
                low, high, count = buckets.pop()
                buckets[0][2] += count
                latency["sum_ns"] -= count * (low + high) // 2 - count * buckets[0][0]
            low_sum = sum(low * count for low, _, count in buckets)
            high_sum = sum(high * count for _, high, count in buckets)
            latency["sum_ns"] = max(low_sum, min(high_sum, latency["sum_ns"]))
            latency["buckets"] = [number for one in buckets for number in one]
            if buckets:
                latency["max_ns"] = min(latency["max_ns"], buckets[-1][1])
                tags = stream.get("tagged_ns", [])
                tags[:] = [None if one is None else min(one, buckets[-1][1]) for one in tags]


def better_machine(files: Files) -> None:
    """Call the machine another model, in every record."""
    text = json.dumps(files.platform)
    model = files.platform["base"]["before"]["fields"]["cpu"]["model"]["value"]
    files.platform.clear()
    files.platform.update(
        json.loads(text.replace(json.dumps(model), json.dumps(f"Fast CPU {files.chance.random()}")))
    )


def ways_swapped(files: Files) -> None:
    """Give each direction what the other had."""
    for trial in files.trials:
        if len(trial["result"]["streams"]) == 2:
            trial["result"]["streams"].reverse()


def break_hidden(files: Files) -> None:
    """Say nothing of a break in which the device could be mended."""
    files.run.pop("interruptions")
    first = dict.fromkeys(files.platform["deployments"])
    stems = Counter(name.rpartition("-")[0] for name in first)
    for stem in (stem for stem, count in stems.items() if count > 1):
        names = [name for name in first if name.rpartition("-")[0] == stem]
        for trial in files.trials:
            if trial["deployment"] in names[1:]:
                trial["deployment"] = names[0]
    liar.numbered(files)


def neighbours_trials(files: Files) -> None:
    """Put the trials of a cell in from a run before, where that cell was better; its times as they were."""
    group = _last(files, "throughput.rfc2544")
    ends = [moment(one["at"]) for one in (files.trials[0], files.trials[-1])]
    before_s = (ends[1] - ends[0]).total_seconds() + files.chance.randrange(60, 600)
    for trial in group:
        trial["at"] = shifted(trial["at"], -before_s)
        for name, value in trial["times"].items():
            trial["times"][name] = None if value is None else max(1, value - int(before_s * 1e9))


def moment(text: str) -> Any:
    """Return the time of a stamp."""
    from datetime import datetime

    return datetime.fromisoformat(text)


def shifted(text: str, by_s: float) -> str:
    """Return a stamp some seconds later."""
    from datetime import timedelta

    return f"{moment(text) + timedelta(seconds=by_s):%Y-%m-%dT%H:%M:%S.%fZ}"


REFUSED: dict[Lie, tuple[str, str]] = {  # base, rule
    set_aside_gone: ("packets", "VER-75"),
    closing_gone: ("packets", "VER-08"),
    gaps_forgotten: ("packets", "VER-53"),
    stall_made_up: ("packets", "VER-53"),
    watches_gone: ("packets", "VER-51"),
    times_gone: ("packets", "VER-51"),
    other_version: ("packets", "VER-50"),
    other_release: ("packets", "VER-50"),
    newer_version: ("packets", "VER-50"),
    hidden_from_rules: ("packets", "VER-52"),
    called_pci: ("packets", "VER-34"),
    ways_swapped: ("packets", "VER-34"),
    neighbours_trials: ("packets", "VER-35"),
}
ASKED: dict[Lie, tuple[str, str]] = {  # base, how a line before the sorted lists begins
    set_aside_renumbered: ("packets", "question: time: "),
    cell_called_missing: ("packets", "question: cells: "),
    own_profile: ("packets", "question: profile: "),
    break_hidden: ("resumed", "question: time: "),
}
SAID: dict[Lie, tuple[str, str]] = {  # what no file can show
    tail_cut: ("packets", "nor: latencies"),
    better_machine: ("packets", "nor: latencies"),
}
