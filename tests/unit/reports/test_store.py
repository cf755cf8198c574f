"""The run folder: what is written comes back, nothing is overwritten, what was changed is refused."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import made_run
import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_parts import LATENCY, THROUGHPUT, Clock, Maker, cell, header, result
from made_run import realistic_run

from bmwg.methodology.errors import ConfigError, TestbedError, ToolkitBug
from bmwg.methodology.records import Bound, Outcome, OutcomeType, Quantity, Validity
from bmwg.reports.store import RunStore, read_run
from bmwg.reports.store.canonical import canonical
from bmwg.reports.store.files import Written, pretty
from bmwg.reports.store.redact import redact
from bmwg.schemas import load
from bmwg.schemas.validation import problems


def copied(made_folder: Path, tmp_path: Path) -> Path:
    folder = tmp_path / made_folder.name
    shutil.copytree(made_folder, folder)
    return folder


def refused(folder: Path) -> str:
    with pytest.raises(ConfigError) as caught:
        read_run(folder)
    return caught.value.error_id


def test_records_come_back_equal(tmp_path: Path) -> None:
    one = cell("pvp", "bridge", 512, flows=16, vlan_id=7)
    with RunStore.create(tmp_path, None, header(), clock=Clock()) as store:
        made = result(one, 1000, loss_ratio=0.25, fault="the link went away")
        seq = store.append_trial(
            cell_id=one.cell_id,
            deployment_id="d1",
            metric=THROUGHPUT,
            test_id="CN-TPUT-PVP",
            phase="search",
            result=made,
            validity=Validity.FAULT,
            reason="link",
        )
        outcome = Outcome(
            outcome_id="o1",
            metric=THROUGHPUT,
            cell=one,
            type=OutcomeType.AT_CEILING,
            lower=Bound(load_fps=1000, trials=(seq,)),
            trials=(seq,),
            statement="no loss up to 1000 frames/s",
            reason="highest load",
            requirements=("RFC2544-26.1-01",),
            quality=("one flow",),
        )
        store.add_outcome(outcome, mend="nothing")
        store.add_deployment("d1", {"plugin": "bridge"})
        store.set_platform(before={"kernel": {}}, after={"kernel": {}})
    run = read_run(store.folder)
    assert run.trial(1).result == made
    assert run.trial(1).loss_ratio == 0.25
    assert run.outcomes == (outcome,)
    assert run.mends == {"o1": "nothing"}
    assert run.deployments == {"d1": {"plugin": "bridge"}}
    assert (run.status, run.platform_before, run.platform_after) == (
        "complete",
        {"kernel": {}},
        {"kernel": {}},
    )
    assert json.loads((store.folder / "run.json").read_text())["schema"] == "run/1.0"
    assert (store.folder / "run.json").read_text().startswith('{\n "schema": "run/1.0",\n "run_id"')


def test_nothing_is_recorded_behind_a_fence(tmp_path: Path) -> None:
    one = cell("pvp", "bridge", 64)
    with RunStore.create(tmp_path, None, header(), clock=Clock()) as store:

        def lost() -> None:
            raise TestbedError("LEASE-02", "lost")

        def append() -> int:
            return store.append_trial(
                cell_id=one.cell_id,
                deployment_id="d1",
                metric=THROUGHPUT,
                test_id="CN-TPUT-PVP",
                phase="search",
                result=result(one, 1000),
                validity=Validity.VALID,
            )

        append()
        store.fence = lost
        outcome = Outcome(outcome_id="o1", metric=THROUGHPUT, cell=one, type=OutcomeType.INVALID, trials=(1,))
        for record in (append, lambda: store.add_outcome(outcome)):
            with pytest.raises(TestbedError, match="LEASE-02"):
                record()
    run = read_run(store.folder)
    assert (len(run.trials), run.outcomes) == (1, ())


def test_realistic_run_is_read_whole(made_folder: Path) -> None:
    run = read_run(made_folder)
    assert {outcome.type for outcome in run.outcomes} == set(OutcomeType)
    assert len(run.plan) == len(made_run.full_plan())
    assert [trial.seq for trial in run.trials] == list(range(1, len(run.trials) + 1))
    assert run.notes == ()


def test_a_run_folder_is_never_overwritten(made_folder: Path) -> None:
    before = {path.name: path.read_bytes() for path in made_folder.iterdir()}
    with pytest.raises(ConfigError, match="STORE-09"):
        RunStore.create(made_folder.parent, made_folder.name, header())
    assert {path.name: path.read_bytes() for path in made_folder.iterdir()} == before


@pytest.mark.parametrize("run_id", ["", ".", "..", "a/b", "/etc", "x" * 65, "a\nb", "-x"])
def test_a_run_id_that_is_no_folder_name_is_refused(tmp_path: Path, run_id: str) -> None:
    with pytest.raises(ConfigError, match="STORE-09"):
        RunStore.create(tmp_path, run_id, header())
    assert list(tmp_path.iterdir()) == []


def test_results_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(TestbedError, match="STORE-08"):
        RunStore.create(tmp_path / "file", None, header())


@pytest.mark.parametrize(
    ("number", "edit"),
    [
        (3, lambda line: line.replace('"sent_frames":', '"sent_frames":1', 1)),
        (3, lambda line: line.replace('"seq":3', '"seq":4')),
        (3, lambda line: line.replace(',"', ', "', 1)),
        (3, lambda _line: ""),
        (3, lambda _line: "{}"),
        (3, lambda line: line + line),
        (3, lambda line: line[:-1]),
        (5, lambda line: line.replace("trial/1.0", "trial/9.9")),
    ],
)
def test_a_changed_line_is_refused_by_its_number(made_folder: Path, tmp_path: Path, number, edit) -> None:
    folder = copied(made_folder, tmp_path)
    path = folder / "trials.jsonl"
    lines = path.read_text().splitlines()
    lines[number - 1] = edit(lines[number - 1])
    path.write_text("\n".join(lines) + "\n")
    with pytest.raises(ConfigError) as caught:
        read_run(folder)
    assert caught.value.error_id in {"STORE-01", "STORE-03", "STORE-04", "STORE-10"}
    assert f"line {number}" in caught.value.what


def test_removed_and_swapped_lines_are_refused(made_folder: Path, tmp_path: Path) -> None:
    folder = copied(made_folder, tmp_path)
    path = folder / "trials.jsonl"
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(lines[:4] + lines[5:]))
    assert refused(folder) == "STORE-01"
    path.write_text("".join([*lines[:4], lines[5], lines[4], *lines[6:]]))
    assert refused(folder) == "STORE-01"
    path.write_text("".join(lines[:-1]))
    assert refused(folder) == "STORE-07"


def test_a_journal_of_another_run_is_refused(made_folder: Path, tmp_path: Path) -> None:
    folder = copied(made_folder, tmp_path)
    other = realistic_run(tmp_path, "other")
    shutil.copy(other / "trials.jsonl", folder / "trials.jsonl")
    assert refused(folder) == "STORE-01"


@pytest.mark.parametrize(
    ("change", "error_id"),
    [
        ({"schema": "run/0.9"}, "STORE-03"),
        ({"surprise": 1}, "STORE-04"),
        ({"simulated": True}, "STORE-07"),
        ({"started_at": "2026-01-31T08:00:00.000000Z"}, "STORE-07"),
        ({"status": "great"}, "STORE-04"),
    ],
)
def test_a_changed_run_file_is_refused(made_folder: Path, tmp_path: Path, change, error_id) -> None:
    folder = copied(made_folder, tmp_path)
    path = folder / "run.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    assert refused(folder) == error_id


def test_no_run_folder_is_one_config_error(tmp_path: Path) -> None:
    assert refused(tmp_path / "none") == "STORE-02"
    (tmp_path / "run.json").write_text("[")
    assert refused(tmp_path) == "STORE-02"
    (tmp_path / "run.json").write_text("[]")
    assert refused(tmp_path) == "STORE-03"


def test_every_prefix_of_a_journal_is_repaired_or_refused(tmp_path: Path) -> None:
    one = cell("wire")
    with RunStore.create(tmp_path, "prefix", header(), clock=Clock()) as store:
        for load in (1000, 2000):
            Maker(store).trial(one, load, buckets=1)
    folder, path = store.folder, store.folder / "trials.jsonl"
    whole = path.read_bytes()
    expected = [trial.line_hash for trial in read_run(folder).trials]
    run = json.loads((folder / "run.json").read_text())
    unfinished = run | {"journal": {"trials": 0, "hash": json.loads(whole.splitlines()[0])["prev"]}}
    for length in range(len(whole) + 1):
        path.write_bytes(whole[:length])
        (folder / "run.json").write_text(json.dumps(unfinished))
        read = read_run(folder)
        complete = whole[:length].count(b"\n")
        assert [trial.line_hash for trial in read.trials] == expected[:complete]
        assert bool(read.notes) == (length > 0 and not whole[:length].endswith(b"\n"))
        if length < len(whole):
            (folder / "run.json").write_text(json.dumps(run))
            assert refused(folder) == "STORE-07"


def test_resume_moves_a_torn_append_aside_and_goes_on(tmp_path: Path) -> None:
    one = cell("wire")
    store = RunStore.create(tmp_path, "torn", header(), clock=Clock())
    Maker(store).trial(one, 1000)
    store.close(None, "interrupted", reason="killed")
    path = store.folder / "trials.jsonl"
    with path.open("ab") as file:
        file.write(b'{"schema":"tri')
    again = RunStore.resume(store.folder, clock=Clock())
    assert again.repairs == ("14 octets of a cut-off append were moved to trials.jsonl.torn-1",)
    assert (store.folder / "trials.jsonl.torn-1").read_bytes() == b'{"schema":"tri'
    assert Maker(again).trial(one, 2000) == 2
    again.close(None, "complete")
    assert [trial.spec.load_fps for trial in read_run(store.folder).trials] == [1000, 2000]


def test_two_writers_of_one_run_are_refused(tmp_path: Path) -> None:
    with RunStore.create(tmp_path, "twice", header()) as store, pytest.raises(ConfigError, match="STORE-06"):
        RunStore.resume(store.folder)


def test_leaving_by_an_exception_marks_the_run_interrupted(tmp_path: Path) -> None:
    store = RunStore.create(tmp_path, "cut", header())

    def session() -> None:
        with store:
            Maker(store).trial(cell("wire"), 1000)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        session()
    run = read_run(store.folder)
    assert (run.status, len(run.trials)) == ("interrupted", 1)
    assert run.interruption is not None
    assert "KeyboardInterrupt" in run.interruption


def test_an_outcome_cannot_rest_on_a_trial_that_is_not_there(tmp_path: Path) -> None:
    with RunStore.create(tmp_path, "early", header()) as store:
        number = Quantity(metric=THROUGHPUT, number=5, unit="frames/s")
        outcome = Outcome(
            outcome_id="o",
            metric=THROUGHPUT,
            cell=cell("wire"),
            type=OutcomeType.MEASURED,
            values=(number,),
            trials=(1,),
        )
        with pytest.raises(ToolkitBug, match="never recorded"):
            store.add_outcome(outcome)
        Maker(store).trial(cell("wire"), 1000)
        store.add_outcome(outcome)
        with pytest.raises(ToolkitBug, match="in the run already"):
            store.add_outcome(outcome)
        with pytest.raises(ToolkitBug, match="schema"):
            Maker(store).outcome(cell("node"), LATENCY, OutcomeType.INVALID, values=(number,), trials=(1,))
        with pytest.raises(ToolkitBug, match="not JSON"):
            store.add_driver({"speed": float("nan")})
    assert read_run(store.folder).outcomes == (outcome,)


def test_a_full_disk_breaks_the_store_and_loses_nothing(tmp_path: Path) -> None:
    store = RunStore.create(tmp_path, "full", header())
    maker = Maker(store)
    maker.trial(cell("wire"), 1000)
    journal = store._journal
    real, journal._handle = journal._handle, os.open("/dev/full", os.O_WRONLY)
    with pytest.raises(TestbedError, match="STORE-08"):
        maker.trial(cell("wire"), 2000)
    os.close(journal._handle)
    journal._handle = real
    with pytest.raises(TestbedError, match="STORE-08"):
        maker.trial(cell("wire"), 3000)
    store.close(None, "interrupted", reason="disk")
    assert [trial.spec.load_fps for trial in read_run(store.folder).trials] == [1000]


_ENDLESS = """
import sys
sys.path.insert(0, {tests!r})
from made_parts import Maker, cell, header
from bmwg.methodology.records import Bound, Outcome, OutcomeType
from bmwg.reports.store import RunStore
from pathlib import Path
store = RunStore.create(Path({results!r}), "killed", header())
maker = Maker(store)
for number in range(100000):
    seq = maker.trial(cell("wire"), 1000 + number)
    store.add_outcome(Outcome(outcome_id=str(number), metric="m", cell=cell("wire"),
                              type=OutcomeType.INVALID, trials=(seq,)))
    print(seq, flush=True)
"""


@pytest.mark.parametrize("moment", [1, 4, 9])
def test_a_kill_loses_no_acknowledged_trial(tmp_path: Path, moment: int) -> None:
    code = _ENDLESS.format(tests=str(Path(__file__).parent), results=str(tmp_path))
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    said = [int(process.stdout.readline()) for _ in range(moment)]
    time.sleep(0.003 * moment)
    process.send_signal(signal.SIGKILL)
    said += [int(line) for line in process.stdout.read().split()]
    process.wait(timeout=10)
    run = read_run(tmp_path / "killed")
    assert len(run.trials) >= said[-1]
    assert len(run.outcomes) >= said[-1]
    assert run.status == "running"


@pytest.mark.parametrize(
    ("sentence", "kept"),
    [
        ("peer 192.0.2.7 gone", "peer <address> gone"),
        ("to 2001:db8::1/64 and ::1", "to <address> and <address>"),
        ("mac 02:00:00:aa:bb:cc", "mac <address>"),
        ("at 12:30:05 version 1.2.3.4.5, ratio 0.99:1", "at 12:30:05 version 1.2.3.4.5, ratio 0.99:1"),
        ("bmwg::driver on lab-7.example", "bmwg::driver on <host>"),
        ("on lab-7: tester", "on <host>: tester"),
    ],
)
def test_addresses_and_the_host_name_stay_out_of_the_journal(sentence: str, kept: str) -> None:
    assert redact(sentence, "lab-7.example") == kept


def test_both_validators_agree_on_the_journal_line(made_folder: Path) -> None:
    fine = json.loads((made_folder / "trials.jsonl").read_text().splitlines()[0])
    assert problems(fine, "trial") == []
    for key in load("trial")["required"]:
        broken = {name: value for name, value in fine.items() if name != key}
        assert problems(broken, "trial") != []
        assert problems(fine | {key: 7.5}, "trial") != []


def test_canonical_form_refuses_what_is_no_json() -> None:
    assert canonical({"b": [1, None], "a": "ä"}) == '{"a":"\\u00e4","b":[1,null]}'
    with pytest.raises(ValueError):
        canonical(float("nan"))


def test_a_run_that_goes_on_numbers_its_deployments_after_the_last(tmp_path: Path) -> None:
    """The second of them failed to come up: it has used a number and left no record."""
    with RunStore.create(tmp_path, None, header(), clock=Clock()) as store:
        assert read_run(store.folder).last_deployment == 0
        for name in ("pvp-kernel-l3-bridge-1", "pvp-kernel-l3-ptp-3", "named"):
            store.add_deployment(name, {"plugin": "bridge"})
        assert read_run(store.folder).last_deployment == 3


KEYS = st.text(max_size=3)
VALUES = st.recursive(
    st.none() | st.integers() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(KEYS, VALUES, max_size=4))
def test_a_document_for_the_eye_is_what_json_writes_with_an_indent(data: dict[str, Any]) -> None:
    whole = {**data, "schema": "run/1.0", "run_id": "r", "outcomes": [{"a": [1, {}]}, {}], "plan": []}
    ordered = {key: whole[key] for key in ("schema", "run_id")}
    ordered |= {key: whole[key] for key in sorted(whole) if key not in ordered}
    wanted = (json.dumps(ordered, indent=1) + "\n").encode("ascii")
    written: Written = {}
    assert pretty(whole) == pretty(whole, written) == pretty(whole, written) == wanted
