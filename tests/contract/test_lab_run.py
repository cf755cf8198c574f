"""A whole run of HTTP experiments on three hosts: answers, records, and what of the hosts it tells."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.contract.http_support import needs_docker, needs_guest, needs_http, needs_pods
from tests.contract.lab_support import LabHosts, lab_hosts, needs_sshd
from tests.unit.http import made

from bmwg.drivers.nodes import probe
from bmwg.methodology.errors import TestbedError
from bmwg.methodology.kinds.requests import profile as profiles
from bmwg.methodology.kinds.requests.profile import load as load_profile
from bmwg.methodology.kinds.requests.profile import test_id as name_of_test
from bmwg.methodology.records import Outcome, OutcomeType
from bmwg.reports.bundle.make import folder_evidence, make_bundle
from bmwg.reports.store import Run, read_run
from bmwg.reports.verify.verify import verify_bundle, verify_folder
from bmwg.resources.kinds.requests.bench import RequestsBench
from bmwg.resources.run.settings import Settings

pytestmark = [*needs_http, needs_sshd]
EXPERIMENT = "one_client"
OBJECTS = [{"octets": 1000, "requests": 20, "slow_requests": 5}]


PODS = ("pod_bridge", "pod_ptp")
FORMS = [
    "native",
    pytest.param("docker_routed", marks=needs_docker),
    pytest.param("docker_nat", marks=needs_docker),
    pytest.param("vm_para", marks=needs_guest),
    *(pytest.param(form, marks=needs_pods) for form in PODS),
]
NO_FORM_HERE = "kubernetes"
LONG = pytest.mark.slow  # each lost port is waited for, ten seconds each


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LabHosts]:
    with lab_hosts(tmp_path / "lab", monkeypatch) as made:
        yield made


def make_tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    data = json.loads(json.dumps(load_profile("quick").data))
    entry = next(one for one in data["experiments"] if one["id"] == EXPERIMENT)
    entry |= {"objects": OBJECTS, "pod_octets": [1000], "warm_up_requests": 0}
    data |= {"experiments": [entry], "repetitions": 2, "slow_repetitions": 2, "least_repetitions": 2}
    monkeypatch.setattr(profiles, "load", lambda name, forms: profiles.PROFILES.of(data))


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    make_tiny(monkeypatch)


def opened(lab: LabHosts, folder: Path, *forms: str) -> RequestsBench:
    tags = {name_of_test(EXPERIMENT, form) for form in forms}
    return made.opened(Settings(results=folder, run_id="r", testbed=lab.testbed), tags)


def answer(bench: RequestsBench, form: str) -> Outcome:
    (found,) = bench.outcomes(name_of_test(EXPERIMENT, form))
    return found


def forget(bench: RequestsBench) -> None:
    """Note as undone what is left on hosts, which end with the lab: the index would go on naming the run."""
    ledger = bench.run.ledger
    for entry in ledger.pending:
        assert entry.place["kind"] != "local", entry
        ledger.done(entry.number, "its host ended with the lab")


def has(*marks: pytest.MarkDecorator) -> bool:
    """Whether nothing is missing for what these marks skip."""
    return not any(mark.args[0] for mark in marks)


def lines_of(run: Run) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (run.folder / "trials.jsonl").read_text().splitlines()]


def host_name(run: Run, deployment: str, place: str) -> object:
    """The recorded name of a place; an equal record stands once, at the deployment that had it first."""
    record = run.platform["records"][deployment][place]
    whole = run.platform["records"][record["equal_to"]][place] if "equal_to" in record else record
    return whole["fields"]["host"]["hostname"]["value"]


class Whole(NamedTuple):
    """One run of every form, its answers, and the interfaces of the hosts around each."""

    run: Run
    answers: dict[str, Outcome]
    interfaces: list[dict[str, dict[str, dict[str, object]]]]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Whole]:
    folder = tmp_path_factory.mktemp("whole")
    forms = [
        "native",
        *(["docker_routed", "docker_nat"] if has(needs_docker) else []),
        *(["vm_para"] if has(*needs_guest) else []),
        *(PODS if has(needs_pods) else []),
    ]
    with pytest.MonkeyPatch.context() as changed, lab_hosts(folder / "lab", changed) as lab:
        make_tiny(changed)
        seen = [{name: lab.interfaces(name) for name in lab.nodes}]
        answers = {}
        bench = opened(lab, folder, *forms, NO_FORM_HERE)
        try:
            bench.begin_suite("the run")
            for form in (*forms, NO_FORM_HERE):
                answers[form] = answer(bench, form)
        finally:
            bench.run.close()
        seen.append({name: lab.interfaces(name) for name in lab.nodes})
        yield Whole(read_run(folder / "r"), answers, seen)


@pytest.mark.parametrize("form", FORMS)
def test_a_form_is_measured_and_recorded_on_each_host(whole: Whole, form: str) -> None:
    found = whole.answers[form]
    assert found.type is OutcomeType.MEASURED, found.reason
    deployments = {line["deployment"] for line in lines_of(whole.run) if line["seq"] in found.trials}
    for name in deployments:
        places = whole.run.platform["records"][name]
        assert set(places) == {"client", "proxy", "server", "client/host", "server/host"}
        hosts = {role: host_name(whole.run, name, f"{role}/host") for role in ("client", "server")}
        assert hosts == {"client": "one", "server": "three"}
        assert [link["kind"] for link in whole.run.deployments[name]["links"]] == ["cable", "cable"]


def test_the_run_gives_the_hosts_back_verifies_and_says_where_it_ran(whole: Whole) -> None:
    before, after = whole.interfaces
    assert after == before
    assert list(verify_folder(whole.run.folder).findings) == []
    assert whole.run.platform["base"]["before"]["fields"]["host"]["hostname"]["value"] == "two"
    text = (whole.run.folder / "report.rst").read_text().replace("\\", "")
    assert "clients, proxies and server on three hosts" in text
    assert "whose CPUs they share" not in text


def test_a_public_bundle_tells_no_host(whole: Whole, tmp_path: Path) -> None:
    folder = whole.run.folder
    evidence = folder_evidence(folder)
    bundle = make_bundle(folder, tmp_path / "b.tar", evidence=evidence, findings=[], salt=b"s" * 32)
    assert list(verify_bundle(bundle).findings) == []
    octets = bundle.read_bytes()
    for told in (b"lab-one", b"lab-two", b"lab-three"):
        assert told in b"".join(path.read_bytes() for path in folder.glob("*.json"))
        assert told not in octets


def test_a_cluster_on_hosts_is_not_assessed_by_name(whole: Whole) -> None:
    found = whole.answers[NO_FORM_HERE]
    assert found.type is OutcomeType.NOT_ASSESSED
    assert "hosts of a row" in found.reason


@pytest.mark.quiet
@pytest.mark.usefixtures("tiny")
@pytest.mark.parametrize(
    "role", [pytest.param("client", marks=LONG), "proxy", pytest.param("server", marks=LONG)]
)
def test_a_host_that_is_lost_makes_its_cell_invalid_and_nothing_hangs(
    lab: LabHosts, tmp_path: Path, role: str
) -> None:
    bench = opened(lab, tmp_path, "native")
    bench._stage.set("native")
    lost = getattr(bench._stage.row(), role)
    killer = threading.Timer(0.5, os.kill, (lost.pid, signal.SIGKILL))
    killer.start()
    try:
        found = answer(bench, "native")
        if found.type is OutcomeType.MEASURED:  # it was done before
            killer.join()
            pytest.skip("the repetitions ended before the host was lost")
    finally:
        killer.join()
        with pytest.raises(ExceptionGroup):
            bench.run.close()
        forget(bench)
    assert found.type is OutcomeType.INVALID
    # where the deployment is made anew: the ports of these hosts are virtual, and ended with the node
    assert found.reason.startswith((f"NODE-03 node {role}", "LINK-01 interface eth"))
    assert read_run(tmp_path / "r").status == "complete"


@pytest.mark.quiet
@LONG
@pytest.mark.usefixtures("tiny")
def test_a_host_whose_own_agent_is_lost_interrupts_the_run(lab: LabHosts, tmp_path: Path) -> None:
    bench = opened(lab, tmp_path, "native")
    bench._stage.set("native")
    bench._stage.row()
    agent = bench.run.machines.hosts["proxy"].call(probe.identify)["pid"]
    killer = threading.Timer(0.5, os.kill, (agent, signal.SIGKILL))
    killer.start()
    try:
        with suppress(TestbedError):
            answer(bench, "native")
        killer.join()
        with pytest.raises(TestbedError, match="NODE-23  the proxy's host is lost"):
            bench.run.begin_suite("the next", set())  # whose doctor asks each host
    finally:
        killer.join()
        with pytest.raises(ExceptionGroup):
            bench.run.close()
        forget(bench)
    run = read_run(tmp_path / "r")
    assert [one.reason for one in run.outcomes if one.type is OutcomeType.INVALID] == []
    assert (run.status == "interrupted") == (run.outcomes == ())


@pytest.mark.quiet
@pytest.mark.usefixtures("tiny")
def test_a_cable_that_is_down_is_named_before_any_request(lab: LabHosts, tmp_path: Path) -> None:
    subprocess.run(
        ["nsenter", f"--target={lab.nodes['three'].pid}", "--net", "ip", "link", "del", "eth7"],
        check=True,
        timeout=5,
    )
    bench = opened(lab, tmp_path, "native")
    try:
        found = answer(bench, "native")
    finally:
        bench.run.close()
    assert found.type is OutcomeType.INVALID
    assert "LINK-01" in found.reason
