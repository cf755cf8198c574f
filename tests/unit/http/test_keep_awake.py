"""What a profile of the HTTP suites says of CPUs that are kept awake, and what of it a continued run has."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from bmwg.methodology.errors import ConfigError
from bmwg.methodology.kinds.requests import profile
from bmwg.methodology.kinds.requests.kind import REQUESTS
from bmwg.methodology.trial.keep_awake import Held, KeepAwake
from bmwg.reports.store import RunStore
from bmwg.resources.kinds.requests.room import header_by
from bmwg.resources.run.continuation import begun
from bmwg.resources.run.machines import held_otherwise
from bmwg.schemas.validation import problems

FOLDER = Path(profile.__file__).parent / "profiles"
REFUSED = "/dev/cpu_dma_latency: Permission denied"


def as_written(name: str = "quick") -> dict[str, Any]:
    data: dict[str, Any] = yaml.safe_load((FOLDER / f"{name}.yaml").read_text(encoding="utf-8"))
    return data


def test_there_are_profiles_to_look_at() -> None:
    assert {"guest", "paper", "quick", "trex"} <= set(profile.PROFILES.names())


@pytest.mark.parametrize("name", profile.PROFILES.names())
def test_each_profile_that_comes_with_us_says_it(name: str) -> None:
    assert as_written(name)["keep_awake"] == "pm_qos"
    assert profile.load(name).keep_awake is KeepAwake.PM_QOS


@pytest.mark.parametrize("asked", list(KeepAwake))
def test_each_way_is_accepted(tmp_path: Path, asked: KeepAwake) -> None:
    found = written(tmp_path, as_written() | {"keep_awake": asked.value})
    assert found.keep_awake is asked
    assert profile.with_networks(found, ["bridge"]).keep_awake is asked


def written(folder: Path, data: dict[str, Any]) -> Any:
    """Read a profile of the user's."""
    file = folder / "mine.yaml"
    file.write_text(yaml.safe_dump(data), encoding="utf-8")
    return profile.load(str(file))


def test_another_value_is_refused_with_the_near_one(tmp_path: Path) -> None:
    data = as_written() | {"keep_awake": "pm-qos"}
    (problem,) = problems(data, "http_profile")
    assert (problem.path, problem.expected, problem.near) == (
        "keep_awake",
        "one of pm_qos, spin, none",
        "pm_qos",
    )
    with pytest.raises(ConfigError, match=r"^HPROF-02 ") as caught:
        written(tmp_path, data)
    assert "did you mean 'pm_qos'?" in caught.value.found


def test_a_misspelt_key_is_refused_with_the_near_one() -> None:
    data = as_written()
    data["keep_awakes"] = data.pop("keep_awake")
    assert "keep_awake" in {problem.near for problem in problems(data, "http_profile")}


def test_a_file_that_does_not_say_it_is_refused() -> None:
    data = as_written()
    del data["keep_awake"]
    (problem,) = problems(data, "http_profile")
    assert "keep_awake" in str(problem)


def cut_off(folder: Path, data: dict[str, Any]) -> Path:
    """The folder of a run with a profile that ended before its first repetition."""
    used = profile.PROFILES.of(data)
    with RunStore.create(folder, "r", header_by(used, {}, {}, {}, used.plan())) as store:
        store.close(None, "interrupted", reason="cut off")
    return folder / "r"


@pytest.mark.parametrize("asked", list(KeepAwake))
def test_a_run_that_goes_on_has_what_it_was_begun_with(tmp_path: Path, asked: KeepAwake) -> None:
    data = dict(profile.load("quick").data) | {"keep_awake": asked.value}
    assert REQUESTS.profiles.of_header(begun(cut_off(tmp_path, data)).profile).keep_awake is asked


def test_a_run_whose_profile_has_another_value_does_not_go_on(tmp_path: Path) -> None:
    folder = cut_off(tmp_path, dict(profile.load("quick").data) | {"keep_awake": "polling"})
    assert json.loads((folder / "run.json").read_text())["profile"]["keep_awake"] == "polling"
    with pytest.raises(ConfigError, match=r"^HPROF-02 "):
        REQUESTS.profiles.of_header(begun(folder).profile)


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
