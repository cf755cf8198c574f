"""The search for a rate finds a made proxy's limit, and its outcome follows from the recorded repetitions."""

from __future__ import annotations

import pytest

from bmwg.drivers.workload import open_loop
from bmwg.methodology.errors import DriverError
from bmwg.methodology.kinds.requests import modelled as rates
from bmwg.methodology.kinds.requests import rate_search
from bmwg.methodology.kinds.requests.rate import RateSpec
from bmwg.methodology.kinds.requests.records import HttpCell, Repetition, Workload
from bmwg.methodology.records import OutcomeType

SETTINGS = {
    "min_rps": 10,
    "max_rps": 5000,
    "duration_s": 2,
    "relative_width": 0.05,
    "max_latency_ms": 500,
    "max_repeats": 1,
}
CELL = HttpCell(
    experiment="request_rate",
    workload=Workload.OPEN_LOOP,
    form="native",
    proxies=1,
    object_octets=1000,
    clients=1,
    cache=False,
    stress_cpus=0,
)


def made(limit_rps: int, broken_at: int = 0) -> list[tuple[int, Repetition]]:
    """Search over a proxy that loses what is above its limit; return what was recorded."""
    recorded: list[tuple[int, Repetition]] = []

    def measure(spec: RateSpec) -> tuple[int, Repetition]:
        rate_rps, due = spec.load, spec.intended
        recorded.append(
            (
                len(recorded) + 1,
                Repetition(
                    cell_id=CELL.cell_id,
                    number=len(recorded) + 1,
                    phase="measured",
                    asked_requests=due,
                    requests=due,
                    failed=max(0, due - round(limit_rps * spec.duration_s)),
                    probes=((200, True), (200, True)),
                    faults=("the proxy has ended",) if len(recorded) + 1 == broken_at else (),
                    deployment="d1",
                    rate_rps=rate_rps,
                    duration_s=spec.duration_s,
                ),
            )
        )
        return recorded[-1]

    rate_search.search(measure, SETTINGS)
    return recorded


@pytest.mark.parametrize("limit_rps", [37, 400, 1777])
def test_the_limit_is_found_and_the_outcome_follows_from_the_record(limit_rps: int) -> None:
    found = rate_search.outcome(CELL, made(limit_rps), SETTINGS)
    assert found.type is OutcomeType.MEASURED
    assert found.rate_rps is not None
    assert found.upper_rps is not None
    assert found.rate_rps <= limit_rps < found.upper_rps
    assert found.upper_rps - found.rate_rps <= 0.05 * found.upper_rps


def test_a_limit_outside_the_loads_is_no_number() -> None:
    assert rate_search.outcome(CELL, made(9000), SETTINGS).type is OutcomeType.AT_CEILING
    below = rate_search.outcome(CELL, made(1), SETTINGS)
    assert below.type is OutcomeType.AT_FLOOR
    assert below.rate_rps is None


def test_a_repetition_with_a_fault_ends_the_search_without_a_number() -> None:
    found = rate_search.outcome(CELL, made(400, broken_at=3), SETTINGS)
    assert found.type is OutcomeType.INVALID
    assert found.rate_rps is None
    assert "the proxy has ended" in found.reason


def test_a_record_of_another_order_gives_no_number() -> None:
    shuffled = made(400)[::-1]
    assert rate_search.outcome(CELL, shuffled, SETTINGS).type is OutcomeType.INVALID


def test_summary_of_k6() -> None:
    text = """{"http_reqs": {"values": {"count": 100}}, "late": {"values": {"count": 3}},
      "dropped_iterations": {"values": {"count": 7}},
      "http_req_duration": {"values": {"avg": 1, "med": 2, "p(99)": 4.5, "max": 9}},
      "http_req_waiting": {"values": {"med": 1}}}"""
    found = open_loop.read_summary(text)
    assert (found["requests"], found["failed"], found["late"], found["dropped"]) == (100, 0, 3, 7)
    assert found["latency_ns"] == {"p50": 2_000_000, "p99": 4_500_000, "max": 9_000_000}
    with pytest.raises(DriverError) as caught:
        open_loop.read_summary("{}")
    assert caught.value.error_id == "K6-02"


MISLEADING = {one.name: one for one in rates.PROXIES}
# of 200 searches, what trials of a profile cannot tell: a state that lasts as long as all of them, loss that
# is rarer than their requests, pauses that are rarer than all of them last
UNSEEN = {
    ("quick", "two states of 60 s"): 60,
    ("quick", "loses 1e-4"): 45,
    ("quick", "pauses of 1 s, once a minute"): 110,
}


@pytest.mark.parametrize("profile", ["quick", "paper"])
@pytest.mark.parametrize("name", MISLEADING)
def test_a_proxy_that_misleads_has_no_wrong_number(name: str, profile: str) -> None:
    """Of 200 each, quick had 139 wrong after an overload, 50 in two states, 125 with a quarter lossy."""
    found = rates.counted(MISLEADING[name], rates.settings_of(profile), cases=200, seed=1601)
    assert found.wrong <= UNSEEN.get((profile, name), 2)
    if name in ("steady", "soft knee", "late in an overload", "half the rate in its first 2 s"):
        assert found.plain == 200
