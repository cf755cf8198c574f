"""Ports that are devices: what they counted and what their link carries is asked about, and never refused."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from bmwg.methodology.records import Direction, StreamCounts, TrialResult, TrialSpec
from bmwg.reports.verify.pci_ports import questions
from bmwg.reports.verify.physics import interfaces_agree

COUNTED = {"p0.tx_packets": 1000, "p0.rx_packets": 0, "p1.tx_packets": 0, "p1.rx_packets": 990}
LESS = COUNTED | {"p1.rx_packets": 989}
LINKS = {"p0.link_mbps": 10_000, "p1.link_mbps": 10_000}
LINE_FPS = 14_880_952  # of 64 octets at 10 Gbit/s


def run_of(
    *counts: dict[str, int], load_fps: int = 1000, io: str = "pci", nic: dict[str, Any] | None = None
) -> Any:
    """Return a run whose trials have these auxiliary counts; 1000 frames sent, 990 received."""
    spec = TrialSpec(frame_octets=64, load_fps=load_fps, duration_s=1.0, direction=Direction.FORWARD)
    stream = StreamCounts(intended_frames=1000, sent_frames=1000, received_frames=990)
    trials = [
        SimpleNamespace(
            fault=False,
            trial=SimpleNamespace(
                seq=seq,
                result=TrialResult(
                    spec=spec, streams=(stream,), wall_time_ns=1, auxiliary=tuple(sorted(told.items()))
                ),
            ),
        )
        for seq, told in enumerate(counts, start=1)
    ]
    tester = {"driver": "embedded", "io": io, "ports": ["tester/p0", "tester/p1"]}
    run = {"testbed": {"tester": tester}, "simulated": False, "medium": {"line_rate_bps": None}}
    facts = {name: {"value": value} for name, value in (nic or {}).items()}
    record = {"fields": {"nic": {"p0": facts, "p1": facts}}} if nic else {}
    platform = {"records": {"d": {"tester": record}}} if nic else {}
    return SimpleNamespace(run=run, of_frames=True, platform=platform, trials=trials)


def asked(evidence: Any) -> list[str]:
    assert list(interfaces_agree.check(evidence)) == []  # questions, never a verdict
    return list(questions(evidence))


def test_devices_that_counted_what_the_tester_did_are_not_asked_about() -> None:
    assert asked(run_of(COUNTED, COUNTED | {"p0.tx_packets": 1004})) == []


def test_devices_that_counted_less_are_asked_about_once() -> None:
    (said,) = asked(run_of(COUNTED, LESS, COUNTED | {"p0.tx_packets": 0}, LESS, LESS))
    assert said.startswith("ports: in trial 2, 3, 4 and 1 more the devices counted fewer frames than")
    assert "p1.rx_packets is 989, expected at least 990 frames, as were received" in said


def test_a_run_that_tells_no_counters_of_its_devices_is_asked_for_them() -> None:
    (said,) = asked(run_of({}, COUNTED))
    assert said == "ports: of trial 1 no device's counters are told: what did the tester's ports count?"


@pytest.mark.parametrize(
    ("load_fps", "links", "number"),
    [
        (LINE_FPS, LINKS, 0),
        (LINE_FPS + 1_000, LINKS, 0),  # rounding
        (LINE_FPS + 1_000_000, LINKS, 1),
        (LINE_FPS, LINKS | {"p1.link_mbps": 1_000}, 1),
        (LINE_FPS + 1_000_000, {}, 0),  # nobody told
        (LINE_FPS + 1_000_000, {"p0.link_mbps": 0}, 0),
    ],
)
def test_a_load_above_the_link(load_fps: int, links: dict[str, int], number: int) -> None:
    said = asked(run_of(COUNTED | links, load_fps=load_fps))
    assert len(said) == number
    assert all(one.startswith("link: trial 1 offered more than the recorded link carries") for one in said)


@pytest.mark.parametrize(
    ("nic", "number"),
    [
        ({"kind": "device", "speed_mbps": 1_000}, 1),
        ({"kind": "device", "speed_mbps": 25_000}, 0),
        ({"kind": "device"}, 0),
        ({"kind": "device", "speed_mbps": "unknown"}, 0),
        ({"kind": "veth", "speed_mbps": 10}, 0),  # no link
        ({"kind": "tun", "speed_mbps": 10}, 0),
    ],
)
def test_a_load_above_the_recorded_speed_of_an_interface(nic: dict[str, Any], number: int) -> None:
    said = list(questions(run_of(COUNTED, load_fps=2_000_000, io="af_xdp", nic=nic)))
    assert len(said) == number


@pytest.mark.parametrize(
    ("dropped", "told", "number"),
    [(0, 0, 0), (4, 4, 0), (4, 0, 1), (4, 3, 1), (50, 10, 0)],  # 10 frames were lost, whoever dropped others
)
def test_frames_for_which_the_testers_own_port_had_no_room_are_not_the_devices_loss(
    dropped: int, told: int, number: int
) -> None:
    evidence = run_of(COUNTED | {"p1.rx_dropped": dropped})
    trial = evidence.trials[0].trial
    stream = replace(trial.result.streams[0], tester_dropped_frames=told)
    trial.result = replace(trial.result, streams=(stream,))
    said = asked(evidence)
    assert len(said) == number
    assert all("trial 1 the tester's own ports had no room" in one for one in said)


@pytest.mark.parametrize(
    ("into", "short"),
    [
        ({"p1.rx_packets": 990}, False),
        ({"p1.rx_packets": 989, "p1.rx_dropped": 3}, True),
        ({"p1.rx_packets": 2, "p1.rx_dropped": 990}, False),  # a tap whose frames an XDP program takes
        ({"p1.rx_packets": 2, "p1.rx_dropped": 989}, True),
    ],
)
def test_an_interface_has_counted_all_that_was_received(into: dict[str, int], short: bool) -> None:
    found = list(interfaces_agree.check(run_of(COUNTED | into, io="xdp")))
    assert bool(found) is short


def test_a_tap_that_counts_nothing_is_asked_about_and_one_that_counts_too_little_is_refused() -> None:
    nothing = COUNTED | {"p1.rx_packets": 0, "p1.rx_dropped": 0}
    (said,) = asked(run_of(COUNTED, nothing, io="af_xdp", nic={"kind": "tun"}))
    assert said.startswith("ports: p1: a tap that counted none of the frames")
    less = run_of(LESS, io="af_xdp", nic={"kind": "tun"})
    assert len(list(interfaces_agree.check(less))) == 1
    assert len(list(interfaces_agree.check(run_of(nothing, io="af_xdp", nic={"kind": "veth"})))) == 1
