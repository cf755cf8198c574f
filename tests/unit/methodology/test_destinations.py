"""How evenly frames went to 256 networks, and counts by network that cannot be."""

import random
from dataclasses import replace

import pytest

from bmwg.methodology.records import Cell, StreamCounts, TrialResult, TrialSpec, Validity
from bmwg.methodology.trial import destinations
from bmwg.methodology.trial.judging import TrialPolicy, assess

NETWORKS = 256


def drawn(frames, seed=1, weights=None):
    dice = random.Random(seed)
    counts = [0] * NETWORKS
    for network in dice.choices(range(NETWORKS), weights=weights, k=frames):
        counts[network] += 1
    return tuple(counts)


@pytest.mark.parametrize("frames", [1_280, 20_000, 200_000])
@pytest.mark.parametrize("seed", range(5))
def test_chance_is_within_the_limit(frames, seed):
    assert abs(destinations.deviations(drawn(frames, seed))) < destinations.MOST_DEVIATIONS


def test_networks_in_turn_are_more_even_than_chance():
    assert destinations.deviations((100,) * NETWORKS) < -destinations.MOST_DEVIATIONS


@pytest.mark.parametrize(
    "weights",
    [
        [0] * 10 + [1] * 246,  # ten networks that nothing goes to
        [1] * 255 + [3],
        [1.0] * 128 + [1.1] * 128,
    ],
)
def test_an_uneven_draw_is_found(weights):
    assert destinations.deviations(drawn(200_000, weights=weights)) > destinations.MOST_DEVIATIONS


def test_a_few_frames_say_nothing():
    with pytest.raises(ValueError, match="expected 5 a network"):
        destinations.deviations(drawn(1_279))


SPEC = TrialSpec(frame_octets=64, load_fps=1_000, duration_s=1.0, destination_networks=4)
GOOD = StreamCounts(
    intended_frames=1_000,
    sent_frames=1_000,
    received_frames=990,
    sent_by_network=(250, 250, 250, 250),
    received_by_network=(250, 250, 250, 240),
)


@pytest.mark.parametrize(
    "change",
    [
        {"sent_by_network": ()},
        {"received_by_network": (330, 330, 330)},
        {"sent_by_network": (250, 250, 250, 249)},
        {"sent_by_network": (250, 250, 250, 251)},
        {"received_by_network": (250, 250, 250, 239)},
        {"received_by_network": (251, 250, 249, 240)},
        {"received_by_network": (251, 250, 250, 239)},
        {"sent_by_network": (1_000, 0, -1, 1), "received_by_network": (990, 0, 0, 0)},
    ],
)
def test_counts_by_network_that_contradict_the_others_make_a_trial_inconsistent(change):
    stream = replace(GOOD, **change)
    result = TrialResult(spec=SPEC, streams=(stream,), wall_time_ns=10**9)
    assert assess(result, TrialPolicy()).validity is Validity.INCONSISTENT


def test_counts_by_network_that_agree_are_valid_also_with_frames_that_never_left_the_device():
    for stream in (GOOD, replace(GOOD, sent_frames=999)):
        result = TrialResult(spec=SPEC, streams=(stream,), wall_time_ns=10**9)
        assert assess(result, TrialPolicy()).validity is Validity.VALID
    plain = replace(SPEC, destination_networks=1)
    result = TrialResult(spec=plain, streams=(GOOD,), wall_time_ns=10**9)
    assert assess(result, TrialPolicy()).validity is Validity.INCONSISTENT


def test_a_cell_of_many_networks_has_an_id_of_its_own():
    one = Cell(path="node", hosting="baremetal", function="kernel-l3", network="none", frame_octets=64)
    assert one.cell_id == "node/baremetal/kernel-l3/none/64/forward"
    assert replace(one, destination_networks=256).cell_id == f"{one.cell_id}/256networks"
    assert replace(one, destination_networks=256).qualification.destination_networks == 256


@pytest.mark.parametrize("networks", [0, 257])
def test_other_numbers_of_networks_are_refused(networks):
    with pytest.raises(ValueError, match="destination_networks"):
        replace(SPEC, destination_networks=networks)
