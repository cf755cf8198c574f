"""Chains: how they are written, what is refused beforehand, how one stands against a shorter one."""

from __future__ import annotations

import copy
from dataclasses import replace

import pytest
import yaml

from bmwg.drivers import registry
from bmwg.methodology.cells import chains
from bmwg.methodology.errors import ConfigError
from bmwg.methodology.plan import planning
from bmwg.methodology.plan.planning import Networks
from bmwg.methodology.profiles import load_profile
from bmwg.methodology.profiles.reading import parse_profile
from bmwg.methodology.records import Bound, Cell, Outcome, OutcomeType, Quantity
from bmwg.reports.store.codec import cell_from_json, cell_to_json

TESTS = ("CN-TPUT-5.1", "CN-LAT-5.1")


def profile(values, path="chain", **axes):
    data = copy.deepcopy(dict(load_profile("quick").data))
    line = data["suites"]["chains"]["paths"][0]
    line |= {"path": path, "axes": {"chain": values, **axes}}
    return parse_profile(yaml.safe_dump(data), source="test", paths=registry.paths())


def test_functions_stand_in_the_order_in_which_a_frame_passes_them():
    assert chains.members("a>b>c") == ("a", "b", "c")
    assert chains.of({}) == ("a",)
    assert chains.words("a>b") == "of 2 functions"


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (["a>b>a"], "'a' comes twice in 'a>b>a', its frames would come back to it"),
        (["a>a"], "without a loop"),
        (["a>"], "found ''"),
        (["A>b"], "found 'A'"),
        ([3], "found 3"),
        ([">".join(f"f{number}" for number in range(17))], "at most 16 functions, found 17"),
    ],
)
def test_a_chain_that_loops_or_is_none_is_refused_with_the_profile(values, said):
    with pytest.raises(ConfigError, match=r"^PRF-04 ") as caught:
        profile(values)
    assert said in caught.value.what


def test_an_axis_that_a_path_does_not_have_is_refused():
    with pytest.raises(ConfigError, match="an axis of this path \\(it has none\\)"):
        profile(["a"], path="pvp")
    with pytest.raises(ConfigError, match="an axis of this path \\(chain\\)"):
        profile(["a"], colour=["blue"])


def test_each_value_is_a_cell_with_a_deployment_of_its_own():
    plan = planning.cells(profile(["a", "a>b"]), Networks({"bridge": None}), test_ids=TESTS)
    assert {one.cell.cell_id for one in plan} == {
        "chain/pod/kernel-l3/bridge/64/forward/chain=a",
        "chain/pod/kernel-l3/bridge/64/forward/chain=a>b",
    }
    assert len({one.deployment for one in plan}) == 2
    assert len({one.block for one in plan}) == 1  # they take turns
    assert {one.cell.qualification.cell_id for one in plan} == {"wire/none/none/none/64/forward"}


def test_a_cell_with_axes_survives_the_file():
    (cell, *_) = {
        one.cell for one in planning.cells(profile(["a>b"]), Networks({"bridge": None}), test_ids=TESTS)
    }
    assert cell_from_json(cell_to_json(cell)) == cell
    assert "axes" not in cell_to_json(cell.qualification)


def outcome(chain, low, high):
    cell = Cell(path="pvp", hosting="pod", function="testpmd", network="ovs-dpdk", frame_octets=64)
    if chain:
        cell = Cell(
            path="chain",
            hosting="pod",
            function="testpmd",
            network="ovs-dpdk",
            frame_octets=64,
            axes=(("chain", chain),),
        )
    return Outcome(
        outcome_id=f"o{chain}",
        metric="throughput.rfc2544_26_1",
        cell=cell,
        type=OutcomeType.MEASURED,
        lower=Bound(load_fps=low, trials=(1,)) if low else None,
        upper=Bound(load_fps=high, trials=(2,)) if high else None,
    )


@pytest.mark.parametrize(
    ("longer", "holds"),
    [
        ((40, 50), True),
        ((40, 100), True),
        ((40, 105), None),
        ((110, 120), False),
        ((115, None), False),
        ((None, None), None),
    ],
)
def test_a_chain_is_never_faster_than_a_shorter_one_and_the_bounds_say_so(longer, holds):
    (link,) = chains.against_shorter([outcome("a>b", *longer), outcome("", 100, 110)])
    assert link.shorter.cell.path == "pvp"
    assert link.holds is holds


def test_an_interval_whose_end_moved_accuses_no_chain():
    """The shorter chain's machine became faster after its search: what it carries reaches to 130."""
    shorter = outcome("", 100, 110)
    end = Quantity(metric="upper_end.rfc9971.0.1f1.5d0l50e", number=130, unit="frames/s")
    (link,) = chains.against_shorter([outcome("a>b", 115, 120), replace(shorter, values=(end,))])
    assert link.holds is None


@pytest.mark.parametrize("kind", [OutcomeType.UNSTABLE, OutcomeType.INVALID])
def test_bounds_that_prove_nothing_accuse_no_chain(kind):
    longer, shorter = outcome("a>b", 115, 120), outcome("", 100, 110)
    for pair in ((replace(longer, type=kind), shorter), (longer, replace(shorter, type=kind))):
        (link,) = chains.against_shorter(pair)
        assert link.holds is None


def test_chains_of_other_options_are_not_compared():
    other = outcome("a>b", 1, 2)
    strange = Outcome(
        outcome_id="x",
        metric=other.metric,
        cell=Cell(path="pvp", hosting="pod", function="testpmd", network="bridge", frame_octets=64),
        type=OutcomeType.MEASURED,
    )
    assert chains.against_shorter([other, strange]) == ()
