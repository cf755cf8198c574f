"""Designs of factors: known effects are found, and what a design cannot tell apart is named."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import product

import pytest

from bmwg.methodology.cells import axes
from bmwg.methodology.factors.design import AS_IN_FILE, design_of
from bmwg.methodology.factors.effects import Effects, effects_of
from bmwg.methodology.factors.stated import against
from bmwg.methodology.plan import planning, turns
from bmwg.methodology.records import Bound, Cell, Outcome, OutcomeType, Quantity

NETWORKS, SIZES, CHAINS = ("bridge", "ptp"), (64, 1518), ("a", "a>b")


def cell(network: str, size: int, replicate: int, **varied: str | int) -> Cell:
    return Cell(
        path="chain",
        hosting="pod",
        function="kernel-l3",
        network=network,
        frame_octets=size,
        axes=tuple(sorted({**varied, "replicate": replicate}.items())),
    )


def outcome(one: Cell, fps: float, kind: OutcomeType = OutcomeType.MEASURED) -> Outcome:
    lower = Bound(load_fps=round(fps), trials=())
    upper = Bound(load_fps=round(fps * 1.001), trials=())
    return Outcome(outcome_id=one.cell_id, metric="t", cell=one, type=kind, lower=lower, upper=upper)


def made(effects: Mapping[tuple[str, ...], float], spread: float, seed: int, replicates: int = 4) -> Effects:
    """Answer a full design of three factors by a device with these effects, in a random order."""
    luck = random.Random(seed)
    found = []
    for network, size, chain, replicate in product(NETWORKS, SIZES, CHAINS, range(1, replicates + 1)):
        names = {network, str(size), chain}
        factor = math.prod(value for key, value in effects.items() if names.issuperset(key))
        day = 1 + 0.1 * replicate  # what drifts between replicates falls on all combinations alike
        fps = 500_000 * factor * day * math.exp(luck.gauss(0, spread))
        found.append(outcome(cell(network, size, replicate, chain=chain), fps))
    luck.shuffle(found)
    told = effects_of(found)
    assert told is not None
    return told


def by_name(told: Effects) -> dict[str, float]:
    return {told.design.name(one.term): one.ratio for one in (*told.main, *told.interactions)}


def test_known_effects_and_interactions_are_found_exactly_without_noise() -> None:
    told = made({("ptp",): 1.3, ("1518",): 0.8, ("a>b",): 0.5, ("ptp", "a>b"): 1.2}, spread=0, seed=1)
    found = by_name(told)
    # an effect is the mean over the other factors' levels: half of the answers have the interaction
    assert found["network option"] == pytest.approx(1.3 * math.sqrt(1.2), rel=1e-4)
    assert found["chain"] == pytest.approx(0.5 * math.sqrt(1.2), rel=1e-4)
    assert found["frame size"] == pytest.approx(0.8, rel=1e-4)
    assert found["network option \u00d7 chain"] == pytest.approx(1.2, rel=1e-4)
    assert found["frame size \u00d7 chain"] == pytest.approx(1, rel=1e-4)
    assert {told.design.name(one.term) for one in (*told.main, *told.interactions) if one.moved} == {
        "network option",
        "frame size",
        "chain",
        "network option \u00d7 chain",
    }


def test_intervals_hold_the_truth_about_as_often_as_they_say() -> None:
    truth = {"network option": 1.1, "frame size": 1.0, "chain": 0.9}
    held = every = 0
    for seed in range(60):
        told = made({("ptp",): 1.1, ("a>b",): 0.9}, spread=0.1, seed=seed, replicates=3)
        for one in told.main:
            assert one.low is not None
            assert one.high is not None
            every += 1
            held += one.low <= truth[told.design.name(one.term)] <= one.high
    assert held / every >= 0.9  # 180 intervals of 95 %: three standard errors are 5 %


def test_a_ratio_within_the_searchs_width_never_moved_the_figure() -> None:
    told = made({("ptp",): 1.0004}, spread=0, seed=1)  # bounds are 1.001 apart
    assert not any(one.moved for one in told.main)
    assert any(one.clear for one in told.main)


def test_what_wide_intervals_could_have_made_never_moved_the_figure() -> None:
    """A wide answer of sixteen weighs an eighth of a level; where all of a level are wide, all of it."""

    def told(wide: Callable[[Cell], bool]) -> dict[str, bool | None]:
        found = []
        for network, size, chain, replicate in product(NETWORKS, SIZES, CHAINS, (1, 2)):
            one = outcome(
                cell(network, size, replicate, chain=chain), 500_000 * (1.2 if network == "ptp" else 1)
            )
            end = Quantity(metric="upper_end.rfc9971.x", number=one.lower.load_fps * 1.5, unit="frames/s")
            found.append(replace(one, values=(end,)) if wide(one.cell) else one)
        made = effects_of(found)
        assert made is not None
        assert made.resolution == pytest.approx(1.5, rel=0.01)
        return {made.design.name(one.term): one.moved for one in made.main}

    assert told(lambda one: one.network == "bridge")["network option"] is False
    single = cell("bridge", 64, 1, chain="a")
    assert told(lambda one: one == single)["network option"] is True


def test_two_factors_that_change_together_are_one() -> None:
    cells = [cell("af-xdp", 64, replicate, **{"pods.memory": "64MiB"}) for replicate in (1, 2)] + [
        cell("bridge", 64, replicate, **{"pods.memory": "256MiB"}) for replicate in (1, 2)
    ]
    design = design_of(cells)
    assert design is not None
    assert [one.name for one in design.factors] == ["network option with pods.memory"]
    assert design.factors[0].levels == ("af-xdp, 64MiB", "bridge, 256MiB")


def test_a_fraction_of_a_design_names_what_it_confounds_and_gives_no_such_interaction() -> None:
    """Half of two to the power of three: the main effect of each factor is the interaction of the others."""
    half = [("bridge", 64, "a>b"), ("bridge", 1518, "a"), ("ptp", 64, "a"), ("ptp", 1518, "a>b")]
    found = [
        outcome(cell(network, size, replicate, chain=chain), 1000 * (2 if network == "ptp" else 1))
        for network, size, chain in half
        for replicate in (1, 2, 3)
    ]
    told = effects_of(found)
    assert told is not None
    names = {
        told.design.name(term): [told.design.name(one) for one in other] for term, other in told.inseparable
    }
    assert names["network option"] == ["frame size \u00d7 chain"]
    assert len(names) == 6
    assert told.interactions == ()
    assert by_name(told)["network option"] == pytest.approx(2, rel=1e-3)


def test_a_setting_that_only_one_option_has_is_told_apart_from_nothing_it_stands_with() -> None:
    rows = [
        cell("bridge", 64, 1),
        cell("ovs", 64, 1, **{"networks.ovs.options.rx_queues": 1}),
        cell("ovs", 64, 1, **{"networks.ovs.options.rx_queues": 2}),
    ]
    design = design_of(rows)
    assert design is not None
    assert any(AS_IN_FILE in factor.levels for factor in design.factors)
    every = [*design.main, *design.pairs]
    assert not design.separable((0,), every)
    assert design.possible == 6
    assert len(design.missing()) == 3


def test_answers_that_are_no_plain_numbers_are_left_out_and_named() -> None:
    found = [
        outcome(
            cell(network, size, replicate),
            1000 if network == "bridge" else 500,
            OutcomeType.UNSTABLE if (network, size) == ("ptp", 1518) else OutcomeType.MEASURED,
        )
        for network, size, replicate in product(NETWORKS, SIZES, (1, 2, 3))
    ]
    told = effects_of(found)
    assert told is not None
    assert (told.used, len(told.left_out)) == (9, 3)
    assert [told.design.words(one) for one in told.unmeasured] == ["ptp, 1518"]
    assert told.interactions == ()  # three combinations cannot tell it
    assert by_name(told)["network option"] == pytest.approx(0.5, rel=1e-2)


def test_a_level_that_a_machine_lacks_takes_no_other_level_s_effect_with_it() -> None:
    """A network option that is not there once left the options that were there without an effect."""
    found = []
    for network, size, replicate in product(("bridge", "ebpf-tc", "ptp"), SIZES, (1, 2, 3)):
        one = cell(network, size, replicate)
        lacks = Outcome(outcome_id=one.cell_id, metric="t", cell=one, type=OutcomeType.NOT_ASSESSED)
        fps = 500_000 * (1.3 if network == "ptp" else 1) * (0.8 if size == 1518 else 1)
        found.append(lacks if network == "ebpf-tc" else outcome(one, fps + replicate))
    told = effects_of(found)
    assert told is not None
    assert told.unseen == (("network option", ("ebpf-tc",)),)
    assert told.inseparable == ()
    (network,) = (one for one in told.main if told.design.name(one.term) == "network option")
    assert (network.levels, network.against) == (("ptp",), ("bridge",))
    assert network.ratio == pytest.approx(1.3, rel=1e-4)
    assert network.moved


def test_a_factor_of_which_one_level_is_left_tells_nothing() -> None:
    found = []
    for network, size, replicate in product(NETWORKS, SIZES, (1, 2)):
        one = cell(network, size, replicate)
        lacks = Outcome(outcome_id=one.cell_id, metric="t", cell=one, type=OutcomeType.NOT_ASSESSED)
        found.append(lacks if network == "ptp" else outcome(one, 500_000 + size + replicate))
    told = effects_of(found)
    assert told is not None
    assert [told.design.name(one.term) for one in told.main] == ["frame size"]
    assert told.interactions == ()
    assert told.inseparable == ()
    none = effects_of([replace(one, type=OutcomeType.UNSTABLE) for one in found])
    assert none is not None
    assert (none.used, none.main, none.inseparable) == (0, (), ())


def test_one_replicate_without_anything_left_has_no_interval() -> None:
    told = effects_of([outcome(cell(network, 64, 1), 1000) for network in NETWORKS])
    assert told is not None
    assert told.main[0].low is None
    assert told.main[0].moved is None


def test_cells_without_replicates_are_no_design() -> None:
    plain = Cell(path="pvp", hosting="pod", function="kernel-l3", network="bridge", frame_octets=64)
    assert effects_of([outcome(plain, 1000)]) is None


def test_an_effect_is_held_against_what_the_draft_says() -> None:
    found = [
        outcome(cell("bridge", 64, replicate, **{"pods.memory": memory}), fps)
        for replicate in (1, 2, 3)
        for memory, fps in (("64MiB", 500 + replicate), ("256MiB", 1000))
    ]
    told = effects_of(found)
    assert told is not None
    said = against(told.design, told.main[0])
    assert said is not None
    assert (said[0].requirement, said[1]) == ("CINF08-5.2.4-03", True)


@pytest.mark.parametrize(("fps", "holds"), [(2000, False), (500, None)])  # by two cores, 1,000 by one
def test_that_more_cores_bring_nothing_is_contradicted_by_a_gain_alone(fps: int, holds: bool | None) -> None:
    found = [
        outcome(cell("ovs-dpdk", 64, replicate, **{"networks.ovs-dpdk.options.pmd_cpus": cores}), here)
        for replicate in (1, 2, 3)
        for cores, here in (("[1]", 1000 + replicate), ("[1, 2]", fps))
    ]
    told = effects_of(found)
    assert told is not None
    assert told.main[0].moved
    said = against(told.design, told.main[0])
    assert said is not None
    assert (said[0].requirement, said[1]) == ("CINF08-5.2.4-05", holds)


def test_each_replicate_is_a_block_in_which_every_combination_has_its_own_turn() -> None:
    cells = [cell(network, size, replicate) for replicate, network, size in product((1, 2), NETWORKS, SIZES)]
    plan = [
        planning.PlannedAnswer(test_id="T", metric="t", cell=one, measurement="throughput") for one in cells
    ]
    order = turns.interleaved(plan, 3)
    assert [axes.replicate(one.cell.axes) for one in order] == [1] * 4 + [2] * 4
    assert len({one.deployment for one in order}) == 8
    orders = {tuple(one.cell.cell_id for one in turns.interleaved(plan, seed)[:4]) for seed in range(40)}
    assert len(orders) > 12  # sizes are not tied to their option


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("pods.memory", ("pods", "memory")),
        ("networks.ovs-dpdk.options.rx_queues", ("networks", "ovs-dpdk", "options", "rx_queues")),
        ("tester.cpus", ()),
        ("pods.runtime", ()),
        ("networks.bridge.driver", ()),
        ("lab_ports", ()),
    ],
)
def test_only_pods_and_options_of_networks_are_settings(name: str, place: tuple[str, ...]) -> None:
    assert axes.setting_place(name) == place
    wrong = list(axes.contradictions({name: ["1"]}, ()))
    assert bool(wrong) is not bool(place)


def test_values_of_settings_are_read_as_a_testbed_file_has_them() -> None:
    said = (("networks.a.options.busy_poll", "true"), ("pods.cpus", "1"), ("replicate", 2))
    assert axes.settings(said) == {("networks", "a", "options", "busy_poll"): True, ("pods", "cpus"): "1"}


def test_planned_cells_that_were_not_reached_are_counted_and_belong_to_the_design() -> None:
    planned = [cell(network, 64, replicate) for network in (*NETWORKS, "ebpf-tc") for replicate in (1, 2)]
    told = effects_of([outcome(one, 1000) for one in planned[:4]], planned)
    assert told is not None
    assert (told.used, told.unreached) == (4, 2)
    assert [told.design.words(one) for one in told.unmeasured] == ["ebpf-tc"]
