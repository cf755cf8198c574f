"""What interfaces counted is held against the direction that each sends in, whatever they are called."""

from types import SimpleNamespace

import pytest

from bmwg.methodology.records import Direction, StreamCounts
from bmwg.methodology.trial.pattern import Pattern
from bmwg.reports.verify.physics import interfaces_agree


def evidence(ports, *, counters, links=()):
    stream = SimpleNamespace(sent_frames=100, received_frames=90, duplicate_frames=0)
    result = SimpleNamespace(
        auxiliary=tuple(sorted(counters.items())),
        streams=(stream,),
        spec=SimpleNamespace(direction=Direction.FORWARD, pattern=None),
    )
    tester = {"driver": "embedded", "io": "af_xdp", "ports": [f"tester/{port}" for port in ports]}
    return SimpleNamespace(
        run={"simulated": False, "testbed": {"tester": tester, "links": list(links)}},
        of_frames=True,
        platform=None,
        trials=(SimpleNamespace(trial=SimpleNamespace(seq=1, result=result), fault=None),),
    )


def counted(sender, receiver):
    """Return what both interfaces count of 100 frames from one to the other, of which 90 come."""
    return {
        f"{sender}.tx_packets": 100,
        f"{sender}.rx_packets": 0,
        f"{receiver}.tx_packets": 0,
        f"{receiver}.rx_packets": 90,
    }


@pytest.mark.parametrize("ports", [("p0", "p1"), ("eth3", "eth1")])
def test_the_first_port_of_the_testbed_file_sends_forward(ports):
    assert list(interfaces_agree.check(evidence(ports, counters=counted(*ports)))) == []
    swapped = [
        text for text, *_ in interfaces_agree.check(evidence(ports, counters=counted(*reversed(ports))))
    ]
    assert swapped == [f"trial 1: {ports[0]}.tx_packets", f"trial 1: {ports[1]}.rx_packets"]


def test_the_ends_of_a_wire_of_the_testbed_file_are_in_its_order():
    links = [{"a": "tester/eth6", "b": "tester/eth5", "kind": "cable"}]
    wire = evidence(("eth1", "eth3"), counters=counted("eth6", "eth5"), links=links)
    assert list(interfaces_agree.check(wire)) == []


def test_a_wire_that_the_run_makes_is_in_the_order_of_its_names():
    assert list(interfaces_agree.check(evidence(("p0", "p1"), counters=counted("wire0", "wire1")))) == []
    assert list(interfaces_agree.check(evidence(("p0", "p1"), counters=counted("wire1", "wire0")))) != []


PATTERN = Pattern(to=((1, 2), (2,), ()))


def of_pattern(**changed):
    """A trial of three ports: the first sends 100 frames, the second 40; all come, and 7 are flooded."""
    counts = {"p0.sent_frames": 100, "p1.sent_frames": 40, "p2.sent_frames": 0}
    counts |= {"p0.tx_packets": 100, "p1.tx_packets": 40, "p2.tx_packets": 0}
    counts |= {"p0.rx_packets": 7, "p1.rx_packets": 50, "p2.rx_packets": 90} | changed
    streams = [
        StreamCounts(intended_frames=sent, sent_frames=sent, received_frames=sent, flooded_frames=flooded)
        for sent, flooded in ((0, 7), (50, 0), (90, 0))
    ]
    found = evidence(("p0", "p1", "p2"), counters={name: n for name, n in counts.items() if n is not None})
    result = found.trials[0].trial.result
    result.streams, result.spec = (
        tuple(streams),
        SimpleNamespace(direction=Direction.FORWARD, pattern=PATTERN),
    )
    return [text.removeprefix("trial 1: ") for text, *_ in interfaces_agree.check(found)]


@pytest.mark.parametrize(
    ("changed", "texts"),
    [
        ({}, []),
        ({"p0.tx_packets": 99}, ["p0.tx_packets"]),
        ({"p0.rx_packets": 6}, ["p0.rx_packets"]),
        ({"p2.rx_packets": 89}, ["p2.rx_packets"]),
        ({"p1.sent_frames": 39}, ["p2: sent_frames"]),
        ({"p1.sent_frames": None}, ["streams"]),
        ({"p1.tx_packets": None}, ["p1"]),
    ],
)
def test_each_port_of_a_pattern_is_held_against_its_interface_and_its_senders(changed, texts):
    assert of_pattern(**changed) == texts
