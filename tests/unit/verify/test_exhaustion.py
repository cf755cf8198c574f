"""What a stranger's file asks of this machine is bounded: no wait without end, no plan without bound."""

from __future__ import annotations

import json
import os

import honest
import liar
import pytest

from bmwg.methodology.errors import ConfigError
from bmwg.methodology.kinds.streams.profile import PROFILES
from bmwg.methodology.plan import planning
from bmwg.methodology.plan.plan_size import MOST_CELLS, bounded
from bmwg.methodology.profiles.reading import load_profile, profile_of
from bmwg.reports.bundle.signing import load_public
from bmwg.reports.importers import read_foreign
from bmwg.reports.importers.node import MAX_ENTRIES
from bmwg.reports.verify import copies
from bmwg.reports.verify.verify import verify_folder

pytestmark = pytest.mark.usefixtures("released")


@pytest.mark.parametrize("name", ["run.json", "platform.json", "trials.jsonl"])
def test_a_pipe_in_place_of_a_file_is_refused(run_copy, name):
    (run_copy / name).unlink()
    os.mkfifo(run_copy / name)
    assert "STORE-02" in {finding.rule_id for finding in verify_folder(run_copy).findings}


def test_a_pipe_in_place_of_a_key_is_refused(tmp_path):
    os.mkfifo(tmp_path / "key.pub")
    with pytest.raises(ConfigError, match="KEY-02"):
        load_public(tmp_path / "key.pub")


def far_deployment(files):
    """Give the last deployment a number far above those before it."""
    name = list(files.platform["deployments"])[-1]
    far = f"{name.rpartition('-')[0]}-999999999"
    for part in ("deployments", "records"):
        if name in files.platform.get(part, {}):
            files.platform[part][far] = files.platform[part].pop(name)
    for trial in files.trials:
        if trial["deployment"] == name:
            trial["deployment"] = far


def test_numbers_of_deployments_that_are_not_there_are_counted_not_listed(place, tmp_path):
    folder = liar.told(honest.copied(place, "packets", tmp_path), far_deployment)
    (asked,) = [one for one in verify_folder(folder).questions if one.startswith("deployments: number")]
    assert "of 999999999 is not described" in asked
    assert " and 9999999" in asked


def test_axes_that_multiply_are_refused_before_anything_is_planned():
    data = json.loads(json.dumps(load_profile("quick").data))
    many = {f"networks.bridge.options.o{number}": list(range(40)) for number in range(6)}
    data["paths"] = [one | {"axes": many} for one in data["paths"] if one["path"] == "pvp"]
    profile = profile_of(data, source="made")
    with pytest.raises(ConfigError, match="PRF-10"):
        planning.cells(profile, {"bridge": None})


def test_sizes_of_streams_that_multiply_are_refused():
    data = json.loads(json.dumps(PROFILES.load("quick").data))
    for one in data["experiments"]:
        one |= {"message_octets": list(range(1, 41)), "window_octets": list(range(40)), "ways": ["forward"]}
        one |= {"load_bps": list(range(40)), "parallel": [1]}
    assert "PRF-10" in PROFILES.wrong(data)


def test_a_plan_of_the_most_cells_is_one():
    assert len(list(bounded(range(MOST_CELLS)))) == MOST_CELLS
    with pytest.raises(ConfigError, match="PRF-10"):
        list(bounded(range(MOST_CELLS + 1)))


def test_too_many_trials_are_held_against_the_last_ones_alone_and_it_is_said(place, monkeypatch):
    evidence = verify_folder(honest.run(place, "packets")).evidence
    assert list(copies.near_copies(evidence)) == []
    monkeypatch.setattr(copies, "_MOST_PAIRS", 3 * len(evidence.trials))
    (asked,) = copies.near_copies(evidence)
    assert "held against the " in asked


def _csit(**rate):
    value = {"value": rate["value"], "unit": "pps"}
    bounds = {name: {side: {"rate": value} for side in ("lower", "upper")} for name in ("ndr", "pdr")}
    return {"dut_type": "none", "tags": rate.get("tags", ["64B"]), "result": {"type": "ndrpdr", **bounds}}


@pytest.mark.parametrize(
    "data",
    [
        _csit(value=1e308),
        _csit(value=1.0, tags=["64B"] * (MAX_ENTRIES + 1)),
        {**_csit(value=1.0), "result": {"type": "mrr", "receive_rate": {"rate": {
            "unit": "pps", "values": [1e308, 1e308]}}}},
    ],
)  # fmt: skip
def test_a_foreign_file_of_too_many_or_too_large_numbers_is_refused(tmp_path, data):
    path = tmp_path / "foreign.json"
    path.write_text(json.dumps(data), encoding="ascii")
    with pytest.raises(ConfigError, match="IMP-03"):
        read_foreign(path)


def test_a_foreign_file_of_the_same_form_is_read(tmp_path):
    path = tmp_path / "foreign.json"
    path.write_text(json.dumps(_csit(value=1.0)), encoding="ascii")
    assert read_foreign(path).tool == "csit"
