"""Chains beside each other: how they are written, what is refused, one network for each, counts of each."""

from __future__ import annotations

import copy

import pytest
import yaml

from bmwg.drivers import registry
from bmwg.methodology.cells import parallel
from bmwg.methodology.errors import ConfigError
from bmwg.methodology.plan import planning
from bmwg.methodology.plan.planning import Networks
from bmwg.methodology.profiles import load_profile
from bmwg.methodology.profiles.reading import parse_profile
from bmwg.methodology.records import StreamCounts, TrialResult, TrialSpec

TESTS = ("CN-TPUT-11.1", "CN-LAT-11.1")


def profile(values, **traffic):
    data = copy.deepcopy(dict(load_profile("factors").data))
    line = data["suites"]["parallel"]["paths"][0]
    data["suites"]["parallel"]["paths"] = [line | {"axes": {"chains": values}}]
    data["traffic"] |= traffic
    return parse_profile(yaml.safe_dump(data), source="test", paths=registry.paths())


def test_functions_are_named_once_and_shared_ones_are_known():
    found = parallel.members("a>s+b>s+c")
    assert found == (("a", "s"), ("b", "s"), ("c",))
    assert parallel.functions(found) == ("a", "s", "b", "c")
    assert parallel.shared(found) == ("s",)
    assert parallel.words("a>s+b>s") == "2 chains at once (a>s+b>s), s shared"
    assert parallel.words("a+b+c") == "3 chains at once (a+b+c)"


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("a", "two chains at least"),
        ("a>b>a+c", "'a' comes twice"),
        ("a+a", "chains that differ, found a twice"),
        ("a+", "found ''"),
        (3, "found 3"),
        ("+".join(f"f{number}" for number in range(17)), "at most 16 chains, found 17"),
        ("+".join(f"{n}>{n}x" for n in "abcdefghi"), "at most 16 functions, found 18"),
    ],
)
def test_what_is_no_set_of_chains_is_refused_with_the_profile(value, said):
    with pytest.raises(ConfigError, match=r"^PRF-04 ") as caught:
        profile([value])
    assert said in caught.value.what


def test_a_cell_has_a_destination_network_for_each_chain_whatever_the_profile_lists():
    chosen = profile(["a+b", "a+b+c"], destination_networks=[1, 256])
    plan = planning.cells(chosen, Networks({"ptp": None}), test_ids=TESTS)
    assert {one.cell.cell_id for one in plan} == {
        "parallel/pod/kernel-l3/ptp/64/forward/2networks/chains=a+b",
        "parallel/pod/kernel-l3/ptp/64/forward/3networks/chains=a+b+c",
    }
    assert {one.cell.qualification.cell_id for one in plan} == {
        "wire/none/none/none/64/forward/2networks",
        "wire/none/none/none/64/forward/3networks",
    }


def result(sent, received, duration_s=2.0):
    stream = StreamCounts(
        intended_frames=sum(sent),
        sent_frames=sum(sent),
        received_frames=sum(received),
        sent_by_network=sent,
        received_by_network=received,
    )
    spec = TrialSpec(
        frame_octets=64, load_fps=1_000, duration_s=duration_s, destination_networks=len(sent) or 1
    )
    return TrialResult(spec=spec, streams=(stream,), wall_time_ns=1)


def test_each_chain_is_counted_by_itself_over_all_trials():
    first, second = parallel.shares([result((900, 1_100), (900, 1_000)), result((1_000, 900), (1_000, 0))])
    assert (first.offered_frames, first.received_frames, first.lost_frames) == (1_900, 1_900, 0)
    assert (second.offered_frames, second.received_frames, second.lost_frames) == (2_000, 1_000, 1_000)
    assert second.received_fps == 250.0
    assert parallel.shares([result((), ())]) == ()
