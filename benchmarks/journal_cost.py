"""What journal and ledger cost: seconds of writing, and what of it lengthens the run, over its wall time.

Replays the trials of a run into a new store in `--folder`, and as many ledger entries as it holds. A trial is
recorded while the DUT rests (RFC 2544 section 23, phase e): only what takes longer lengthens the run.
"""

import argparse
import json
import statistics
import tempfile
import time
from datetime import datetime
from pathlib import Path

from bmwg.drivers.undo.ledger import Ledger
from bmwg.reports.store import RunHeader, RunStore, read_run


def spread_ms(times_s):
    """Median, minimum and maximum, ms."""
    return [round(1e3 * value, 3) for value in (statistics.median(times_s), min(times_s), max(times_s))]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path, help="the folder of a finished run")
    parser.add_argument("--folder", type=Path, default=Path())
    chosen = parser.parse_args()
    run = read_run(chosen.run)
    begun, ended = (datetime.fromisoformat(at).timestamp() for at in (run.started_at, str(run.ended_at)))
    header = RunHeader(
        toolkit_version=run.toolkit_version,
        toolkit_commit=run.toolkit_commit,
        toolkit_dirty=run.toolkit_dirty,
        simulated=run.simulated,
        testbed=run.testbed,
        testbed_source=run.testbed_source,
        profile=run.profile,
        medium_kind=run.medium_kind,
        line_rate_bps=run.line_rate_bps,
        plan=run.plan,
    )
    appends, notes, entries, outcomes = [], [], [], []
    with tempfile.TemporaryDirectory(dir=chosen.folder) as folder:
        with RunStore.create(Path(folder), "cost", header) as store:
            for trial in run.trials:
                result = trial.result
                at_s = time.perf_counter()
                store.begin_trial(cell_id=trial.cell_id, phase=trial.phase, spec=trial.spec)
                notes.append(time.perf_counter() - at_s)
                at_s = time.perf_counter()
                store.append_trial(
                    cell_id=trial.cell_id,
                    deployment_id=trial.deployment_id,
                    metric=trial.metric,
                    test_id=trial.test_id,
                    phase=trial.phase,
                    result=result,
                    validity=trial.validity,
                    reason=trial.reason,
                )
                appends.append(time.perf_counter() - at_s)
            for outcome in run.outcomes:
                at_s = time.perf_counter()
                store.add_outcome(outcome)
                outcomes.append(time.perf_counter() - at_s)
        ledger = Ledger(Path(folder) / "ledger.jsonl", index_dir=Path(folder) / "index")
        for line in (chosen.run / "ledger.jsonl").read_text().splitlines():
            if "kind" in json.loads(line):
                at_s = time.perf_counter()
                ledger.done(ledger.before("file", path="/nowhere"))
                entries.append(time.perf_counter() - at_s)
    cost_s = sum(appends) + sum(notes) + sum(outcomes) + sum(entries)
    rest_s = run.profile["trial"]["restabilize_s"]
    added_s = cost_s - sum(min(append_s, rest_s) for append_s in appends)
    print(
        json.dumps(
            {
                "trials": len(appends),
                "append_ms": spread_ms(appends),
                "note_ms": spread_ms(notes),
                "ledger_entries": len(entries),
                "outcome_ms": spread_ms(outcomes),
                "ledger_entry_ms": spread_ms(entries),
                "rest_ms": 1e3 * rest_s,
                "cost_s": round(cost_s, 3),
                "added_s": round(added_s, 3),
                "wall_s": round(ended - begun, 3),
                "share": round(cost_s / (ended - begun), 5),
                "added_share": round(added_s / (ended - begun), 5),
            },
            indent=1,
        )
    )
