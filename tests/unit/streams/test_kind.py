"""What executions of streams prove, and what a cell's answer says."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest

from bmwg.methodology.kinds.kind import Execution
from bmwg.methodology.kinds.streams import profile
from bmwg.methodology.kinds.streams.kind import STREAMS
from bmwg.methodology.kinds.streams.records import Crossing, Exchange, StreamsResult, Transport, Way
from bmwg.methodology.record.drift import Change
from bmwg.methodology.records import OutcomeType, Validity
from bmwg.reports.kinds.streams.section import _lost
from bmwg.schemas.validation import problems

QUICK = profile.PROFILES.load("quick")
PLAN = QUICK.plan()
TCP = next(one for one in PLAN if one.spec.transport is Transport.TCP)
UDP = next(one for one in PLAN if one.spec.transport is Transport.UDP and not one.spec.load_bps)
MB = 1_000_000


def result(octets: int = 250 * MB, **changes) -> StreamsResult:
    """Two seconds of a stream over one interface, all well."""
    made = StreamsResult(
        sent_octets=octets,
        received_octets=octets,
        elapsed_ns=2_000_000_000,
        process_ns=3_100_000_000,
        wall_ns=3_300_000_000,
        retransmits=0,
        effective={"version": "iperf 3.12", "send_buffer_octets": 16384},
        crossings=(Crossing(at="pod0/net0", octets=octets + 1, frames=1000),),
    )
    return replace(made, **changes)


def spec(planned=TCP, number: int = 1):
    return replace(planned.spec, number=number)


@pytest.mark.parametrize(
    ("exchange", "ways"),
    [
        (Exchange.BULK, (Way.REVERSE,)),
        (Exchange.PING_PONG, (Way.FORWARD, Way.REVERSE)),
        (Exchange.ALL_TO_ALL, (Way.FORWARD, Way.REVERSE)),
    ],
)
def test_payload_has_to_cross_the_path_in_each_direction_in_which_it_goes(exchange, ways) -> None:
    assert replace(spec(), exchange=exchange, way=Way.REVERSE).payload_ways == ways


@pytest.mark.parametrize(
    ("changes", "validity", "said"),
    [
        ({}, Validity.VALID, ""),
        ({"faults": ("iperf3: the server has terminated",)}, Validity.FAULT, "terminated"),
        ({"received_octets": 400 * MB}, Validity.INCONSISTENT, "octets arrived"),
        ({"crossings": (Crossing(at="pod1/net0", octets=10, frames=1),)}, Validity.INCONSISTENT, "pod1/net0"),
        ({"crossings": ()}, Validity.INCONSISTENT, "no interface"),
        ({"elapsed_ns": 1_000_000_000}, Validity.INCOMPLETE, "1.000 s of 2 s"),
        ({"sent_octets": 5, "received_octets": 0}, Validity.INCOMPLETE, "nothing arrived"),
    ],
)
def test_an_execution_is_valid_only_when_its_payload_went_over_the_path(changes, validity, said) -> None:
    found = STREAMS.assessed(spec(), result(**changes))
    assert found.validity is validity
    assert said in found.reason


def test_one_interface_that_was_not_crossed_is_enough_to_refuse() -> None:
    whole = result()
    aside = Crossing(at="dut1, host end of pod1", octets=whole.received_octets - 1, frames=1)
    found = STREAMS.assessed(spec(), replace(whole, crossings=(*whole.crossings, aside)))
    assert found.validity is Validity.INCONSISTENT
    assert "host end of pod1" in found.reason


def test_octets_on_their_way_when_both_ends_began_to_count_are_no_contradiction() -> None:
    late = result(sent_octets=240 * MB)
    assert TCP.spec.omit_s
    assert STREAMS.assessed(spec(), late).validity is Validity.VALID
    counted_all = replace(spec(), omit_s=0)
    assert STREAMS.assessed(counted_all, late).validity is Validity.INCONSISTENT


def test_the_answer_is_the_mean_of_what_arrived_with_its_interval() -> None:
    executions = [STREAMS.tried(number, spec(number=number), result(octets)) for number, octets in OCTETS]
    found = STREAMS.answered(TCP, executions)
    assert found.type is OutcomeType.MEASURED
    values = {one.metric: (one.number, one.unit) for one in found.values}
    assert values["goodput.mean"] == (pytest.approx(1.0e9), "bit/s")
    assert values["goodput.repetitions"] == (5, "repetitions")
    assert values["goodput.half_width_95"][0] > 0
    assert found.trials == (1, 2, 3, 4, 5)


OCTETS = [(1, 250 * MB), (2, 249 * MB), (3, 251 * MB), (4, 252 * MB), (5, 248 * MB)]


def test_an_answer_of_udp_says_what_was_lost() -> None:
    one = result(
        1400 * 900, sent_octets=1400 * 1000, sent_messages=1000, received_messages=900, elapsed_ns=10**9
    )
    found = STREAMS.answered(UDP, [STREAMS.tried(n, spec(UDP, n), one) for n in range(1, 6)])
    values = {value.metric: value.number for value in found.values}
    assert values["goodput.lost_ratio"] == pytest.approx(0.1)
    assert values["goodput.mean"] == pytest.approx(1400 * 900 * 8)


def test_the_share_of_datagrams_that_were_lost_is_of_all_datagrams() -> None:
    """An execution that sent a tenth as many has a tenth of the weight."""
    counts = [(10_000, 9_000)] * 4 + [(1_000, 1_000)]
    each = [
        result(1400 * got, sent_octets=1400 * sent, sent_messages=sent, received_messages=got)
        for sent, got in counts
    ]
    found = STREAMS.answered(UDP, [STREAMS.tried(n, spec(UDP, n), one) for n, one in enumerate(each, 1)])
    values = {value.metric: value.number for value in found.values}
    assert values["goodput.lost_ratio"] == pytest.approx(4_000 / 41_000)


@pytest.mark.parametrize(
    ("missing", "least", "words"),
    [
        ((0, 0), 0.0, "0 % to 10 % of the datagrams lost: the second has those unread at the end"),
        ((50, 70), 0.06, "6 % to 10 % of the datagrams lost: the second has those unread at the end"),
        ((100, 100), 0.1, "10 % of the datagrams lost"),
        ((50, None), None, "at most 10 % of the datagrams lost: those unread at the end are in it"),
    ],
)
def test_datagrams_that_were_unread_at_the_end_are_not_told_as_lost(missing, least, words) -> None:
    """They lie in the receiver's socket when it ends: a path that loses nothing has some."""
    each = [
        result(1400 * 900, sent_octets=1400 * 1000, sent_messages=1000, received_messages=900)
        for _ in missing
    ]
    each = [replace(one, missing_messages=count) for one, count in zip(each, missing, strict=True)]
    values = {value.metric: value.number for value in STREAMS.values(UDP, each)}
    assert values["goodput.lost_ratio"] == pytest.approx(0.1)
    assert values.get("goodput.missing_ratio") == (None if least is None else pytest.approx(least))
    told = SimpleNamespace(values={name.removeprefix("goodput."): told for name, told in values.items()})
    assert _lost(told).replace("\u00a0", " ") == words


def test_executions_that_missed_the_path_make_no_answer() -> None:
    astray = result(crossings=(Crossing(at="pod0/net0", octets=0, frames=0),))
    found = STREAMS.answered(TCP, [STREAMS.tried(n, spec(number=n), astray) for n in range(1, 4)])
    assert found.type is OutcomeType.INVALID
    assert found.values == ()
    assert "pod0/net0 carried 0 octets" in found.reason


def line(number: int, one: StreamsResult) -> Execution:
    body = STREAMS.body_of(spec(number=number), one, {})
    found = STREAMS.assessed(spec(number=number), one)
    return Execution(
        seq=number,
        cell_id=TCP.cell.cell_id,
        deployment_id="d",
        metric=TCP.metric,
        test_id=TCP.test_id,
        phase="measured",
        validity=found.validity,
        reason=found.reason,
        at="",
        body=body,
    )


def test_what_the_journal_holds_keeps_to_the_schema_and_is_read_back() -> None:
    for one in (result(), result(retransmits=None, round_trip_ns={"p50": 3}, faults=("x",)), StreamsResult()):
        body = STREAMS.body_of(spec(), one, {})
        assert problems({"spec": body.spec, "result": body.result}, "streams") == []
        assert STREAMS.result_of(body) == one
        assert STREAMS.spec_of(body) == spec()


def test_an_answer_is_computed_again_from_the_lines_alone() -> None:
    lines = [line(number, result(octets)) for number, octets in OCTETS]
    stated = STREAMS.answered(TCP, [STREAMS.retried(one) for one in lines])
    assert STREAMS.answer(QUICK.data, stated, lines, ()) == stated
    changed = STREAMS.answer(
        QUICK.data, stated, lines, [Change(path="nic/net0/mtu", before="1500", after="9000")]
    )
    assert changed.type is OutcomeType.INVALID
    assert changed.values == ()
    assert all(STREAMS.not_as_planned(QUICK.data, one) is None for one in lines)


def test_an_execution_that_was_not_planned_is_named() -> None:
    good = line(1, result())
    other = replace(good.body, spec={**good.body.spec, "parallel": 8})
    assert STREAMS.not_as_planned(QUICK.data, replace(good, body=other)) is not None
    assert STREAMS.not_as_planned(QUICK.data, replace(good, cell_id="elsewhere")) is not None
    assert STREAMS.not_as_planned(QUICK.data, replace(good, test_id="PP-UDP-1")) is not None


def test_a_number_without_an_execution_is_refused() -> None:
    stated = STREAMS.answered(
        TCP, [STREAMS.tried(number, spec(number=number), result(octets)) for number, octets in OCTETS]
    )
    with pytest.raises(ValueError, match="without an execution"):
        STREAMS.answer(QUICK.data, replace(stated, trials=()), [], ())


def test_a_rate_that_was_not_offered_is_no_answer_for_that_rate() -> None:
    asked = replace(spec(UDP), load_bps=100_000_000)  # 12.5 MB in a second
    whole = result(12_500_000, elapsed_ns=1_000_000_000)
    assert STREAMS.assessed(asked, whole).validity is Validity.VALID
    short = STREAMS.assessed(asked, replace(whole, sent_octets=11_000_000, received_octets=11_000_000))
    assert short.validity is Validity.SENT_SHORT
    assert "not offered" in short.reason


def test_percentiles_of_round_trips_are_those_of_all_executions_not_of_the_last() -> None:
    """Five executions tell five percentiles each: their median with its interval; ends are of all trips."""
    trips = next(one for one in PLAN if one.spec.exchange is Exchange.PING_PONG)
    done = []
    for number in range(1, 6):
        told = {"min": 9_000 - number, "p50": 10_000 + number, "p99": 50_000 - number, "max": 90_000 - number}
        told |= {"p90": 20_000} if number == 3 else {}  # the others do not tell it
        one = result(64_000, round_trips=1000, mean_round_trip_ns=11_000, round_trip_ns=told)
        done.append(STREAMS.tried(number, spec(trips, number), one, "streams-1"))
    found = STREAMS.answered(trips, done)
    assert found.type is OutcomeType.MEASURED
    values = {one.metric.removeprefix("round_trip_time."): one.number for one in found.values}
    assert (values["p50.median_low"], values["p50.median"], values["p50.median_high"]) == (
        10_001,
        10_003,
        10_005,
    )
    assert values["p50.median_covers"] == pytest.approx(0.9375)  # the range of five
    assert values["p99.median"] == 49_997
    assert (values["min"], values["max"]) == (8_995, 89_999)
    assert not any(name.startswith("p90") for name in values)
    assert values["deployments"] == 1
