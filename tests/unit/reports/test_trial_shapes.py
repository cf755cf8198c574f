"""What a trial may ask for beside a constant load: written only where asked for, and read back whole."""

import json
from dataclasses import asdict

import pytest

from bmwg.drivers.api.protocols import TesterPort
from bmwg.drivers.traffic.simulated import SimulatedConfig, SimulatedTraffic
from bmwg.methodology.errors import ConfigError
from bmwg.methodology.records import StreamCounts, TrialResult, TrialSpec
from bmwg.methodology.trial.pattern import Pattern, full_mesh
from bmwg.reports.store.frame_codec import frames_body, result_from_json, spec_from_json, spec_to_json
from bmwg.schemas.validation import problems

PLAIN = TrialSpec(frame_octets=64, load_fps=100_000, duration_s=0.5)
SHAPES = {
    "burst": {"burst": True},
    "two loads": {"then_load_fps": 50_000, "then_duration_s": 0.5, "loss_times": True},
    "reset": {"loss_times": True, "act": "link", "act_at_s": 0.0},
    "broadcast": {"broadcast_every": 99},
    "filters": {"modifier": "filters-25"},
    "networks": {"destination_networks": 256},
    "repeated bursts": {"burst_frames": 1024, "burst_fps": 200_000},
    "a tag added": {"added_tags": 1},
    "a tag taken away": {"vlan_id": 7, "added_tags": -1},
}


def shaped(**changes):
    return TrialSpec(frame_octets=64, load_fps=100_000, duration_s=0.5, **changes)


def test_a_constant_load_is_written_as_it_always_was():
    assert set(spec_to_json(PLAIN)) == {
        "frame_octets",
        "load_fps",
        "duration_s",
        "direction",
        "frame_format",
        "flows",
        "vlan_id",
    }


@pytest.mark.parametrize("name", SHAPES)
def test_a_shape_is_read_back_with_its_result(name):
    spec = shaped(**SHAPES[name])
    assert spec_from_json(json.loads(json.dumps(spec_to_json(spec)))) == spec
    with SimulatedTraffic(SimulatedConfig(knee_fps=60_000)) as traffic:
        traffic.attach(tuple(TesterPort(name=f"p{side}", io="none", device="x") for side in (0, 1)))
        result = traffic.run(spec)
    assert result.lost_frames > 0
    assert (result.streams[0].losses is not None) is spec.loss_times
    written = json.loads(json.dumps(asdict(frames_body(result))))
    assert result_from_json(written) == result


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"then_load_fps": 1}, "then_duration_s"),
        ({"then_load_fps": 0, "then_duration_s": 1.0}, "then_load_fps"),
        ({"act": "link"}, "act_at_s"),
        ({"act": "link", "act_at_s": 0.5}, "act_at_s"),
        ({"broadcast_every": 0}, "broadcast_every"),
        ({"added_tags": -1}, "added_tags"),
        ({"added_tags": 1, "vlan_id": 7}, "added_tags"),
        ({"added_tags": 1, "pattern": full_mesh(4)}, "added_tags"),
    ],
)
def test_a_shape_that_is_none_is_refused(changes, field):
    with pytest.raises(ValueError, match=field):
        shaped(**changes)


def test_two_loads_send_the_frames_of_both():
    spec = shaped(then_load_fps=50_000, then_duration_s=0.5)
    assert (spec.first_frames, spec.intended_frames, spec.total_s) == (50_000, 75_000, 1.0)


def test_a_pattern_is_written_and_read_back_with_what_each_port_counted():
    pattern = Pattern(to=((1, 2), (2,), ()), sources=3, destinations=4)
    spec = shaped(pattern=pattern)
    counts = [{"sent_frames": 0}, {"sent_frames": 25_000}, {"sent_frames": 75_000, "flooded_frames": 7}]
    streams = tuple(
        StreamCounts(**{"intended_frames": one["sent_frames"], "received_frames": 0} | one) for one in counts
    )
    result = TrialResult(spec=spec, streams=streams, wall_time_ns=1)
    written = json.loads(json.dumps(asdict(frames_body(result))))
    assert result_from_json(written) == result
    assert written["spec"]["pattern"]["to"] == [[1, 2], [2], []]
    assert ["flooded_frames" in stream for stream in written["result"]["streams"]] == [False, False, True]
    assert problems({part: written[part] for part in ("spec", "result")}, "frames") == []


def test_a_model_of_two_ports_refuses_a_pattern_of_four():
    with SimulatedTraffic() as traffic:
        traffic.attach(tuple(TesterPort(name=f"p{side}", io="none", device="x") for side in (0, 1)))
        with pytest.raises(ConfigError, match="expected 4 tester ports, found 2 attached"):
            traffic.run(shaped(pattern=full_mesh(4)))
