"""Clients with a JMeter of their own each: what they add up to, and which repetitions are none."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import pytest
from tests.unit.http import made
from tests.waiting import eventually

from bmwg.cli.main import main
from bmwg.drivers.api.calls import Calls
from bmwg.drivers.api.instance import Place
from bmwg.drivers.nodes import process, programs
from bmwg.drivers.workload import jmeter, jmeter_each, jmeter_plan
from bmwg.drivers.workload.jmeter_pods import JMeterPods
from bmwg.drivers.workload.mpi_launch import SHELL
from bmwg.methodology.errors import DriverError
from bmwg.methodology.kinds.requests import profile
from bmwg.methodology.kinds.requests.kind import REQUESTS
from bmwg.methodology.kinds.requests.own_clients import (
    EXACT_NS,
    MOST_CLIENTS,
    ClientRan,
    OwnClients,
    wrong_numbers,
)
from bmwg.methodology.kinds.requests.records import RequestsResult, RequestsSpec, Workload
from bmwg.methodology.records import Validity
from bmwg.reports.kinds.requests.physics import PHYSICS
from bmwg.reports.kinds.requests.section import http_section
from bmwg.reports.render.forms.rst import restructured
from bmwg.reports.store import RunStore, read_run
from bmwg.schemas.validation import problems_of

MS = 1_000_000
OCTETS = 1000
INSTANT_NS = 1_700_000_000_000 * MS + 400_000
HEAD = "timeStamp,elapsed,responseCode,label,success,Latency\n"
USED = profile.load("clients-quick")


def spec(**changes: Any) -> RequestsSpec:
    fields: dict[str, Any] = {
        "experiment": "many_proxies",
        "workload": Workload.JMETER_PODS,
        "clients": 3,
        "asked_requests": 12,
        "warm_up_requests": 3,
    }
    return made.spec("docker_routed", **{**fields, **changes})


def table(client: int, *, requests: int = 4, began_ms: int = 2, took_ms: int = 100) -> str:
    """Return what a client's JMeter writes: a warm-up, its wait at the gate, requests one after the other."""
    instant_ms = INSTANT_NS // MS
    rows = [f"{instant_ms - 900},50,200,warm_up,true,9", f"{instant_ms - 800},801,200,begin,true,801"]
    for number in range(requests):
        rows.append(f"{instant_ms + began_ms + number * took_ms},{took_ms},200,get,true,{client}")
    return HEAD + "\n".join(rows) + "\n"


def result(*tables: str, memory_octets: int = 300 << 20, **changes: Any) -> RequestsResult:
    """Return what clients with these tables came to, as the driver does."""
    read = {number: jmeter.samples(text) for number, text in enumerate(tables, start=1)}
    pooled = jmeter.told_of([row for rows in read.values() for row in rows], OCTETS)
    each = tuple(
        ClientRan(**jmeter_each.told_of(number, rows, OCTETS, INSTANT_NS)) for number, rows in read.items()
    )
    own = OwnClients(each=each, stood_ns=900 * MS, memory_octets=memory_octets)
    fields: dict[str, Any] = {
        "asked_requests": 12,
        "process_ns": 4_000 * MS,
        "wall_ns": 5_000 * MS,
        "request_ns": pooled.pop("latency_ns"),
        "probes": made.RIGHT,
        "own_clients": own,
    }
    return RequestsResult(**{**pooled, **fields, **changes})


def good() -> RequestsResult:
    return result(table(1), table(2), table(3))


def test_what_all_did_is_what_each_did() -> None:
    found = result(table(1), table(2, took_ms=50), table(3, began_ms=4))
    assert (found.requests, found.body_octets, found.warm_up_requests) == (12, 12 * OCTETS, 3)
    assert found.mean_request_ns == (8 * 100 + 4 * 50) * MS // 12
    assert found.elapsed_ns == 402 * MS  # from the first client's first request to the last one's last
    assert found.own_clients is not None
    assert [one.requests for one in found.own_clients.each] == [4, 4, 4]
    assert [one.busy_ns for one in found.own_clients.each] == [400 * MS, 200 * MS, 400 * MS]
    assert found.own_clients.each[0].began_ns == 2 * MS - 400_000
    assert found.own_clients.last_began_ns == 4 * MS - 400_000
    assert found.own_clients.first_ended_ns == 202 * MS - 400_000
    assert found.request_ns["p50"] == 100 * MS


def test_a_table_that_a_kill_cut_off_has_its_whole_lines() -> None:
    whole = table(1)
    assert len(jmeter.samples(whole[:-9])) == len(jmeter.samples(whole)) - 1
    assert jmeter.samples("timeStamp,ela") == jmeter.samples("") == []
    with pytest.raises(DriverError, match=r"^JM-03 "):
        jmeter.samples("timeStamp,elapsed\n1,2\n")


def test_clients_that_all_began_together_are_a_measurement() -> None:
    assert REQUESTS.assessed(spec(), good()).validity is Validity.VALID


@pytest.mark.parametrize(
    ("tables", "words"),
    [
        ([table(1), table(2, requests=0), table(3)], "client 2 of 3 did not begin"),
        ([table(1), HEAD, table(3)], "client 2 of 3 did not begin"),
        ([table(1), table(2), table(3, began_ms=30)], "client 3 of 3 began 30 ms after all were let go"),
        ([table(1), table(2), table(3, began_ms=-7)], "client 3 of 3 began 7 ms before all were let go"),
        ([table(1, requests=3), table(2), table(3)], "client 1 of 3 completed 3 of 4 requests"),
        ([table(1, requests=5), table(2, requests=3), table(3)], "client 2 of 3 completed 3 of 4 requests"),
        ([table(1, requests=6), table(2, requests=6)], "2 of 3 clients were recorded"),
    ],
)
def test_a_client_that_did_not_do_its_part_makes_it_incomplete(tables: list[str], words: str) -> None:
    found = REQUESTS.assessed(spec(), result(*tables))
    assert found.validity is Validity.INCOMPLETE
    assert words in found.reason


def test_what_was_recorded_of_no_client_is_no_measurement() -> None:
    found = REQUESTS.assessed(spec(), replace(good(), own_clients=None))
    assert found.validity is Validity.INCOMPLETE
    assert "no client of its own was recorded" in found.reason


def test_how_late_is_late_follows_from_how_long_all_ask_together() -> None:
    """The fifth part of a second is late in a load of one second, and not in one of four."""
    short = [table(number, took_ms=250, began_ms=200 if number == 3 else 2) for number in (1, 2, 3)]
    long = [table(number, took_ms=1000, began_ms=200 if number == 3 else 2) for number in (1, 2, 3)]
    assert REQUESTS.assessed(spec(), result(*short)).validity is Validity.INCOMPLETE
    assert REQUESTS.assessed(spec(), result(*long)).validity is Validity.VALID


def test_a_client_that_was_killed_is_a_fault_by_its_number() -> None:
    found = REQUESTS.assessed(spec(), replace(good(), faults=("client 2: jmeter: exit status 137",)))
    assert found.validity is Validity.FAULT
    assert "client 2" in found.reason


def test_the_journal_gives_back_what_it_was_given() -> None:
    of, found = spec(number=1), good()
    body = REQUESTS.body_of(of, found, {})
    assert problems_of({"spec": body.spec, "result": body.result}, REQUESTS.schema) == []
    assert REQUESTS.result_of(body) == found
    plain = REQUESTS.body_of(made.spec(number=1), made.result(made.spec(), 5), {})
    assert "own_clients" not in plain.result


@pytest.mark.parametrize(
    ("name", "change", "what"),
    [
        ("requests", 1, "requests of each client"),
        ("failed", 1, "failed of each client"),
        ("body_octets", 7, "body_octets of each client"),
        ("busy_ns", 90 * MS, "mean_request_ns of each client"),
        ("busy_ns", 600 * MS, "time of the requests of client 1, ns"),
        ("ended_ns", 9 * MS, "elapsed_ns of all clients"),
        ("warm_up_requests", -1, "warm_up_requests of each client"),
    ],
)
def test_counts_that_do_not_add_up_are_found(name: str, change: int, what: str) -> None:
    honest = good()
    assert honest.own_clients is not None
    assert not list(broken(honest))
    first, *others = honest.own_clients.each
    changed = replace(first, **{name: getattr(first, name) + change})
    lied = replace(honest, own_clients=replace(honest.own_clients, each=(changed, *others)))
    assert what in broken(lied)


def test_clients_that_stood_later_than_their_programs_ended_are_found() -> None:
    honest = good()
    assert honest.own_clients is not None
    assert "stood_ns" in broken(replace(honest, own_clients=replace(honest.own_clients, stood_ns=5_000 * MS)))


def broken(found: RequestsResult) -> list[str]:
    return [
        one.what
        for one in PHYSICS.counts(spec(), found)
        if one.found < (one.least or 0) or (one.most is not None and one.found > one.most)
    ]


def test_the_cell_says_that_clients_have_a_generator_of_their_own() -> None:
    own, threads = profile.cell_of(spec()), profile.cell_of(spec(workload=Workload.JMETER))
    assert own.cell_id == f"{threads.cell_id}/jmeter_pods"  # so figures of the two never meet
    for cell in (own, threads):
        axes = {"axes": dict(cell.axes), "hosting": cell.hosting, "network": cell.network}
        assert REQUESTS.cell({**axes, "function": cell.function}) == cell


@pytest.mark.parametrize(
    ("numbers", "wrong"),
    [
        ({}, ""),
        ({"proxies": 3}, "proxies that 64 clients share equally"),
        ({"requests": 65}, "requests that 64 clients share equally"),
        ({"warm_up_requests": 10}, "warm_up_requests that 64 clients share equally"),
        ({"clients": MOST_CLIENTS + 1}, f"at most {MOST_CLIENTS} clients"),
    ],
)
def test_numbers_that_clients_cannot_share_are_named(numbers: dict[str, int], wrong: str) -> None:
    fields = {"clients": 64, "proxies": 32, "requests": 128, "warm_up_requests": 64, **numbers}
    assert wrong_numbers(**fields).startswith(wrong)
    assert bool(wrong_numbers(**fields)) == bool(wrong)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"proxies": [3]}, "proxies that 8 clients share equally, found 3 proxies"),
        ({"warm_up_requests": 3}, "warm_up_requests that 8 clients share equally"),
        ({"clients": 7}, "requests and warm_up_requests that 7 clients share equally"),
        ({"clients": 400}, f"at most {MOST_CLIENTS} clients"),
        ({"workload": "jmeter_pod"}, "jmeter_pods"),
        (
            {
                "rate": {
                    "min_rps": 1,
                    "max_rps": 9,
                    "duration_s": 3,
                    "relative_width": 0.5,
                    "max_latency_ms": 9,
                }
            },
            "no rate: jmeter_pods is a closed loop",
        ),
    ],
)
def test_a_wrong_profile_is_refused_in_a_plan_by_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], change: dict[str, Any], words: str
) -> None:
    (experiment,) = [one for one in USED.data["experiments"] if one["id"] == "many_proxies"]
    data = {**USED.data, "name": "mine", "experiments": [{**experiment, **change}]}
    file = tmp_path / "mine.yaml"
    file.write_text(str(data).replace("True", "true").replace("False", "false"))
    assert main(["plan", "testcases/http_proxy/08__many_proxies.robot", "--profile", str(file)]) == 2
    said = capsys.readouterr()
    assert "HPROF-02" in said.err + said.out
    assert words in said.err + said.out


def test_profiles_have_the_documents_tests_and_its_numbers() -> None:
    plan = profile.load("clients").plan()
    many = [one.spec for one in plan if one.spec.experiment == "many_proxies"]
    assert {one.test_id for one in plan} >= {"HP-MANY-2", "HP-MANY-3", "HP-TEN-1", "HP-TENCACHED-5"}
    assert {(one.clients, one.asked_requests // one.clients) for one in many} == {(64, 1000)}
    assert sorted({one.proxies for one in many}) == [1, 2, 4, 8, 16, 32]
    assert {one.spec.workload for one in (*plan, *USED.plan())} == {Workload.JMETER_PODS}


def samplers(text: str) -> list[tuple[str, dict[str, str]]]:
    """Return each sampler of a plan by its label."""
    found = ElementTree.fromstring(text).iter("HTTPSamplerProxy")
    return [
        (one.get("testname", ""), {each.get("name", ""): each.text or "" for each in one.iter("stringProp")})
        for one in found
    ]


def test_a_client_warms_up_waits_at_the_gate_and_then_asks_through_its_proxy() -> None:
    text = jmeter_plan.own_plan(
        number=7,
        proxy=("198.18.16.2", 3128),
        gate=("198.18.48.1", 8470),
        url="http://198.18.2.2:8080/1000.bin",
        md5="0" * 32,
        requests=50,
        warm_up_requests=2,
    )
    (warm, by_proxy), (begin, at_gate), (get, measured) = samplers(text)
    assert (warm, begin, get) == (jmeter_plan.WARM_UP, jmeter_plan.BEGIN, jmeter_plan.GET)
    assert by_proxy["HTTPSampler.proxyHost"] == measured["HTTPSampler.proxyHost"] == "198.18.16.2"
    assert at_gate["HTTPSampler.path"] == "/begin/7"
    assert at_gate["HTTPSampler.domain"] == "198.18.48.1"
    assert "HTTPSampler.proxyHost" not in at_gate
    assert at_gate["HTTPSampler.response_timeout"] == ""  # it waits as long as it takes
    tree = ElementTree.fromstring(text)
    loops = [one.text for one in tree.iter("stringProp") if one.get("name") == "LoopController.loops"]
    assert loops == ["2", "1", "50"]
    conditions = [one.text for one in tree.iter("stringProp") if one.get("name") == "IfController.condition"]
    assert conditions == ["${JMeterThread.last_sample_ok}"]


class Clients(Calls):
    """A clients' node with so much memory."""

    name = "client"

    def __init__(self, octets: int) -> None:
        self.octets = octets

    def call_named(self, function, arguments, *, deadline_s=None):
        assert function.endswith(":host_room")
        return {"memory_available_octets": self.octets}


def clients_on(octets: int) -> JMeterPods:
    place = Place(token="t", owner="", run_dir="/tmp")
    row: Any = SimpleNamespace(client=Clients(octets), place=place, undo=SimpleNamespace())
    return JMeterPods(row, Path("/tmp"))


def test_too_little_memory_for_so_many_is_told_with_both_numbers() -> None:
    asked = spec(clients=64, asked_requests=64, warm_up_requests=64)
    needed = 64 * jmeter_each.CLIENT_OCTETS
    assert clients_on(needed).unfit(asked) is None
    lack = clients_on(needed - (1 << 20)).unfit(asked)
    assert lack is not None
    assert "64 JMeters" in lack.what
    assert f"{needed >> 20} MiB" in lack.reason
    assert f"{(needed >> 20) - 1} MiB" in lack.reason


def test_a_form_without_a_way_to_the_clients_is_named() -> None:
    lack = clients_on(1 << 40).unfit(replace(spec(), form="pod_bridge"))
    assert lack is not None
    assert "pod_bridge" in lack.what


@pytest.mark.parametrize(
    ("command", "pod_stands", "words"),
    [
        ("true", True, ""),
        ("echo out of memory; exit 3", True, "client 5: jmeter: exit status 3: out of memory"),
        ("kill -9 $$", True, "client 5: jmeter: exit status 137"),
        ("kill -9 $PPID", True, "client 5: jmeter: it ended without a status"),
        ("kill -9 $PPID", False, "client 5: jmeter: its pod has ended"),
    ],
)
def test_how_a_clients_program_ended_is_told_by_its_number(
    tmp_path: Path, command: str, pod_stands: bool, words: str
) -> None:
    folder = str(tmp_path / "client")
    programs.write_files(folder=folder, files={})
    begun = tmp_path / "begun"  # not before its start was seen, however quick it is
    waits = f"until [ -e {begun} ]; do sleep 0.02; done; {command}"
    session = programs.start(command=[*SHELL, "sh", "-c", waits], folder=folder, packages=[])
    begun.touch()
    ticks = process.start_ticks(os.getpid())
    pod = {"pid": os.getpid(), "start_ticks": ticks if pod_stands else ticks + 1}
    found = jmeter_each.ClientProgram(number=5, session=session, folder=folder, pod=pod)
    assert eventually(lambda: found.ended)
    assert found.fault.startswith(words)
    assert bool(found.fault) == bool(words)
    programs.stop(folder=folder, **session)


def test_of_many_faults_the_first_ones_are_told_and_how_many_there_are() -> None:
    assert jmeter_each.words_of([]) == ""
    told = jmeter_each.words_of([f"client {number}" for number in range(1, 65)])
    assert told == "client 1; client 2; client 3; client 4; and 60 others"


def test_the_report_says_how_they_stood_and_began(tmp_path: Path) -> None:
    used = made.shortened(USED, repetitions=2)
    planned = next(one for one in used.plan() if one.spec.experiment == "many_proxies")
    of = planned.spec
    each = of.asked_requests // of.clients
    tables = [table(number, requests=each, began_ms=number) for number in range(1, of.clients + 1)]
    found = result(*tables, asked_requests=of.asked_requests, process_ns=20_000 * MS, wall_ns=30_000 * MS)
    assert found.own_clients is not None
    ran = tuple(replace(one, body_octets=one.requests * of.object_octets) for one in found.own_clients.each)
    found = replace(
        found,
        body_octets=of.asked_requests * of.object_octets,
        own_clients=replace(found.own_clients, each=ran),
    )
    with RunStore.create(tmp_path, "r", made.header(used, [planned])) as store:
        outcome = made.answer(store, planned, [found] * 2)
    assert outcome.type == "measured", outcome.reason
    told = restructured(http_section(read_run(tmp_path / "r")))
    assert "Clients in pods of their own" in told
    assert "a pod and a program for each client" in told
    assert "300 MiB" in told
    assert "crun" in told


def test_what_is_exact_is_less_than_what_is_late() -> None:
    assert EXACT_NS < 50 * MS
