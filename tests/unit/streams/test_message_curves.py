"""Curves by the size of a message: a line a way, apart by where the pods are."""

from __future__ import annotations

import re
from dataclasses import replace
from html import unescape
from types import SimpleNamespace

import pytest

from bmwg.methodology.kinds.streams.kind import STREAMS
from bmwg.methodology.kinds.streams.profile import PROFILES
from bmwg.methodology.kinds.streams.records import Crossing, Exchange, StreamsResult
from bmwg.reports.kinds.repeated.answers import Answered
from bmwg.reports.kinds.streams import message_curves
from bmwg.reports.render.forms.rst import restructured

PLAN = PROFILES.load("message-sizes").plan()


def answered(planned) -> Answered:
    """Answer a cell: as many Mbit/s, or microseconds, as a message has octets over 64, spread by 1 %."""
    tried, results = [], []
    for number in range(1, planned.asked.wanted + 1):
        spread = 1 + (number - 3) / 100
        octets = int(planned.spec.message_octets * 1e6 / 64 / 8 * spread)
        times = {}
        if planned.spec.exchange is Exchange.PING_PONG:
            mean_ns = round(planned.spec.message_octets * 1e3 / 64 * spread)
            times = {
                "round_trips": 1000,
                "mean_round_trip_ns": mean_ns,
                "round_trip_ns": {"p50": mean_ns, "p99": mean_ns, "max": mean_ns},
                "sent_messages": 1000,
                "received_messages": 1000,
            }
            octets = 1000 * planned.spec.message_octets
        result = StreamsResult(
            sent_octets=octets,
            received_octets=octets,
            elapsed_ns=1_000_000_000,
            process_ns=1_100_000_000,
            wall_ns=1_200_000_000,
            crossings=(Crossing(at="dut1/nic0", octets=3 * octets, frames=octets),),
            **times,
        )
        tried.append(STREAMS.tried(number, replace(planned.spec, number=number), result))
        results.append(result)
    return Answered(
        outcome=STREAMS.answered(planned, tried),
        planned=planned,
        results=tuple(results),
        deployment=f"{planned.cell.path}-{planned.cell.network}",
        by_number=dict(enumerate(results, 1)),
    )


@pytest.fixture
def run(monkeypatch):
    answers = [answered(one) for one in PLAN]
    assert all(one.measured for one in answers)
    monkeypatch.setattr(message_curves, "answers_of", lambda _run, _kind: answers)
    two = ({"node": "dut1"}, {"node": "dut2"})
    deployments = {
        one.deployment: {"endpoints": [two[0], two[one.outcome.cell.path != "p2p"]]} for one in answers
    }
    return SimpleNamespace(platform={"deployments": deployments}, profile={}, answers=answers)


def of(run, experiment):
    return [one for one in run.answers if dict(one.outcome.cell.axes)["experiment"] == experiment]


def test_each_figure_has_a_line_for_each_way_and_names_every_size(run):
    plots = {plot.name: plot for plot in message_curves.plots(run)}
    assert plots.keys() == {
        f"streams-{what}-by-message-pods-of-{where}"
        for what in ("tcp", "round-trip")
        for where in ("one-host", "two-hosts")
    }
    plot = plots["streams-tcp-by-message-pods-of-one-host"]
    words = [unescape(word) for word in re.findall(r"<text[^>]*>([^<]*)</text>", plot.svg)]
    assert {"p2p bridge", "p2p ptp", "p2p macvlan", "p2p ovs-vlan", "goodput, Mbit/s"} <= set(words)
    assert {"64", "256", "1,024", "4,096", "16,384", "65,536"} <= set(words)
    assert "p2p bridge: 64 octets 1.0, 256 octets 4.0" in plot.description


def test_the_table_has_a_row_a_size_and_a_column_a_way(run):
    blocks = message_curves.lines(run, "round_trip", of(run, "round_trip"), lambda name: [])
    text = restructured(blocks).replace("\\", "")
    assert "By the size of a message, pods of two hosts: mean and half-width at 95 %" in text
    rows = [" ".join(part.split()) for part in text.split("* - ")]
    row = next(row for row in rows if row.startswith("16384 "))
    assert row.count("256.0 ± ") == 4  # bridge, ptp, macvlan and ovs-vlan of one host
    assert "p2p-cluster flannel, us" in " ".join(text.split())


def test_two_sizes_make_no_curve_and_three_do(run):
    few = [one for one in of(run, "tcp") if one.planned.spec.message_octets < 1024]
    assert message_curves.lines(run, "tcp", few, lambda name: []) == []
    three = [one for one in of(run, "tcp") if one.planned.spec.message_octets <= 1024]
    assert message_curves.lines(run, "tcp", three, lambda name: [])


@pytest.mark.parametrize(("accelerator", "drawn"), [("tcg", False), ("kvm", True)])
def test_pods_in_a_machine_that_is_translated_have_no_line(run, accelerator, drawn):
    for told in run.platform["deployments"].values():
        told["machines"] = {"vm0": {"accelerator": accelerator}}
    assert bool(message_curves.plots(run)) is drawn
    assert bool(message_curves.lines(run, "tcp", of(run, "tcp"), lambda name: [])) is drawn


@pytest.mark.parametrize("axis", ["vnic", "window"])
def test_ways_that_differ_by_the_guests_nic_or_by_buffers_have_lines_of_their_own(run, axis):
    bridge = [one for one in of(run, "tcp") if one.outcome.cell.cell_id.startswith("p2p/bridge/")]
    both = []
    for factor, vnic, window in ((1, "virtio", 4096), (2, "e1000", 8192)):
        for one in bridge:
            spec, cell, extra = one.planned.spec, one.outcome.cell, ()
            if axis == "vnic":
                extra = (("vnic", vnic),)
            else:
                spec = replace(spec, window_octets=window)
            values = tuple(
                replace(value, number=value.number * factor) if value.metric.endswith(".mean") else value
                for value in one.outcome.values
            )
            cell = replace(cell, axes=(*cell.axes, *extra))
            both.append(
                replace(
                    one,
                    planned=replace(one.planned, spec=spec),
                    outcome=replace(one.outcome, cell=cell, values=values),
                )
            )
    text = restructured(message_curves.lines(run, "tcp", both, lambda name: [])).replace("\\", "")
    text = " ".join(text.split())
    first, second = ("vNIC virtio", "vNIC e1000") if axis == "vnic" else ("of 4096", "of 8192")
    assert first in text
    assert second in text
    row = next(part for part in text.split("* - ") if part.startswith("64 "))
    assert "1.0 ± " in row
    assert "2.0 ± " in row
