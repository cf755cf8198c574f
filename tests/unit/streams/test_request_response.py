"""Requests and responses by hosting form: what is planned, and how a form is held against native."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest

from bmwg.methodology.kinds.streams import order
from bmwg.methodology.kinds.streams.kind import STREAMS
from bmwg.methodology.kinds.streams.profile import CLAIM, PROFILES
from bmwg.methodology.kinds.streams.records import Crossing, StreamsResult
from bmwg.methodology.records import BAREMETAL, GUEST, POD
from bmwg.reports.kinds.repeated.answers import Answered
from bmwg.reports.kinds.streams import message_curves, section
from bmwg.reports.render.forms.rst import restructured

PROFILE = PROFILES.load("request-response")
PLAN = PROFILE.plan()
OCTETS = 14
TIMES = {BAREMETAL: 1.0, POD: 1.1, "docker": 1.5, GUEST: 40.0}  # of native's round trip


def answered(planned) -> Answered:
    """An answer whose executions take longer from block to block, each form by the same share."""
    tried, by_number = [], {}
    for number in range(1, planned.asked.wanted + 1):
        mean_ns = round(100_000 * number * TIMES[planned.cell.hosting])
        trips = 1000 + number
        result = StreamsResult(
            sent_octets=trips * OCTETS,
            received_octets=trips * OCTETS,
            sent_messages=trips,
            received_messages=trips,
            elapsed_ns=1_000_000_000,
            process_ns=1_100_000_000,
            wall_ns=1_200_000_000,
            round_trips=trips,
            mean_round_trip_ns=mean_ns,
            round_trip_ns={"p50": mean_ns, "p99": mean_ns, "max": mean_ns},
            crossings=(Crossing(at="dut1/under0", octets=90 * trips, frames=trips),),
        )
        tried.append(STREAMS.tried(number, replace(planned.spec, number=number), result))
        by_number[number] = result
    return Answered(
        outcome=STREAMS.answered(planned, tried),
        planned=planned,
        results=tuple(by_number.values()),
        deployment=planned.cell.hosting,
        by_number=by_number,
    )


def read(claim: bool) -> tuple[SimpleNamespace, list[Answered]]:
    """A run of four forms, the guest translated, and its answers with native last."""
    mine = [
        one
        for one in PLAN
        if one.test_id == "SK-TCPRR-4" and one.spec.message_octets == OCTETS and one.cell.hosting in TIMES
    ]
    machines = {"vm1": {"accelerator": "tcg"}}
    told = {form: {"machines": machines} if form == GUEST else {} for form in TIMES}
    run = SimpleNamespace(platform={"deployments": told, "records": {}}, profile={CLAIM: claim})
    return run, [answered(one) for one in reversed(mine)]


def rows_of(run, answers) -> list[str]:
    text = restructured(section._compared(run, answers)).replace("\\", "")
    return [" ".join(part.split()) for part in text.split("* - ")]


def test_every_form_is_asked_the_same_over_both_transports_and_they_take_turns() -> None:
    forms = {(one.cell.hosting, one.cell.network) for one in PLAN}
    assert {form for form, _ in forms} == {BAREMETAL, POD, GUEST, "docker", "podman", "lxc"}
    for test in ("SK-TCPRR-4", "SK-UDPRR-4"):
        mine = [one for one in PLAN if one.test_id == test]
        specs = [[one.spec for one in mine if one.cell.hosting == hosting] for hosting, _ in forms]
        assert all(each == specs[0] and each for each in specs)
        assert len({order.sweep_of(PROFILE.data, one.cell) for one in mine} - {""}) == 1
    for one in PLAN:
        cell = one.cell
        told = {
            "path": cell.path,
            "hosting": cell.hosting,
            "function": cell.function,
            "network": cell.network,
        }
        assert STREAMS.cell({**told, "axes": dict(cell.axes)}) == cell


def test_a_form_is_held_against_native_of_its_block_and_a_translated_one_against_nothing() -> None:
    run, answers = read(claim=True)
    assert all(one.measured for one in answers)
    rows = rows_of(run, answers)
    (docker,) = [row for row in rows if row.startswith("client-server, docker")]
    assert "- client-server, native - 1.500 (1.500 to 1.500, 5 blocks; higher)" in docker
    (pod,) = [row for row in rows if row.startswith("client-server, pod, bridge")]
    assert "1.100 (1.100 to 1.100, 5 blocks; higher)" in pod
    assert not [row for row in rows if row.startswith(("client-server, kvm", "client-server, native"))]


def test_forms_that_took_no_turns_are_told_as_deployments_of_different_times() -> None:
    rows = rows_of(*read(claim=False))
    assert any("of these deployments" in row for row in rows)
    (docker,) = [row for row in rows if row.startswith("client-server, docker")]
    assert docker.endswith("1.500 - no difference shown")  # what drifted over the blocks hides it


def test_the_report_says_where_both_ends_ran_and_what_a_translated_guest_shows(monkeypatch) -> None:
    run, answers = read(claim=True)
    limits = {"cpuset_cpus": "1", "cpu_shares": 1024, "memory_limit_octets": 256 << 20}
    for told in run.platform["deployments"].values():
        told["native_programs"] = {"client": {**limits, "cpuset_cpus": "0"}, "server": limits}
    run.profile |= {"experiments": [{"id": "tcp_rr", "title": "Request and response over TCP"}]}
    monkeypatch.setattr(section, "has_answers", lambda *_: True)
    monkeypatch.setattr(section, "answers_of", lambda *_: answers)
    monkeypatch.setattr(section, "without_numbers", lambda *_: [])
    monkeypatch.setattr(section.beside, "lines", lambda *_: [])
    page = " ".join(restructured(section.section(run, lambda name: [])).replace("\\", "").split())
    where = page[page.index("Forms took turns") : page.index("Metric round_trip_time")]
    assert "native, CPU 0, shares 1024, memory 256 MiB, a cgroup of its own" in where
    assert "ran under TCG, which translates its instructions" in where
    assert "guest of QEMU" in where


@pytest.mark.parametrize("experiment", ["tcp_rr", "udp_rr"])
def test_forms_make_no_curve_of_ways_between_pods(experiment) -> None:
    run, answers = read(claim=True)
    sizes = [
        replace(one, planned=replace(one.planned, spec=replace(one.planned.spec, message_octets=octets)))
        for one in answers
        for octets in (14, 64, 1024)
    ]
    assert message_curves.lines(run, experiment, sizes, lambda name: []) == []


def test_requests_without_an_answer_stand_beside_the_times_of_the_others() -> None:
    """No time is of a datagram that never came back, and its client may have waited for it."""
    results = [
        StreamsResult(sent_messages=100, received_messages=got, round_trips=got) for got in (100, 97, 99)
    ]
    assert section._unanswered(results) == "4 of 300 requests without an answer"
    assert section._unanswered(results[:1]) == ""
