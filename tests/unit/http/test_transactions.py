"""The client of transactions counts what an origin of known behaviour does; RFC 9411's criteria name it."""

from __future__ import annotations

import http.client
import json
import socket
import subprocess
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.unit.http import made as cells
from tests.unit.http.offering import offered
from tests.unit.http.origin import origin
from tests.unit.http.phases import SECOND_NS, phase, planned

from bmwg.drivers.workload import transacting, transactions, transactions_build
from bmwg.drivers.workload.transaction_load import Load
from bmwg.methodology.errors import ConfigError
from bmwg.methodology.kinds.requests.criteria import breaches
from bmwg.methodology.kinds.requests.rate import judged
from bmwg.methodology.kinds.requests.records import RequestsResult
from bmwg.methodology.kinds.requests.sustained import Sustained
from bmwg.methodology.records import Validity


def named(phase: Sustained, why: str) -> bool:
    """Whether a trial with this phase is no lower bound, and one of the criteria that say so begins so."""
    result = RequestsResult(
        asked_requests=phase.tried, requests=phase.tried, probes=cells.RIGHT, sustain=phase
    )
    trial = judged(1, result, planned().spec)
    assert (trial.valid, trial.lossless) == (True, False)
    return any(one.startswith(why) for one in trial.unmet or ())


def has_ipv6() -> bool:
    """Whether an address of IPv6 can be bound here."""
    try:
        with socket.create_server(("::1", 0), family=socket.AF_INET6):
            return True
    except OSError:
        return False


def test_what_meets_all_criteria_breaks_none() -> None:
    assert breaches(phase()) == ()


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"failures": {"status 503": 1}}, "failed transactions: 1 of 10000 (status 503: 1)"),
        ({"tried": 100_000, "failures": {"status 503": 1}}, "failed transactions: 1 of 100000"),
        ({"tried": 100_001, "failures": {"status 503": 1}}, ""),
        ({"resets": 1}, "unexpected resets: 1 of 10000 connections"),
        ({"completed": (1_000,) * 9 + (940,)}, "constant rate: 940 transactions in one interval, 994"),
        ({"completed": (1_000,) * 9 + (960,)}, ""),
        ({"completed": (1_000,) * 8 + (951, 1_049)}, ""),
        ({"completed": (1_000,) * 8 + (950, 1_050)}, "constant rate: 950 transactions in one interval, 1000"),
        ({"completed": (980,) * 10}, "target rate: 9800 transactions were completed"),
        (
            {"open_ns": (200 * SECOND_NS,) * 9 + (300 * SECOND_NS,)},
            "constant connections: 300 open in one interval, 210 on average",
        ),
        (
            {"open_ns": (200 * SECOND_NS,) * 8 + (180 * SECOND_NS, 220 * SECOND_NS)},
            "constant connections: 180 open in one interval, 200 on average",
        ),
        ({"open_ns": (0,) * 9 + (9 * SECOND_NS,)}, ""),  # a few connections are a pause of some milliseconds
        (
            {"held_connections": 500, "least_open": 499},
            "held connections: 499 at the fewest, 500 were to be held",
        ),
        ({"held_connections": 500, "least_open": 500, "completed": (0,) * 9 + (500,)}, ""),
    ],
)
def test_a_criterion_that_is_not_met_is_named(changes: dict[str, Any], said: str) -> None:
    found = breaches(phase(**changes))
    assert len(found) == bool(said)
    assert said in "".join(found)


def test_a_delay_of_ten_milliseconds_is_ten_milliseconds_more() -> None:
    with origin() as port:
        plain = offered(port, rate=100)
    with origin(delay_s=0.01) as port:
        delayed = offered(port, rate=100)
    assert (plain.tried, plain.failed, delayed.tried, delayed.failed) == (100, 0, 100, 0)
    more_ns = delayed.first_octet_ns["min"] - plain.first_octet_ns["min"]
    assert more_ns >= 9_900_000  # a sleep is never shorter; how much longer it is, is the machine's
    assert delayed.first_octet_ns["p50"] <= delayed.last_octet_ns["p50"]


def test_a_client_of_an_open_loop_shows_that_its_function_stopped() -> None:
    """All that was due in the second of the stop waited, half a second on average."""
    with origin(stops_at=150) as port:
        found = offered(port, rate=100, sustain_s=3.0)
    assert found.tried == 300
    assert found.last_octet_ns["max"] >= 900_000_000
    assert found.last_octet_ns["p90"] >= 400_000_000
    assert named(found, "constant rate")


def test_a_client_of_a_closed_loop_hides_it_in_one_slow_answer() -> None:
    with origin(stops_at=150) as port:
        client, took_s = http.client.HTTPConnection("127.0.0.1", port, timeout=60), []
        for _ in range(300):
            begin_s = time.monotonic()
            client.request("GET", "/")
            client.getresponse().read()
            took_s.append(time.monotonic() - begin_s)
        client.close()
    assert max(took_s) >= 0.9
    assert sum(one >= 0.4 for one in took_s) < 30  # p90; one of them is the stop, more are the machine's


def test_one_failed_transaction_of_ten_thousand_is_no_lower_bound_and_is_named() -> None:
    with origin(fail_every=6_000) as port:  # its connection ends with it
        found = offered(port, rate=5_000, per_connection=10, ramp_s=0, sustain_s=2.0)
    assert 9_991 <= found.tried <= 10_000
    assert found.failures == {"status 503": 1}
    assert named(found, f"failed transactions: 1 of {found.tried} (status 503: 1), not fewer than 0.001 %")


def test_failures_and_resets_are_counted_by_their_names() -> None:
    with origin(fail_every=50) as port:
        found = offered(port, rate=200)
    assert sum(found.failures.values()) in (4, 5)  # those of the ramp are none of the phase
    assert set(found.failures) == {"status 503"}
    with origin(reset_every=50) as port:
        found = offered(port, rate=200)
    assert found.resets == found.failures["ECONNRESET"]
    assert found.resets in (4, 5)


@pytest.mark.parametrize("threads", [1, 3])
def test_ten_transactions_follow_each_other_on_a_connection(threads: int) -> None:
    with origin() as port:
        found = offered(port, rate=200, per_connection=10, threads=threads)
    assert (found.due_connections, found.opened, found.tried, found.failed) == (20, 20, 200, 0)
    assert found.body_octets == 200_000


def test_a_limit_of_connections_is_met_at_it_and_not_at_one_more() -> None:
    for held, said in ((40, ""), (41, "held connections: 40 at the fewest, 41")):
        with origin(most_connections=40) as port:
            found = offered(port, held=held, threads=held - 39)
        assert said in " ".join(breaches(found))
        assert bool(breaches(found)) == bool(said)


def test_held_connections_tell_the_answers_of_their_sustain_phase_alone() -> None:
    """They ask from the ramp up on: an answer of the ramp is in no rate of the phase, nor in its times."""
    with origin() as port:
        found = offered(port, held=20, ramp_s=1.0, sustain_s=2.0)
    within = sum(found.completed)
    assert (found.failed, breaches(found)) == (0, ())
    assert 0 < within < found.tried
    assert (found.objects, found.body_octets) == (((1000, within),), 1000 * within)
    assert found.opened_per_s is None
    assert found.body_bps == pytest.approx(8000 * found.transactions_per_s)


def test_what_is_no_right_answer_is_named() -> None:
    begin = "HTTP/1.1 200 OK\r\n"
    length = "Content-Length: 1000\r\n\r\n"
    said = [
        (f"{begin}{length}{'x' * 1001}", "more octets than were announced"),
        (f"{begin}{length}x", "closed before its answer was whole"),
        (f"{begin}\r\n", "an answer without a length"),
        (f"{begin}Content-Length: x\r\n\r\n", "an answer without a length"),
        (f"HTTP/1.1 404 Not Found\r\n{length}", "status 404"),
        ("220 mail ready\r\n\r\n", "no answer of HTTP"),
        ("x" * 70_000, "no answer of HTTP"),
    ]
    with origin(says=[answer for answer, _ in said]) as port:
        found = offered(port, rate=2 * len(said), ramp_s=0)
    assert found.failures == {why: 2 * [other for _, other in said].count(why) for _, why in said}
    assert (found.tried, found.failed, sum(found.completed)) == (14, 14, 0)


def test_a_head_that_comes_in_parts_is_read_whole() -> None:
    with origin(in_parts=True) as port:
        found = offered(port, rate=20)
    assert (found.tried, found.failures, found.body_octets) == (20, {}, 20_000)


@pytest.mark.skipif(not has_ipv6(), reason="needs IPv6 on loopback")
def test_transactions_go_by_ipv6_as_well() -> None:
    with origin(address="::1") as port:
        found = offered(port, rate=20, address="::1")
    assert (found.tried, found.failures, found.body_octets) == (20, {}, 20_000)


def test_where_nothing_listens_every_transaction_fails_by_name() -> None:
    with origin() as port:
        pass
    assert offered(port, rate=20).failures == {"ECONNREFUSED": 20}


def test_an_answer_of_another_size_is_no_answer() -> None:
    with origin(octets=999) as port:
        assert offered(port, rate=20).failures == {"an object of another size": 20}


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"rate": 1, "threads": 0},
        {"rate": 1, "held": 1},
        {"held": 1, "ramp_s": 0},
        {"sustain_s": 0.5},
        {"rate": 1, "objects": []},
        {"rate": 1, "objects": [(1, "/")] * 65},
    ],
)
def test_a_load_that_makes_no_phase_is_refused(changes: dict[str, Any]) -> None:
    fields: dict[str, Any] = {
        "address": "",
        "port": 1,
        "objects": [(1, "/")],
        "host": "",
        "timeout_s": 1,
    }
    fields |= {"ramp_s": 1, "sustain_s": 1}
    with pytest.raises(ConfigError, match=r"^TRANS-01 "):
        Load(**{**fields, **changes})


PRINTS_WHEN_DUE = """
#include "load.h"
#include <inttypes.h>
#include <stdio.h>
int main(int count, char **words) {
    struct load load = load_of(count - 1, words + 1);
    for (int64_t one = 0; one < load_connections(&load); one++)
        printf("%" PRId64 "\\n", load_due_ns(&load, one));
}
"""


PRINTS_THE_BUSIEST = """
#include "counts.h"
#include <inttypes.h>
#include <stdio.h>
int main(void) {
    struct counts all = {.cpu_ns = 5, .due = 1};
    counts_add(&all, &(struct counts){.cpu_ns = 7, .due = 2});
    counts_add(&all, &(struct counts){.cpu_ns = 6, .due = 3});
    printf("%" PRId64 " %" PRIu64 "\\n", all.cpu_ns, all.due);
}
"""


def built(tmp_path: Path, text: str, part: str) -> str:
    """Build a program with one source of the client."""
    source, program, folder = tmp_path / "one.c", tmp_path / "one", transactions_build.SOURCE_FOLDER
    source.write_text(text)
    argv = ["cc", "-D_GNU_SOURCE", f"-I{folder}", str(source), str(folder / part), "-o", str(program), "-lm"]
    subprocess.run(argv, check=True, timeout=60)
    return str(program)


def test_of_all_threads_the_busiest_is_told(tmp_path: Path) -> None:
    argv = [built(tmp_path, PRINTS_THE_BUSIEST, "counts.c")]
    told = subprocess.run(argv, check=True, timeout=10, capture_output=True, text=True).stdout
    assert told.split() == ["7", "6"]


def when_due(tmp_path: Path, **changes: Any) -> list[int]:
    """Ask the client's own source when each connection of a load is due."""
    fields: dict[str, Any] = {"address": "127.0.0.1", "port": 1, "objects": [(1, "/")], "host": "o"}
    load = Load(**{**fields, "timeout_s": 1, "ramp_s": 2.0, "sustain_s": 3.0, **changes})
    argv = [built(tmp_path, PRINTS_WHEN_DUE, "load.c"), *load.words()]
    told = subprocess.run(argv, check=True, timeout=10, capture_output=True, text=True).stdout
    return [int(line) for line in told.split()]


def test_a_ramp_rises_to_the_rate_and_the_sustain_phase_has_what_is_due_there(tmp_path: Path) -> None:
    due = when_due(tmp_path, rate=1000, per_connection=10)
    assert due == sorted(due)
    assert sum(one < SECOND_NS for one in due) == 25  # half of the time is a quarter of the ramp
    assert sum(one < 2 * SECOND_NS for one in due) == 100
    assert sum(2 * SECOND_NS <= one < 5 * SECOND_NS for one in due) == 300 == len(due) - 100
    held = when_due(tmp_path, held=300)
    assert (len(held), held[0], held[-1]) == (300, 0, 1_495_000_000)  # a quarter of the ramp is left


def test_a_client_that_is_asked_for_too_much_tells_what_it_left_out() -> None:
    with origin() as port:
        load = {"address": "127.0.0.1", "port": port, "objects": [(1000, "/")], "host": "o"}
        load |= {"ramp_s": 0.0, "sustain_s": 1.0, "timeout_s": 1.0, "rate": 1_000_000}
        ran = transactions.told(transacting.run(load=load, trust=None))
    assert ran.unsent_requests == ran.generator["the client was late"] > 0
    assert ran.sustain is not None
    assert ran.sustain.opened + ran.unsent_requests == ran.sustain.due_connections == 1_000_000
    assert ran.sustain.client_ns > 0
    trial = judged(1, replace(ran, probes=cells.RIGHT), planned().spec)
    assert trial.validity is Validity.SENT_SHORT


@pytest.mark.parametrize("timeout_s", [0.001, 1.0])
def test_a_client_that_never_comes_to_its_last_connections_tells_of_them(timeout_s: float) -> None:
    """Far more are due than it can look at before it gives up, or before none of those it opened is left."""
    with origin() as port:
        load = {"address": "127.0.0.1", "port": port, "objects": [(1000, "/")], "host": "o"}
        load |= {"ramp_s": 0.0, "sustain_s": 1.0, "timeout_s": timeout_s, "rate": 20_000_000, "late_ns": 1}
        found = transactions.told(transacting.run(load=load, trust=None))
    assert found.sustain is not None
    assert found.sustain.due_connections == 20_000_000
    assert found.sustain.opened + found.unsent_requests == 20_000_000


def test_a_client_without_files_names_its_own_shortfall() -> None:
    """Without the capability to take more files than it was given, as of a client that is not root."""
    with origin(stops_at=0) as port:
        load = Load(
            address="127.0.0.1",
            port=port,
            objects=[(1000, "/")],
            host="o",
            ramp_s=0.1,
            sustain_s=1.0,
            timeout_s=1.0,
            held=60,
        )
        few = ["prlimit", "--nofile=30:30", "setpriv", "--bounding-set", "-sys_resource"]
        argv = [*few, "--inh-caps", "-sys_resource", str(transactions_build.ensure_built()), *load.words()]
        done = subprocess.run(argv, capture_output=True, text=True, timeout=30, check=True)
    told = json.loads(done.stdout)
    assert told["why_unsent"] == {"EMFILE": told["unsent"]}
    assert told["unsent"] + told["sustain"]["opened"] == told["sustain"]["due_connections"] == 60
    assert told["unsent"] > 30
