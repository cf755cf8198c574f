"""A run whose profile says that forms of sweeps took turns is held against the seed of its header."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
import replayable
from repeated_run import Clock, closed, deployed, header, recorded
from tests.unit.streams.test_kind import result, spec

from bmwg.methodology.kinds.streams import order
from bmwg.methodology.kinds.streams.kind import STREAMS
from bmwg.methodology.kinds.streams.profile import CLAIM, PROFILES
from bmwg.methodology.kinds.streams.records import StreamsResult
from bmwg.methodology.plan import blocks
from bmwg.methodology.records import BAREMETAL, POD, UNIKERNEL, OutcomeType
from bmwg.reports.store import RunStore
from bmwg.reports.verify.verify import verify_folder

QUICK = PROFILES.load("quick")
PLAN = [one for one in QUICK.plan() if one.test_id == "SK-TCPT-4"]
SWEEP = "socket_sizes_twin"
FORMS = order.forms(QUICK.data, [one.cell for one in PLAN], SWEEP)
SEED = 5
IN_TURNS = (BAREMETAL, POD, "docker")
MACHINE = {"accelerator": "tcg", "cpus": 1}


class Writer:
    """Writes executions that never were; no two are alike."""

    def __init__(self, store: RunStore) -> None:
        self.store = store
        self.done: dict[str, list] = {}

    def once(self, planned, faults=()) -> None:
        mine = self.done.setdefault(planned.cell.cell_id, [])
        asked = spec(planned, len(mine) + 1)
        came = result(125_000_000 + 1000 * len(mine), elapsed_ns=1_000_000_000, process_ns=1_100_000_000)
        came = replace(came, process_ns=came.process_ns + sum(map(len, self.done.values())))
        came = StreamsResult(wall_ns=came.wall_ns, faults=faults) if faults else came
        form = f"streams-{planned.cell.hosting}"
        mine.append(recorded(STREAMS, self.store, planned, form, asked, came))

    def keep(self, planned) -> None:
        self.store.add_outcome(STREAMS.answered(planned, self.done[planned.cell.cell_id]))


def made_run(folder: Path, *, profile=QUICK.data, breaks: str = "", seed: int | None = SEED) -> Path:
    """Three forms in turns, then a unikernel under TCG; a guest and podman are not there.

    The form `breaks` has one execution that fails, and no further one.
    """
    planned_run = header(STREAMS, profile, PLAN, {"name": "two hosts"}, seed)
    with RunStore.create(folder, "s", planned_run, clock=Clock(5.0)) as store:  # an execution takes three
        for form in (*IN_TURNS, UNIKERNEL):
            told = {"path": "client-server", "hosting": form}
            deployed(store, f"streams-{form}", told | ({"machine": MACHINE} if form == UNIKERNEL else {}))
        writer, cells = Writer(store), {one.cell.cell_id: one for one in PLAN}
        over = {name for name, one in cells.items() if one.cell.hosting not in IN_TURNS}
        while True:
            counts = {name: len(tried) for name, tried in writer.done.items()}
            due = blocks.next_up(FORMS, counts, over, seed=SEED, experiment=SWEEP)
            if due is None:
                break
            fails = cells[due].cell.hosting == breaks and counts.get(due, 0) == 1
            writer.once(cells[due], ("its pod has ended",) if fails else ())
            if fails or len(writer.done[due]) == cells[due].asked.wanted:
                over.add(due)
        for one in PLAN:
            if one.cell.hosting == UNIKERNEL:
                for _ in range(one.asked.wanted):
                    writer.once(one)
        for name, one in cells.items():
            if name in writer.done:
                writer.keep(one)
            else:
                store.add_outcome(STREAMS.without_execution(one, OutcomeType.NOT_ASSESSED, "not here"))
        return closed(store)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return made_run(tmp_path_factory.mktemp("turns"))


def found(folder: Path) -> list[tuple[str, str, str]]:
    return [
        (one.where, one.expected, one.found)
        for one in verify_folder(folder).findings
        if one.rule_id == "VER-59"
    ]


def forged(run: Path, change) -> list[tuple[str, str, str]]:
    lines, document = replayable.bodies(run), json.loads((run / "run.json").read_text())
    change(lines, document)
    replayable.forge(run, document, lines)
    return found(run)


def test_a_run_in_turns_verifies_and_its_translated_machine_needs_none(made) -> None:
    assert verify_folder(made).findings == ()


def test_the_report_says_that_they_took_turns_and_gives_ratios_of_blocks(made) -> None:
    page = " ".join((made / "report.rst").read_text(encoding="utf-8").replace("\\", "").split())
    assert "Forms took turns" in page
    assert "5 blocks" in page
    blocks_of = "take turns in randomized blocks, each of one execution of each size"
    assert f"Hosting forms of a sweep {blocks_of}, seed {SEED}" in page


def test_a_form_that_broke_leaves_the_others_their_turns(tmp_path) -> None:
    assert found(made_run(tmp_path, breaks="docker")) == []


def test_an_interrupted_run_verifies(run) -> None:
    def change(lines, document) -> None:
        del lines[7:]
        kept = {line["seq"] for line in lines}
        document["outcomes"] = [one for one in document["outcomes"] if set(one["trials"]) <= kept]
        document["status"] = "interrupted"

    assert forged(run, change) == []


def test_another_seed_is_not_the_one_by_which_forms_took_turns(run) -> None:
    def change(lines, document) -> None:
        document["order_seed"] = SEED + 1

    assert forged(run, change)


def test_a_run_without_a_seed_cannot_claim_turns(run) -> None:
    def change(lines, document) -> None:
        del document["order_seed"]

    ((where, _, said),) = forged(run, change)
    assert (where, said) == ("run.json: order_seed", "none")


def test_two_executions_that_change_places_are_found(run) -> None:
    def change(lines, document) -> None:
        at = next(n for n in range(1, len(lines)) if lines[n]["cell"] != lines[n - 1]["cell"])
        lines[at], lines[at - 1] = lines[at - 1], lines[at]

    assert forged(run, change)


def test_form_after_form_is_no_run_in_turns(run) -> None:
    def change(lines, document) -> None:
        lines.sort(key=lambda line: line["deployment"])

    ((where, expected, _),) = forged(run, change)
    assert where.startswith("trial ")
    assert expected.startswith("an execution of client-server/")


def test_a_profile_that_claims_nothing_may_have_any_order(tmp_path) -> None:
    silent = {name: value for name, value in QUICK.data.items() if name != CLAIM}
    folder = made_run(tmp_path, profile=silent, seed=None)

    def change(lines, document) -> None:
        lines.sort(key=lambda line: line["deployment"])

    assert forged(folder, change) == []
    page = (folder / "report.rst").read_text(encoding="utf-8").replace("\\", "")
    assert "Forms were measured one after the other" in " ".join(page.split())
