"""`bmwg export --parquet`: verified runs alone, row for row what the files hold; the documented queries."""

from __future__ import annotations

import json
import re
import shutil
import sys
from collections import Counter, defaultdict
from datetime import datetime
from pathlib import Path
from statistics import median
from typing import Any

import compared_runs
import made_run
import pytest
from made_parts import LATENCY, PROFILE, Clock, Maker, cell, header, result

from bmwg.cli.main import main
from bmwg.methodology.records import FRAMES, OutcomeType, Quantity
from bmwg.reports.exported import as_csv, as_data, as_junit
from bmwg.reports.opened import OpenedRun, open_run
from bmwg.reports.store import RunStore, read_run
from bmwg.reports.store.folder import run_folders_in
from bmwg.reports.tables import parquet
from bmwg.reports.tables.columns import TABLES
from bmwg.reports.tables.rows import _STREAM, _of_line

duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed: setup/install.sh --tests")
pytest.importorskip("pyarrow", reason="pyarrow is not installed: setup/install.sh --tests")

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs" / "analysis.md").read_text("utf-8")
QUERIES = dict(re.findall(r"^### (.+?)\n.*?```sql\n(.+?)```", PAGE, re.MULTILINE | re.DOTALL))
THROUGHPUT = "throughput.rfc2544_26_1"
DAY_H = 24


def written(results: Path, place: Path, why_not: Any = lambda _folder: "") -> parquet.Written:
    return parquet.write_tables(run_folders_in([results]), place, why_not)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run like the default one, three of one cell (two on a day, one on the next by another kernel and
    profile), and one of latencies at two loads.
    """
    results = tmp_path_factory.mktemp("results")
    made_run.realistic_run(results, "default")
    old, new = compared_runs.record(), compared_runs.record(release="6.12.0")
    compared_runs.run_of(results, "first", 100_000, hour=0, platform=old)
    compared_runs.run_of(results, "second", 110_000, hour=3, platform=old)
    night = {**PROFILE, "name": "night"}
    compared_runs.run_of(results, "third", 90_000, hour=DAY_H, platform=new, profile=night)
    with RunStore.create(results, "loads", header()) as store:
        for load in (1_000, 2_000):
            Maker(store).trial(cell("pvp", "bridge"), load, metric=LATENCY, median_ns=12 * load)
    return results


@pytest.fixture(scope="module")
def tables(results: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("export") / "tables"
    assert written(results, place).left_out == ()
    return place


def test_streams_of_a_pattern_have_no_direction() -> None:
    """They are of the ports that receive; one way or the other is of two ports."""
    counts: dict[str, Any] = dict.fromkeys(_STREAM, 0)
    stream = counts | {"latency": {"buckets": [], "sum_ns": 0, "min_ns": None, "max_ns": None}}
    line = {"kind": FRAMES, "test": "t", "metric": "m", "cell": "c", "deployment": "d", "phase": "search"}
    line |= {"assessment": {"validity": "valid", "reason": ""}, "at": "2026-01-31T08:00:00.000000Z"}
    line |= {"result": {"streams": [stream] * 3}}
    spec = {"load_fps": 1, "duration_s": 1.0, "frame_octets": 64, "direction": "forward"}
    told = {
        name: dict(_of_line(line | {"spec": one}))["streams"]["direction"]
        for name, one in (("two", spec | {"direction": "both"}), ("mesh", spec | {"pattern": {"to": []}}))
    }
    assert told == {"two": ["forward", "reverse", ""], "mesh": ["", "", ""]}


def ask(tables: Path, query: str) -> list[tuple[Any, ...]]:
    """Run a query as somebody in that folder would."""
    with duckdb.connect() as base:
        base.execute(f"SET file_search_path = '{tables}'")
        rows: list[tuple[Any, ...]] = base.execute(query).fetchall()
    return rows


def answers(results: Path) -> list[tuple[Any, Any]]:
    runs = [open_run(one.parent) for one in sorted(results.glob("*/run.json"))]
    return [(run, answer) for run in runs for answer in run.answers]


def throughputs(results: Path) -> list[tuple[Any, Any]]:
    return [
        (run, one) for run, one in answers(results) if one.metric == THROUGHPUT and one.type == "measured"
    ]


def test_every_table_and_column_stands_in_the_page_and_in_the_files(tables: Path) -> None:
    assert {one.name for one in tables.iterdir()} == {f"{name}.parquet" for name in TABLES}
    for name, columns in TABLES.items():
        (row,) = re.findall(rf"^\| `{name}\.parquet` \|.*$", PAGE, re.MULTILINE)
        names = [one.name for one in columns]
        assert re.findall(r"`(\w+)`", row.split("|")[3]) == names
        assert [told[0] for told in ask(tables, f"DESCRIBE FROM '{name}.parquet'")] == names


def test_rows_are_what_the_files_hold(results: Path, tables: Path) -> None:
    run = read_run(results / "default")
    rows = ask(
        tables,
        "SELECT seq, line_hash, load_fps, sent_frames, received_frames, validity FROM 'trials.parquet'"
        " WHERE run_id = 'default' ORDER BY seq",
    )
    assert rows == [
        (one.seq, one.line_hash, one.spec.load_fps, one.sent_frames, one.received_frames, one.validity.value)
        for one in run.trials
    ]
    buckets: dict[int, list[tuple[int, int, int]]] = defaultdict(list)
    for seq, *bucket in ask(
        tables,
        "SELECT seq, lowest_ns, highest_ns, frames FROM 'buckets.parquet' WHERE run_id = 'default'"
        " ORDER BY seq, stream, lowest_ns",
    ):
        buckets[seq].append(tuple(bucket))
    streams = {one.seq: one.result.streams for one in run.trials}
    assert buckets == {
        seq: [bucket for one in held for bucket in one.latency.buckets]
        for seq, held in streams.items()
        if any(one.latency.buckets for one in held)
    }
    sums = ask(
        tables, "SELECT seq, latency_sum_ns FROM 'streams.parquet' WHERE run_id = 'default' ORDER BY seq"
    )
    assert sums == [(seq, one.latency.sum_ns) for seq, held in streams.items() for one in held]
    facts = ask(tables, "SELECT name, value, number FROM 'facts.parquet' WHERE run_id = 'third'")
    assert facts == [("kernel/release", "6.12.0", None)]


def test_remarks_stand_beside_an_answer_in_every_form(tmp_path: Path) -> None:
    """Such as that a percentile is of survivors: more frames were lost than lie beyond it."""
    lost = "5 of 100 frames were lost and have no latency: more than lie beyond p99"
    with RunStore.create(tmp_path / "results", "a", header()) as store:
        maker = Maker(store)
        seq = maker.trial(cell("pvp", "bridge"), 1_000, metric=LATENCY)
        value = Quantity(metric=f"{LATENCY}.p99", number=9_000, unit="ns")
        maker.outcome(
            cell("pvp", "bridge"),
            LATENCY,
            OutcomeType.MEASURED,
            values=(value,),
            trials=(seq,),
            quality=("1 stream of 1 s", lost),
        )
    run = open_run(tmp_path / "results" / "a")
    assert [one.remarks for one in run.answers] == [("1 stream of 1 s", lost)]
    assert as_data(run)["answers"][0]["remarks"] == ["1 stream of 1 s", lost]
    for text in (as_csv(run), as_junit(run)):
        assert f"1 stream of 1 s; {lost}" in text
    assert written(tmp_path / "results", tmp_path / "tables").left_out == ()
    told = ask(tmp_path / "tables", "SELECT number, remarks FROM 'outcomes.parquet'")
    assert told == [(9_000, f"1 stream of 1 s; {lost}")]


def test_a_trial_says_when_it_was_recorded_which_is_after_it_began(tmp_path: Path) -> None:
    began: list[datetime] = []
    clock = Clock()
    with RunStore.create(tmp_path, "a", header(), clock=clock) as store:
        one = cell("pvp", "bridge")
        store.begin_trial(cell_id=one.cell_id, phase="search", spec=result(one, 1_000).spec)
        began.append(clock.moment)
        Maker(store).trial(one, 1_000)
    (trial,) = open_run(tmp_path / "a").trials
    assert datetime.fromisoformat(trial.at) > began[0]
    (says,) = [one.says for one in TABLES["trials"] if one.name == "at"]
    assert "began" not in says


def test_no_number_stands_where_nothing_was_measured(tables: Path) -> None:
    assert ask(tables, "SELECT count(*) FROM 'outcomes.parquet' WHERE type <> 'measured'")[0][0] > 0
    wrong = "(type = 'measured') <> (number IS NOT NULL)"
    assert ask(tables, f"SELECT count(*) FROM 'outcomes.parquet' WHERE {wrong}") == [(0,)]


def asked(tables: Path, heading: str) -> list[tuple[Any, ...]]:
    return ask(tables, QUERIES[heading])


def of(run: OpenedRun) -> tuple[str, str]:
    return run.testbed, run.profile


def grouped(pairs: list[tuple[Any, float]]) -> dict[Any, list[float]]:
    groups: dict[Any, list[float]] = defaultdict(list)
    for key, number in pairs:
        groups[key].append(number)
    return groups


def test_query_what_was_measured(results: Path, tables: Path) -> None:
    counted = Counter((one.metric, one.unit, one.type) for _, one in answers(results))
    assert {row[:3]: row[3] for row in asked(tables, "What was measured at all")} == counted


def test_query_by_option(results: Path, tables: Path) -> None:
    pairs = [
        ((*of(run), one.cell_id.replace(f"/{one.network}/", "/*/"), one.network, one.reason), one.number)
        for run, one in throughputs(results)
    ]
    expected = {
        key: (len(numbers), median(numbers), min(numbers), max(numbers))
        for key, numbers in grouped(pairs).items()
    }
    rows = asked(tables, "Which option is the fastest")
    assert {row[:5]: row[5:] for row in rows} == expected
    assert [row[:3] for row in rows] == sorted(row[:3] for row in rows)
    assert len({row[:2] for row in rows}) == 2  # what a profile of longer trials found stands apart


def test_query_by_kernel(results: Path, tables: Path) -> None:
    pairs = [
        ((*of(run), str(fact.value), one.cell_id), one.number)
        for run, one in throughputs(results)
        for fact in run.facts
        if fact.name == "kernel/release"
    ]
    expected = {key: (len(numbers), median(numbers)) for key, numbers in grouped(pairs).items()}
    rows = {row[:4]: row[4:] for row in asked(tables, "What each kernel makes of it")}
    assert rows == expected
    assert len({key[2] for key in rows}) == 2


def test_query_by_day(results: Path, tables: Path) -> None:
    pairs = [((*of(run), one.cell_id, run.started_at[:10]), one.number) for run, one in throughputs(results)]
    expected = {key: (len(numbers), median(numbers)) for key, numbers in grouped(pairs).items()}
    rows = asked(tables, "How it went from day to day")
    assert {(*row[:3], row[3].isoformat()): row[4:] for row in rows} == expected


def test_query_latency_over_all_frames(results: Path, tables: Path) -> None:
    frames: dict[tuple[str, str, str, int], Counter[int]] = defaultdict(Counter)
    for folder in (one.parent for one in results.glob("*/run.json")):
        run = read_run(folder)
        for trial in run.trials:
            if trial.metric.startswith("latency") and trial.validity == "valid":
                for stream in trial.result.streams:
                    for _, highest_ns, count in stream.latency.buckets:
                        key = (run.testbed["name"], trial.cell_id, trial.metric, trial.spec.load_fps)
                        frames[key][highest_ns] += count
    expected = {}
    for key, held in frames.items():
        ranked = sorted(held.elements())
        expected[key] = (
            len(ranked),
            ranked[-(-len(ranked) // 2) - 1],
            ranked[-(-99 * len(ranked) // 100) - 1],
        )
    rows = asked(tables, "Latency by all frames of all runs")
    assert {row[:4]: tuple(map(int, row[4:])) for row in rows} == expected
    assert len({key[1] for key in expected}) < len(expected)  # a cell at two loads stands in two rows


def test_query_of_the_trials_behind_an_answer(results: Path, tables: Path) -> None:
    rows = asked(tables, "Which trials stand behind an answer")
    expected = [(run.run_id, one.cell_id, seq) for run, one in answers(results) for seq in one.trials]
    assert Counter((row[0], row[1], row[3]) for row in rows) == Counter(expected)
    hashes = {
        (name, one.seq): one.line_hash
        for name in ("default", "first")
        for one in read_run(results / name).trials
    }
    assert all(hashes[row[0], row[3]] == row[7] for row in rows if row[0] in ("default", "first"))


def test_query_of_trials_that_did_not_hold(results: Path, tables: Path) -> None:
    counted = Counter(
        one.validity.value for folder in results.glob("*/run.json") for one in read_run(folder.parent).trials
    )
    rows = asked(tables, "Which trials did not hold, and where")
    assert {row[1]: row[2] for row in rows} == counted
    assert sum(row[3] for row in rows) == pytest.approx(100, abs=0.5)


def test_query_of_what_has_no_number(results: Path, tables: Path) -> None:
    counted = Counter((one.type, one.reason) for _, one in answers(results) if one.number is None)
    assert {row[:2]: row[2] for row in asked(tables, "What has no number, and why")} == counted
    assert counted


def test_every_query_of_the_page_has_a_test() -> None:
    text = Path(__file__).read_text("utf-8")
    assert [name for name in QUERIES if f'asked(tables, "{name}")' not in text] == []
    assert len(QUERIES) == PAGE.count("```sql")


def test_other_kinds_of_load_have_rows_without_counts_of_frames(tmp_path: Path) -> None:
    from tests.unit.http.test_one_journal import run_of

    run_of(tmp_path / "results", "requests", 2_000_000)
    assert written(tmp_path / "results", tmp_path / "tables").rows["trials"] == 5
    rows = ask(
        tmp_path / "tables",
        "SELECT load, sent_frames, result->>'$.mean_request_ns' FROM 'trials.parquet' ORDER BY seq",
    )
    assert rows == [("requests", None, str(2_000_000 + 1000 * number)) for number in range(1, 6)]
    assert ask(tmp_path / "tables", "SELECT count(*) FROM 'streams.parquet'") == [(0,)]


def test_what_cannot_be_believed_is_left_out_whole_and_named(tmp_path: Path) -> None:
    results = tmp_path / "results"
    for name in ("good", "unread", "liar"):
        compared_runs.run_of(results, name, 100_000, hour=len(name))
    shutil.copytree(results / "good", results / "again" / "good")
    torn = results / "unread" / "trials.jsonl"
    torn.write_bytes(torn.read_bytes().replace(b'"sent_frames":', b'"sent_frames":1', 1))
    folders = run_folders_in([results, results / "again"])
    made = parquet.write_tables(
        folders, tmp_path / "tables", lambda folder: "1 finding" if folder.name == "liar" else ""
    )
    assert [(one.error_id, one.what.split(":")[0].rsplit("/", 1)[-1]) for one in made.left_out] == [
        ("EXP-04", "liar"),
        ("STORE-01", "trials.jsonl"),
        ("EXP-05", "good"),
    ]
    assert ask(tmp_path / "tables", "SELECT DISTINCT run_id FROM 'trials.parquet'") == [("good",)]
    assert made.runs == 1


def test_a_number_that_no_counter_holds_leaves_the_run_out(tmp_path: Path, monkeypatch) -> None:
    results = tmp_path / "results"
    compared_runs.run_of(results, "good", 100_000)
    compared_runs.run_of(results, "huge", 90_000, hour=1)
    real = parquet.add_rows

    def with_huge(folder: Path, add: Any) -> Any:
        run = real(folder, add)
        if folder.name == "huge":
            add("buckets", {"run_id": ["huge"], "line_hash": [""], "seq": [1], "stream": [0], **HUGE})
        return run

    monkeypatch.setattr(parquet, "add_rows", with_huge)
    made = written(results, tmp_path / "tables")
    assert [one.error_id for one in made.left_out] == ["EXP-04"]
    assert ask(tmp_path / "tables", "SELECT DISTINCT run_id FROM 'streams.parquet'") == [("good",)]


HUGE = {"lowest_ns": [2**64], "highest_ns": [1], "frames": [1]}


def test_the_command_verifies_what_it_exports(tmp_path: Path, monkeypatch, capsys) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    simulated = str(ROOT / "testbeds" / "simulated.yaml")
    given = ["run", str(ROOT / "testcases" / "rfc2544"), "--test", "R2544-TPUT-3.1", "--testbed", simulated]
    for _ in range(2):
        assert main([*given, "--results", str(tmp_path / "results")]) == 0
    good, liar = sorted(one.parent for one in (tmp_path / "results").glob("*/run.json"))
    told = json.loads((liar / "run.json").read_text("ascii"))
    first = next(one for one in told["outcomes"] if one["type"] == "measured")
    first["values"][0]["number"] += 1
    (liar / "run.json").write_text(json.dumps(told), "ascii")
    capsys.readouterr()
    assert main(["export", str(good), "--parquet", "one"]) == 0
    assert "1 runs" in capsys.readouterr().out
    assert main(["export", str(tmp_path / "results"), "--parquet", "both"]) == 4
    assert f"{liar}: left out" in capsys.readouterr().err
    assert ask(tmp_path / "both", "SELECT run_id, simulated FROM 'runs.parquet'") == [(good.name, True)]
    assert main(["export", str(good), "--parquet", "one"]) == 2
    assert "EXP-02" in capsys.readouterr().err
    assert main(["export", str(tmp_path / "nowhere"), "--parquet", "none"]) == 2
    assert "STORE-11" in capsys.readouterr().err
    assert main(["export", str(good), str(liar), "--csv", "-"]) == 2
    assert "EXP-01" in capsys.readouterr().err
    assert not [one for one in tmp_path.iterdir() if one.name.endswith(".part")]


def test_without_pyarrow_it_is_said_what_to_install(tmp_path: Path, monkeypatch, capsys) -> None:
    compared_runs.run_of(tmp_path / "results", "good", 100_000)
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    assert main(["export", str(tmp_path / "results"), "--parquet", str(tmp_path / "tables")]) == 3
    assert "EXP-03" in capsys.readouterr().err
    assert not (tmp_path / "tables").exists()
