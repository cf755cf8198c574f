"""The simulated tester around a switch: what it is set to is what it counts."""

import pytest

from bmwg.drivers.api.protocols import TesterPort
from bmwg.drivers.traffic.simulated import SimulatedConfig, SimulatedTraffic
from bmwg.methodology.cells.patterns import pattern
from bmwg.methodology.errors import ConfigError
from bmwg.methodology.records import TrialSpec
from bmwg.methodology.trial.judging import TrialPolicy, assess
from bmwg.methodology.trial.pattern import Pattern


def ports(count):
    return tuple(TesterPort(name=f"p{n}", io="af_packet", device="x") for n in range(count))


def around(count=4, **model):
    made = SimulatedTraffic(SimulatedConfig(**model))
    made.attach(ports(count))
    return made


def trial(found, load_fps=10_000, octets=64):
    return TrialSpec(frame_octets=octets, load_fps=load_fps, duration_s=1.0, pattern=found)


@pytest.mark.parametrize(
    "text", ["full-mesh-4", "one-to-many-4", "many-to-one-4", "one-way-mesh-4", "broadcast-4", "congestion-4"]
)
def test_each_port_gets_what_is_meant_for_it_up_to_the_knee(text):
    found = pattern(text)
    for load_fps in (5_000, 45_000, 90_000):
        result = around(knee_fps=50_000).run(trial(found, load_fps))
        assert assess(result, TrialPolicy()).reason == ""
        for port, stream in enumerate(result.streams):
            meant = found.loads_at(port) * load_fps
            assert stream.sent_frames == pytest.approx(meant, abs=1)
            assert stream.received_frames == pytest.approx(min(meant, 50_000), abs=1)
            assert stream.flooded_frames == 0


def test_a_sender_that_is_short_sends_as_much_as_it_can():
    result = around(tester_limit_fps=4_000).run(trial(pattern("many-to-one-4")))
    assert result.streams[0].intended_frames == 30_000
    assert result.streams[0].sent_frames == result.streams[0].received_frames == 12_000


@pytest.mark.parametrize(("addresses", "flooded"), [(62, 0), (63, 0), (64, 1), (100, 37)])
def test_a_table_of_64_has_room_for_63_beside_the_one_that_asks(addresses, flooded):
    switch = around(table_entries=64)
    switch.run(trial(Pattern(to=((), (0,), (), ()), sources=addresses, unprepared=True), addresses))
    asked = Pattern(to=((1,), (), (), ()), destinations=addresses, unprepared=True)
    streams = switch.run(trial(asked, addresses)).streams
    assert [one.flooded_frames for one in streams] == [0, 0, flooded, flooded]
    assert streams[1].received_frames == addresses


@pytest.mark.parametrize(("octets", "share"), [(60, 0), (63, 0), (64, 1), (1518, 1), (1519, 0)])
def test_frames_of_illegal_size_are_filtered(octets, share):
    result = around().run(trial(pattern("full-mesh-4"), octets=octets))
    assert result.received_frames == share * result.sent_frames


def test_a_pair_is_between_the_first_two_and_more_than_eight_are_none():
    result = around(8).run(TrialSpec(frame_octets=64, load_fps=1_000, duration_s=1.0))
    assert [one.received_frames for one in result.streams] == [1_000]
    with pytest.raises(ConfigError, match="LOAD-01"):
        around(9)
