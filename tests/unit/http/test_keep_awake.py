"""What a profile of the HTTP suites says of CPUs that are kept awake, and what of it a continued run has."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from bmwg.methodology.errors import ConfigError, ToolkitBug
from bmwg.methodology.kinds.requests import profile
from bmwg.methodology.kinds.requests.profile import HttpProfile
from bmwg.methodology.trial.keep_awake import Held, KeepAwake
from bmwg.reports.store import RunStore
from bmwg.resources.kinds.requests.room import header_by, profile_of_header
from bmwg.resources.run.continuation import begun
from bmwg.resources.run.machines import held_otherwise
from bmwg.schemas.validation import problems

FOLDER = Path(profile.__file__).parent / "profiles"
REFUSED = "/dev/cpu_dma_latency: Permission denied"


def as_written(name: str = "quick") -> dict[str, Any]:
    data: dict[str, Any] = yaml.safe_load((FOLDER / f"{name}.yaml").read_text(encoding="utf-8"))
    return data


def test_there_are_profiles_to_look_at() -> None:
    assert {"guest", "paper", "quick", "trex"} <= set(profile.names())


@pytest.mark.parametrize("name", profile.names())
def test_each_profile_that_comes_with_us_says_it(name: str) -> None:
    assert as_written(name)["keep_awake"] == "pm_qos"
    assert profile.load(name).keep_awake is KeepAwake.PM_QOS


@pytest.mark.parametrize("asked", list(KeepAwake))
def test_each_way_is_accepted(asked: KeepAwake) -> None:
    data = as_written() | {"keep_awake": asked.value}
    assert profile.parsed(data, "quick").keep_awake is asked
    assert profile.parsed(data, "quick").with_networks(["bridge"]).keep_awake is asked


def test_another_value_is_refused_with_the_near_one() -> None:
    data = as_written() | {"keep_awake": "pm-qos"}
    (problem,) = problems(data, "http_profile")
    assert (problem.path, problem.expected, problem.near) == (
        "keep_awake",
        "one of pm_qos, spin, none",
        "pm_qos",
    )
    with pytest.raises(ToolkitBug) as caught:
        profile.parsed(data, "quick")
    assert caught.value.error_id == "HPROF-02"
    assert "did you mean 'pm_qos'?" in caught.value.found


def test_a_misspelt_key_is_refused_with_the_near_one() -> None:
    data = as_written()
    data["keep_awakes"] = data.pop("keep_awake")
    assert [problem.near for problem in problems(data, "http_profile")] == ["keep_awake"]


def test_a_file_that_does_not_say_it_asks_for_a_request_and_the_run_says_so() -> None:
    data = as_written()
    del data["keep_awake"]
    assert problems(data, "http_profile") == []
    found = profile.parsed(data, "quick")
    assert found.keep_awake is KeepAwake.PM_QOS
    assert header_by(found, {}, {}, {}).profile["keep_awake"] == "pm_qos"


def cut_off(folder: Path, data: dict[str, Any]) -> Path:
    """The folder of a run with a profile that ended before its first repetition."""
    used = HttpProfile(name="quick", data=data)
    with RunStore.create(folder, "r", header_by(used, {}, {}, {}, used.plan())) as store:
        store.close(None, "interrupted", reason="cut off")
    return folder / "r"


@pytest.mark.parametrize("asked", list(KeepAwake))
def test_a_run_that_goes_on_has_what_it_was_begun_with(tmp_path: Path, asked: KeepAwake) -> None:
    data = dict(profile.load("quick").data) | {"keep_awake": asked.value}
    assert profile_of_header(begun(cut_off(tmp_path, data))).keep_awake is asked


def test_a_run_from_before_there_was_the_key_held_nothing(tmp_path: Path) -> None:
    data = dict(profile.load("quick").data)
    del data["keep_awake"]
    assert profile_of_header(begun(cut_off(tmp_path, data))).keep_awake is KeepAwake.NONE


def test_a_run_whose_profile_has_another_value_does_not_go_on(tmp_path: Path) -> None:
    folder = cut_off(tmp_path, dict(profile.load("quick").data) | {"keep_awake": "polling"})
    assert json.loads((folder / "run.json").read_text())["profile"]["keep_awake"] == "polling"
    with pytest.raises(ConfigError) as caught:
        profile_of_header(begun(folder))
    assert caught.value.error_id == "HPROF-02"


def test_only_what_was_not_asked_for_is_told_and_in_one_line() -> None:
    as_asked = Held(asked=KeepAwake.PM_QOS, held=KeepAwake.PM_QOS)
    spinning = Held(asked=KeepAwake.PM_QOS, held=KeepAwake.SPIN, reason=REFUSED, cpus=(0, 1))
    nothing = Held(asked=KeepAwake.NONE, held=KeepAwake.NONE)
    assert held_otherwise(as_asked, {}) == held_otherwise(nothing, {}) == ""
    assert held_otherwise(as_asked, {"client": as_asked.as_json()}) == ""
    assert held_otherwise(as_asked, {"client": as_asked.as_json(), "proxy": spinning.as_json()}) == (
        "on the proxy's host CPUs 0, 1 were kept from halting by a process of idle priority on each "
        f"(the profile asked for pm_qos: {REFUSED})"
    )
    both = held_otherwise(spinning, {"server": spinning.as_json()})
    assert both.startswith("on this machine CPUs 0, 1 were")
    assert "; on the server's host CPUs 0, 1 were" in both
    assert "\n" not in both
