"""What made runs of repeated kinds share: clock, header, deployments, executions, and a changed copy."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import replayable

import bmwg
from bmwg.methodology.answers.procedures import versions
from bmwg.methodology.kinds.repeated.kind import MEASURED, RepeatedKind
from bmwg.reports.bundle.make import folder_evidence, make_bundle
from bmwg.reports.render.page.report import write_report
from bmwg.reports.store import PlannedCell, RunHeader, RunStore
from bmwg.reports.verify.verify import verify_bundle, verify_folder


class Clock(replayable.Clock):
    """Goes on by `took_s` each time it is asked: by more than an execution takes."""

    def __init__(self, took_s: float = 21.0) -> None:
        super().__init__()
        self.took_s = took_s

    def __call__(self) -> datetime:
        self.moment += timedelta(seconds=self.took_s)
        return self.moment


def header(
    kind: RepeatedKind[Any, Any],
    profile: Mapping[str, Any],
    plan: Iterable[Any],
    testbed: Mapping[str, Any],
    order_seed: int | None = None,
) -> RunHeader:
    """Return the header of a run that plans these cells."""
    return RunHeader(
        toolkit_version=bmwg.__version__,
        toolkit_commit=replayable.COMMIT,
        toolkit_dirty=False,
        simulated=False,
        testbed=testbed,
        testbed_source=None,
        profile=profile,
        medium_kind="veth",
        line_rate_bps=None,
        procedures=versions(kind.families),
        plan=tuple(PlannedCell(test_id=one.test_id, metric=one.metric, cell=one.cell) for one in plan),
        order_seed=order_seed,
    )


def deployed(store: RunStore, deployment_id: str, evidence: Mapping[str, Any]) -> None:
    """Describe a deployment, of which a place's record says nothing."""
    store.add_deployment(deployment_id, evidence)
    place = {"schema": "record/1.0", "scope": "network", "fields": {}}
    store.platform.note_records(deployment_id, {"dut1": place})


def recorded(
    kind: RepeatedKind[Any, Any],
    store: RunStore,
    planned: Any,
    deployment_id: str,
    asked: Any,
    came: Any,
    host: Mapping[str, int] | None = None,
) -> Any:
    """Append an execution of a cell, judged, and return it."""
    found = kind.assessed(asked, came)
    seq = store.append(
        cell_id=planned.cell.cell_id,
        deployment_id=deployment_id,
        metric=planned.metric,
        test_id=planned.test_id,
        phase=MEASURED,
        body=kind.body_of(asked, came, host or {}),
        validity=found.validity,
        reason=found.reason,
    )
    return kind.tried(seq, asked, came, deployment_id)


def closed(store: RunStore) -> Path:
    """End a run, write its report, and return its folder."""
    store.close(None, "complete")
    write_report(store.folder)
    return store.folder


def require_whole(folder: Path, to: Path) -> None:
    """Hold that a run verifies, as a folder and as a bundle, which is written to `to`."""
    found = verify_folder(folder)
    assert found.findings == ()
    evidence = folder_evidence(folder)
    bundle = make_bundle(folder, to, evidence=evidence, findings=list(found.findings), signer=None)
    assert verify_bundle(bundle).findings == ()


def forged(run: Path, change: Callable[[list[dict[str, Any]], dict[str, Any]], None]) -> set[str]:
    """Change the lines and answers of a run, its chain made again; the rules that verification finds."""
    lines, document = replayable.bodies(run), json.loads((run / "run.json").read_text())
    change(lines, document)
    replayable.forge(run, document, lines)
    return {finding.rule_id for finding in verify_folder(run).findings}


def each_life(change: Callable[[dict[str, Any]], None]) -> Callable[[list[Any], dict[str, Any]], None]:
    """Return what changes each life of a run's first five executions of acts."""

    def changed(lines: list[Any], document: dict[str, Any]) -> None:
        for line in lines[:5]:
            for life in line["result"]["lives"]:
                change(life)

    return changed


def times_first_answer(factor: float) -> Callable[[list[Any], dict[str, Any]], None]:
    """Return what multiplies the first number of a run's first answer that has one."""

    def changed(lines: list[Any], document: dict[str, Any]) -> None:
        next(one for one in document["outcomes"] if one["values"])["values"][0]["number"] *= factor

    return changed
