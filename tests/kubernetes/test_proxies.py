"""Proxies in pods of a real cluster: alone, behind a Service, refused by name, killed, and nothing left."""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from tests.contract.http_support import ABSENT, SIZES
from tests.kubernetes.conftest import lacking
from tests.kubernetes.test_nothing_left import traces

from bmwg.drivers.api.instance import Limits
from bmwg.drivers.kubernetes import pods
from bmwg.drivers.nodes import process
from bmwg.drivers.places.forms import hosting
from bmwg.drivers.undo import ledger as ledgers
from bmwg.drivers.undo.ledger import Ledger
from bmwg.drivers.workload import ab, squid
from bmwg.drivers.workload.row import open_row
from bmwg.methodology.errors import DriverError, TestbedError
from bmwg.methodology.kinds.requests import judge
from bmwg.methodology.kinds.requests.records import RequestsResult, RequestsSpec, Workload
from bmwg.resources.kinds.requests.deployment import deployed, start_serving
from bmwg.resources.kinds.requests.measure import _shares

READY_S = 120.0  # the tests' machine may be busy with something else
PROGRAM = squid.program(cache=False)


@pytest.fixture(scope="module")
def row(tmp_path_factory):
    if ABSENT:
        pytest.skip(f"needs {ABSENT}: sh setup/install.sh http")
    if reason := lacking():
        pytest.skip(reason)
    folder = tmp_path_factory.mktemp("http")
    ledger = Ledger(folder / "ledger.jsonl", index_dir=folder / "index")
    with open_row(folder, ledger, f"test-{secrets.token_hex(4)}", sizes_octets=SIZES) as opened:
        yield opened, ledger
    assert not ledger.pending
    assert traces("nobody", folder)["folders"] == []
    assert list(folder.glob("cluster*")) == []
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="module")
def place(row):
    opened, ledger = row
    made = hosting("kubernetes_service", node=opened.proxy, place=opened.place, ledger=ledger)
    assert made.probe() is None
    with made as entered:
        yield entered


AB = RequestsSpec(workload=Workload.AB, object_octets=1000, clients=1)


def asked(row, endpoint, *, requests):
    """Have ab ask for an object through an endpoint, or without any."""
    ran = row.client.call_within(
        60.0,
        ab.run,
        proxy=":".join(map(str, endpoint)) if endpoint else "",
        url=row.url(1000),
        octets=1000,
        requests=requests,
        concurrency=4,
        within_s=50,
    )
    assert (ran["requests"], ran["failed"], ran["non_2xx"], ran["fault"]) == (requests, 0, 0, "")
    return ran["requests"]


def cgroup_of(pid):
    try:
        return Path(f"/proc/{pid}/cgroup").read_text()
    except OSError:
        return ""


def stand(row, place, proxies):
    return deployed(row, place, proxies=proxies, cache=False, stress_cpus=0, deadline_s=READY_S)


def test_requests_to_the_service_are_counted_by_its_pods_and_one_that_went_past_is_missed(row, place):
    opened, _ = row
    with stand(opened, place, 3) as deployment:
        told = deployment.describe()
        assert told["group"]["endpoints"] == len(told["instances"]) == 3
        first, before = deployment.counters(), deployment.counters()
        requests = asked(opened, deployment.asked[0], requests=90)
        shares = _shares(first, before, deployment.counters())
        assert sum(shares) == requests
        assert all(shares)
        assert judge.astray(AB, RequestsResult(shares=shares, requests=requests)) == ()

        first, before = deployment.counters(), deployment.counters()
        requests = asked(opened, deployment.asked[0], requests=20) + asked(opened, None, requests=5)
        shares = _shares(first, before, deployment.counters())
        (found,) = judge.astray(AB, RequestsResult(shares=shares, requests=requests))
        assert "20 requests crossed the 3 proxies, 25 are the client's" in found

        cpu_ns, memory_octets = deployment.usage()
        assert cpu_ns > 0
        assert memory_octets > 3 * (5 << 20)
        assert deployment.fault() is None
    assert pods.left(place._api, place._namespace, opened.place.token) == []


def test_limits_are_those_of_the_other_forms_and_requests_are_recorded(row, place):
    opened, _ = row
    cpus = min(Limits().cpus, len(os.sched_getaffinity(0)))
    with stand(opened, place, 1) as deployment:
        (told,) = deployment.describe()["instances"]
    assert told["pod"]["resources"]["requests"] == {"cpu": "20m", "memory": "32Mi"}
    assert told["limits"]["memory_limit_octets"] == Limits().memory_octets
    quota = told["limits"].get("cpu_quota_us") or int(told["limits"]["cpu_quota_and_period_us"].split()[0])
    assert quota == cpus * 100_000


def test_a_proxy_that_is_killed_is_named(row, place):
    opened, _ = row
    with stand(opened, place, 2) as deployment:
        victim = deployment.instances[1]
        (pid,) = [
            found
            for found, words in process.each("cmdline")
            if words[0].endswith(b"squid") and victim.container in cgroup_of(found)
        ]
        os.kill(pid, signal.SIGKILL)
        end_s = time.monotonic() + 30
        while not (found := deployment.fault()) and time.monotonic() < end_s:
            time.sleep(0.1)
        assert victim.name in (found or "")


def test_a_pod_by_its_own_address_serves_and_is_removed(row, place):
    opened, _ = row
    instance, took_ns = start_serving(opened, place, PROGRAM, 7, READY_S)
    try:
        assert took_ns > 0
        before = instance.sample()
        asked(opened, instance.endpoint, requests=40)
        assert instance.sample().cpu_ns > before.cpu_ns
        assert instance.fault() is None
    finally:
        instance.stop()
        instance.stop()
    assert "gone" in instance.fault()


def group(place, program=PROGRAM, count=2, within_s=READY_S):
    return place.group(program, count, Limits(), within_s=within_s)


def test_a_quota_is_named_and_leaves_nothing(row, place):
    path = f"/api/v1/namespaces/{place._namespace}/resourcequotas/few"
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "few"}}
    place._api.apply(path, {**quota, "spec": {"hard": {"pods": "1"}}})
    try:
        with pytest.raises(TestbedError, match="KUBE-23"), group(place, count=4):
            pass
    finally:
        place._api.delete(path)
    assert pods.left(place._api, place._namespace, row[0].place.token) == []


def test_proxies_that_never_answer_are_never_ready(row, place):
    files = {"squid.conf": PROGRAM.files["squid.conf"].replace("{port}", str(PROGRAM.port))}
    deaf = replace(PROGRAM, port=PROGRAM.port + 1, files=files)
    with pytest.raises(DriverError, match="KUBE-48") as caught, group(place, deaf, within_s=8.0):
        pass
    assert "2 pods of one program" in caught.value.what
    assert pods.left(place._api, place._namespace, row[0].place.token) == []


def test_an_image_that_nobody_imported_is_named(row, place, monkeypatch):
    monkeypatch.setattr(place, "prepare", lambda program: None)
    absent = replace(PROGRAM, name="absent")
    with pytest.raises(TestbedError, match="KUBE-40") as caught, group(place, absent):
        pass
    assert "Image" in caught.value.found
    assert pods.left(place._api, place._namespace, row[0].place.token) == []


# As a run does it: the owner's undo first, then the row and the form. It says what stands, and waits.
RUNNER = """
import sys, time
from pathlib import Path
from bmwg.drivers.places.forms import hosting
from bmwg.drivers.undo.ledger import Ledger
from bmwg.drivers.workload.row import open_row
from bmwg.resources.kinds.requests.deployment import deployed
run, owner, stage = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
ledger = Ledger(run / "ledger.jsonl", index_dir=run / "index")
ledger.before("owner", owner=owner)
with open_row(run, ledger, owner, sizes_octets=[1000]) as row:
    with hosting("kubernetes_service", node=row.proxy, place=row.place, ledger=ledger) as place:
        if stage == "asking":
            print("asking", flush=True)
        with deployed(row, place, proxies=2, cache=False, stress_cpus=0, deadline_s=120.0):
            print("standing", flush=True)
            time.sleep(1000)
"""


@pytest.mark.parametrize("stage", ["asking", "standing"])
def test_a_runner_that_is_killed_leaves_nothing(row, tmp_path, stage):
    owner = f"test-{secrets.token_hex(4)}"
    others = traces("nobody", tmp_path)["cgroups"]
    with subprocess.Popen(
        [sys.executable, "-c", RUNNER, str(tmp_path), owner, stage],
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as runner:
        assert next(runner.stdout).strip() == stage
        time.sleep(1.5 if stage == "asking" else 0.0)  # in the midst of it
        os.kill(runner.pid, signal.SIGKILL)
        runner.wait(60)
    assert ledgers.cleanup(tmp_path, index_dir=tmp_path / "index") == []
    assert ledgers.cleanup(tmp_path, index_dir=tmp_path / "index") == []
    found = traces(owner, tmp_path)
    found["cgroups"] = [one for one in found["cgroups"] if one.endswith("-proxy") and one not in others]
    assert found == {"processes": [], "cgroups": [], "mounts": [], "folders": []}
    assert list(tmp_path.glob("cluster*")) == []
