"""A profile that extends another one is whole, under its own name; deviations say its own numbers."""

from importlib import resources
from pathlib import Path

import pytest
import yaml

from bmwg.methodology.errors import ConfigError
from bmwg.methodology.kinds.acts.kind import ACTS
from bmwg.methodology.kinds.jobs.kind import JOBS
from bmwg.methodology.kinds.streams.kind import STREAMS
from bmwg.methodology.profiles import builtin_names, load_profile, shortened
from bmwg.methodology.profiles.narrowed import Narrowing, narrowed
from bmwg.schemas.validation import problems

HEAD = {"extends": "quick", "name": "mine", "title": "one of my own"}


def written(folder: Path, file_name: str = "mine.yaml", /, **said: object) -> str:
    file = folder / file_name
    file.write_text(yaml.safe_dump({**HEAD, **said}), encoding="utf-8")
    return str(file)


def whats(profile):
    return {one.requirement: one.what for one in profile.deviations}


def test_what_is_stated_replaces_and_the_rest_is_the_other_profiles(tmp_path):
    quick = load_profile("quick")
    mine = load_profile(
        written(tmp_path, trial={"duration_s": 1}, search={"goals": None, "algorithm": "bisection"})
    )
    assert (mine.name, mine.trial_duration_s, mine.search.goals) == ("mine", 1.0, ())
    assert mine.policy == quick.policy
    assert mine.data["paths"] == quick.data["paths"]
    assert "extends" not in mine.data
    assert not problems(mine.data, "profile")


def test_a_file_extends_a_file_beside_it(tmp_path):
    (tmp_path / "below").mkdir()
    written(tmp_path / "below", "first.yaml", name="first", title="the first", trial={"duration_s": 3})
    name = written(tmp_path, extends="below/first.yaml", latency={"streams": 7})
    assert load_profile(name).trial_duration_s == 3.0
    assert load_profile(name).latency.streams == 7


def test_a_copy_with_longer_trials_does_not_declare_the_shorter_ones(tmp_path):
    copied = dict(load_profile("quick").data) | {"name": "copy", "title": "a copy"}
    copied["trial"] = {**copied["trial"], "duration_s": 1}
    file = tmp_path / "copy.yaml"
    file.write_text(yaml.safe_dump(copied), encoding="utf-8")
    assert whats(load_profile(str(file)))["RFC2544-24-01"] == (
        "each trial sends for 0.1 s, those of a bisection for 1 s, not for at least 60 s"
    )


def test_what_is_short_is_declared_and_what_is_not_is_left_out(tmp_path):
    short = load_profile(written(tmp_path, extends="rfc2544", indicative=True, trial={"duration_s": 10}))
    assert whats(short)["RFC2544-24-01"] == "each trial sends for 10 s, not for at least 60 s"
    why = {one.requirement: one.why for one in short.deviations}
    assert why["RFC2544-24-01"] == shortened.WHY
    long = load_profile(written(tmp_path, trial={"drain_s": 2, "restabilize_s": 5}))
    assert not {"RFC2544-23-04", "RFC2544-23-05", "RFC9004-6.2-02"} & set(whats(long))


def test_a_reason_of_its_own_takes_the_place_of_the_other_profiles(tmp_path):
    said = [{"requirement": "RFC2544-24-01", "why": "the device is rebooted each hour"}]
    mine = load_profile(written(tmp_path, deviations=said))
    (one,) = [one for one in mine.deviations if one.requirement == "RFC2544-24-01"]
    assert one.why == "the device is rebooted each hour"
    assert len(mine.deviations) == len(load_profile("quick").deviations)


def test_a_narrowed_profile_declares_the_frame_sizes_that_are_left():
    whole = load_profile("rfc2544")
    assert "RFC2544-9.1" not in whats(whole)
    part = narrowed(whole, Narrowing(frame_octets=(64,)), ["bridge"])
    assert whats(part)["RFC2544-9.1"] == "64 octets only"
    assert part.data["deviations"][-1]["requirement"] in whats(part)


def test_a_profile_of_patterns_says_what_rfc_2889_has_otherwise():
    quick = whats(load_profile("rfc2889-quick"))
    assert "may lose frames, not one without loss" in quick["RFC2889-5.1.4.1"]
    assert quick["RFC2889-5.1.2-05"].startswith("trials between several ports send for 0.2 to 0.5 s")
    assert "full-mesh-4" in quick["RFC2889-5.1.5-01"]
    assert "broadcast" not in quick["RFC2889-5.1.5-01"]
    assert quick["RFC2889-5.10.5"].startswith("one frame size of broadcast-4,")
    for other in ("rfc2889", "quick"):  # its own numbers; no patterns
        assert not [row for row in whats(load_profile(other)) if row.startswith("RFC2889")]
    part = narrowed(load_profile("rfc2889"), Narrowing(frame_octets=(64,)), [])
    assert "full-mesh-4" in whats(part)["RFC2889-5.1.5-01"]


@pytest.mark.parametrize("name", builtin_names())
def test_each_deviation_that_numbers_give_is_declared_with_these_numbers(name):
    data = load_profile(name).data
    by_numbers = {one.requirement: one.words(data) for one in shortened.SHORTENED}
    declared = {one["requirement"]: one["what"] for one in data["deviations"]}
    for requirement, words in by_numbers.items():
        assert declared.get(requirement, "") == words
    assert shortened.declared(data) == data


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"name": "quick"}, "a name of its own"),
        ({"title": None}, "a title of its own"),
        ({"extends": ["quick"]}, "the name of a profile"),
        ({"extends": "no\0where.yaml"}, "the name of a profile"),
        ({"search": {"gaols": None}}, "did you mean 'goals'?"),
    ],
)
def test_what_cannot_be_made_whole_is_refused_by_name(tmp_path, said, words):
    with pytest.raises(ConfigError, match=r"^PRF-12 ") as caught:
        load_profile(written(tmp_path, **said))
    assert words in str(caught.value)


def test_profiles_that_extend_each_other_are_refused(tmp_path):
    written(tmp_path, "a.yaml", extends="b.yaml", name="a", title="the one a")
    name = written(tmp_path, "b.yaml", extends="a.yaml", name="b", title="the one b")
    with pytest.raises(ConfigError, match=r"PRF-12.*\n.*b\.yaml > a\.yaml > b\.yaml"):
        load_profile(name)


@pytest.mark.parametrize(
    ("said", "error_id", "words"),
    [
        ({"trial": {"duraton_s": 1}}, "PRF-03", "duration_s"),
        ({"extends": "quik"}, "PRF-01", "did you mean 'quick'?"),
        ({"extends": "nowhere.yaml"}, "PRF-01", "nowhere.yaml"),
        ({"trial": {"set_aside_host_stalls": True}, "extends": "rfc2544"}, "PRF-06", "set_aside_host_stalls"),
    ],
)
def test_what_is_wrong_is_refused_as_in_any_file(tmp_path, said, error_id, words):
    with pytest.raises(ConfigError, match=f"^{error_id} ") as caught:
        load_profile(written(tmp_path, **said))
    assert words in str(caught.value)


def test_a_wrong_file_below_is_named_and_not_the_one_that_extends_it(tmp_path):
    (tmp_path / "below.yaml").write_text("name: x\n", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"below\.yaml:1"):
        load_profile(written(tmp_path, extends="below.yaml"))


def test_profiles_of_other_kinds_extend_theirs(tmp_path):
    name = written(tmp_path, repetitions=3)
    mine, quick = STREAMS.profiles.load(name), STREAMS.profiles.load("quick")
    assert mine.data["repetitions"] == 3
    assert mine.data["experiments"] == quick.data["experiments"]
    with pytest.raises(ConfigError):
        STREAMS.profiles.load(written(tmp_path, repetitons=3))


REPEATED = {"acts": ACTS, "jobs": JOBS, "streams": STREAMS}


@pytest.mark.parametrize(
    ("kind", "name"), [(kind, name) for kind, of in REPEATED.items() for name in of.profiles.names()]
)
def test_a_copy_of_a_shipped_profile_is_a_profile(tmp_path, kind, name):
    """A file of one's own is read more strictly, and most begin as a copy."""
    profiles = REPEATED[kind].profiles
    text = resources.files(f"bmwg.methodology.kinds.{kind}.profiles").joinpath(f"{name}.yaml").read_text()
    copy = tmp_path / "copy.yaml"
    copy.write_text(text)
    assert profiles.load(str(copy)).plan() == profiles.load(name).plan()
