"""Foreign results: told as what their numbers are, marked, never graded; anything else is one named error."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bmwg.cli.main import main
from bmwg.methodology.errors import ConfigError
from bmwg.methodology.records import Direction
from bmwg.reports.importers import as_json, foreign_page, read_foreign
from bmwg.reports.importers.node import Node
from bmwg.reports.importers.read import TOOLS
from bmwg.reports.render.page.report import form_of
from bmwg.reports.store import read_run
from bmwg.schemas.validation import problems

DATA = Path(__file__).parents[2] / "data" / "foreign"
FILES = sorted(DATA.glob("*.json"))


def changed(tmp_path: Path, name: str, change: Callable[[Any], object]) -> Path:
    data = json.loads((DATA / name).read_text())
    change(data)
    path = tmp_path / name
    path.write_text(json.dumps(data))
    return path


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_each_sample_is_told_by_its_keys_and_keeps_to_our_schema(file: Path) -> None:
    result = read_foreign(file)
    assert file.stem.startswith(result.tool)
    data = as_json(result)
    assert problems(data, "foreign") == []
    assert (data["foreign"], data["graded"]) == (True, False)
    assert problems(data | {"graded": True}, "foreign") != []
    text = " ".join(form_of(foreign_page(result), "text", "x").split())
    assert "never graded" in text
    for figure in result.figures:
        assert f"{figure.load_fps:,.0f} frames/s" in text


def test_an_ndr_of_nfvbench_is_not_lossless() -> None:
    ndr, pdr = read_foreign(DATA / "nfvbench.json").figures
    assert (ndr.source_label, ndr.load_fps, ndr.scope) == ("NDR", 14_880_952.0, "sum of directions")
    assert ndr.loss_ratio_allowed == pytest.approx(1e-5)
    assert (ndr.trial_duration_s, ndr.direction, ndr.frame_octets) == (60, Direction.BOTH, 64)
    assert pdr.loss_ratio_allowed == pytest.approx(1e-3)
    assert {value.metric: value.number for value in ndr.latency} == {
        "latency.avg": 25_500,
        "latency.max": 310_000,
    }
    assert "the min delay is negative and left out" in ndr.remarks


def test_iterations_of_nfvbench_come_with_counts() -> None:
    trials = read_foreign(DATA / "nfvbench.json").trials
    (stream,) = trials[0].streams
    assert (trials[0].is_sum, trials[0].load_fps) == (True, 29_761_904.0)
    assert stream.lost_frames == 385_714_240
    assert stream.intended_frames == 29_761_904 * 60


def test_a_bound_that_no_trial_of_the_file_proves_is_no_number(tmp_path: Path) -> None:
    def cut(data: Any) -> None:
        found = data["benchmarks"]["network"]["service_chain"]["PVP"]["result"]["result"]["64"]
        found["iteration_stats"]["ndr_pdr"].pop(1)

    ndr, pdr = read_foreign(changed(tmp_path, "nfvbench.json", cut)).figures
    assert (ndr.load_fps, ndr.irregular) == (None, "no trial in the file met the limit at this load")
    assert pdr.load_fps is not None


def test_a_search_that_ended_on_its_floor_is_no_number(tmp_path: Path) -> None:
    def floor(data: Any) -> None:
        found = data["benchmarks"]["network"]["service_chain"]["PVP"]["result"]["result"]["64"]
        found["ndr"]["rate_pps"] = 0

    ndr = read_foreign(changed(tmp_path, "nfvbench.json", floor)).figures[0]
    assert ndr.load_fps is None
    assert "floor" in ndr.irregular


def test_without_its_configuration_the_known_limit_is_named_as_such(tmp_path: Path) -> None:
    ndr = read_foreign(changed(tmp_path, "nfvbench.json", lambda data: data.pop("config"))).figures[0]
    assert ndr.loss_ratio_allowed == pytest.approx(1e-5)
    assert dict(ndr.sources)["loss limit"].startswith("a known setting")
    assert ndr.trial_duration_s is None


def test_ndr_of_trex_is_a_drop_limit_in_half_the_time_one_way() -> None:
    (figure,) = read_foreign(DATA / "trex-ndr.json").figures
    assert figure.loss_ratio_allowed == pytest.approx(1e-3)
    assert (figure.trial_duration_s, figure.direction) == (20.0, Direction.FORWARD)
    assert (figure.frame_octets, figure.scope) == (None, "one direction")
    assert any("while traffic flowed" in remark for remark in figure.remarks)
    assert {value.number for value in figure.latency} == {21_000, 9_000, 402_000}


@pytest.mark.parametrize("drops", [-3.0, 261.0, 0.5])
def test_a_drop_share_that_is_none_gives_no_number(tmp_path: Path, drops: float) -> None:
    path = changed(tmp_path, "trex-ndr.json", lambda data: data["results"].update(drop_rate_percentage=drops))
    (figure,) = read_foreign(path).figures
    assert figure.load_fps is None
    assert figure.irregular


def test_bounds_of_csit_are_sums_of_directions_in_trials_of_a_second() -> None:
    ndr, pdr = read_foreign(DATA / "csit-ndrpdr.json").figures
    assert (ndr.load_fps, ndr.loss_ratio_allowed, pdr.loss_ratio_allowed) == (17_212_345.0, 0.0, 0.005)
    assert (ndr.trial_duration_s, dict(ndr.sources)["duration"][:7]) == (1.0, "a known")
    assert (ndr.scope, ndr.direction, ndr.frame_octets) == ("sum of directions", Direction.BOTH, 64)
    assert "frames that were not sent count as lost" in ndr.remarks
    assert len(pdr.latency) == 24
    assert max(value.number for value in pdr.latency) == 120_000


def test_an_mrr_is_no_throughput() -> None:
    (figure,) = read_foreign(DATA / "csit-mrr.json").figures
    assert (figure.load_fps, figure.loss_ratio_allowed, figure.frame_octets) == (19_000_000.0, None, 78)
    assert "no loss criterion: not a throughput" in figure.remarks


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data.update(passed=False, message="x"),
        lambda data: data["result"]["ndr"]["lower"]["rate"].update(unit="cps"),
    ],
)
def test_a_failed_test_case_and_connections_are_no_frame_rate(
    tmp_path: Path, change: Callable[[Any], object]
) -> None:
    assert read_foreign(changed(tmp_path, "csit-ndrpdr.json", change)).figures[0].load_fps is None


def test_bench_trafficgen_is_told_by_its_last_validation_trial() -> None:
    result = read_foreign(DATA / "bench-trafficgen.json")
    (figure,) = result.figures
    assert figure.load_fps == pytest.approx(2 * 223_214_000 / 30)
    assert figure.loss_ratio_allowed == pytest.approx(2e-5)
    assert figure.loss_ratio_seen == pytest.approx(2000 / 223_214_000)
    assert (figure.direction, figure.scope, figure.trial_duration_s) == (
        Direction.BOTH,
        "sum of directions",
        30,
    )
    assert [len(trial.streams) for trial in result.trials] == [2, 2, 2]
    assert result.trials[0].streams[0].lost_frames == 9_000_000


def test_without_a_passing_validation_there_is_no_number(tmp_path: Path) -> None:
    path = changed(tmp_path, "bench-trafficgen.json", lambda data: data["trials"].pop())
    (figure,) = read_foreign(path).figures
    assert (figure.load_fps, figure.irregular) == (None, "no validation trial passed")


@pytest.mark.parametrize("received", [190_000_000, 230_000_000])
def test_a_passing_validation_that_lost_more_than_its_limit_is_no_number(
    tmp_path: Path, received: int
) -> None:
    def change(data: Any) -> None:
        data["trials"][-1]["stats"]["directional"]["->"]["rx_packets"] = received

    (figure,) = read_foreign(changed(tmp_path, "bench-trafficgen.json", change)).figures
    assert figure.load_fps is None
    assert "not within the limit of 0.00200%" in figure.irregular


@pytest.mark.parametrize(
    ("content", "error_id"),
    [
        (b"", "IMP-01"),
        (b"\xff\xfe{}", "IMP-01"),
        (b"[" * 100_000, "IMP-01"),
        (b'{"results": NaN}', "IMP-01"),
        (b"[]", "IMP-02"),
        (b'{"trials": 3}', "IMP-02"),
        (b'{"results": {"drop_rate_percentage": 1}, "config": {"pdr": "x"}}', "IMP-03"),
        (b'{"trials": [{"trial_params": {}}]}', "IMP-03"),
        (b'{"trials": [{"trial_params": {"runtime": 1e999}}]}', "IMP-01"),
    ],
)
def test_what_is_no_result_file_is_one_named_error(tmp_path: Path, content: bytes, error_id: str) -> None:
    path = tmp_path / "file.json"
    path.write_bytes(content)
    with pytest.raises(ConfigError, match=f"^{error_id} "):
        read_foreign(path)


def test_missing_folder_and_unknown_tool(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none"):
        with pytest.raises(ConfigError, match="IMP-01"):
            read_foreign(path)
    with pytest.raises(ConfigError) as caught:
        read_foreign(DATA / "trex-ndr.json", "trexndr")
    assert "trex-ndr" in caught.value.hint


def _places(data: Any, way: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    entries = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    return [way, *(place for key, value in entries for place in _places(value, (*way, key)))]


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_no_change_of_a_file_gives_anything_but_a_result_or_a_named_error(draw: st.DataObject) -> None:
    file = draw.draw(st.sampled_from(FILES))
    data = copy.deepcopy(json.loads(file.read_text()))
    way = draw.draw(st.sampled_from([place for place in _places(data) if place]))
    junk = [None, True, -1, 0, 1e300, 10**400, "x", "", [], {}, [[]], {"a": 1}]
    target = data
    for key in way[:-1]:
        target = target[key]
    target[way[-1]] = draw.draw(st.sampled_from(junk))
    reader = next(read for name, (_, read) in TOOLS.items() if file.stem.startswith(name))
    try:
        _, figures, _ = reader(Node(data, "file"))
    except ConfigError as error:
        refused, figures = error.error_id, ()
    else:
        refused = ""
    assert refused in ("", "IMP-03")
    for figure in figures:
        assert (figure.load_fps is None) == bool(figure.irregular)


def test_a_foreign_file_is_no_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = tmp_path / "run.json"
    assert main(["import", str(DATA / "nfvbench.json"), "--format", "json", "--output", str(output)]) == 0
    with pytest.raises(ConfigError, match="STORE-03"):
        read_run(tmp_path)
    for place, status, said in ((output, 2, "IMP-04"), (tmp_path / "no-folder" / "x", 3, "STORE-08")):
        assert main(["import", str(DATA / "nfvbench.json"), "--output", str(place)]) == status
        assert said in capsys.readouterr().err
    assert main(["import", str(DATA / "csit-mrr.json")]) == 0
    assert "no loss criterion" in capsys.readouterr().out


@pytest.mark.parametrize(
    "text", ['{"a": 1, "a": 2}', '{"a": Infinity}', '{"a": 1e999}', '{"a": ' + "9" * 400 + "}"]
)
def test_json_that_says_two_things_or_cannot_be_counted_with_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "result.json"
    path.write_text(text, encoding="ascii")
    with pytest.raises(ConfigError, match="IMP-01"):
        read_foreign(path)
