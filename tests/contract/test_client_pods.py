"""Clients in pods of their own: they stand, ask through real proxies, begin together, and leave nothing."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.contract.http_support import SIZES, labelled, needs_http, row_with_ledger
from tests.contract.lab_support import LabHosts, lab_hosts, needs_sshd
from tests.faults.support import ROOT, environment
from tests.needs import needs_crun
from tests.waiting import eventually

from bmwg.drivers.api.instance import Limits
from bmwg.drivers.network import datapath
from bmwg.drivers.nodes import cgroups, process
from bmwg.drivers.nodes.hosts import open_hosts
from bmwg.drivers.places.forms import hosting
from bmwg.drivers.ports import interfaces, sysctl
from bmwg.drivers.testbed.file import load_testbed
from bmwg.drivers.testbed.row import row_hosts
from bmwg.drivers.undo.ledger import Ledger, cleanup
from bmwg.drivers.workload import probe, squid, tools
from bmwg.drivers.workload.client_links import BRIDGE, NETWORK
from bmwg.drivers.workload.client_pods import ClientPod, ClientPods
from bmwg.drivers.workload.jmeter_pods import JMeterPods
from bmwg.drivers.workload.lab_row import open_lab_row
from bmwg.methodology.errors import ToolkitError
from bmwg.methodology.kinds.requests.kind import REQUESTS
from bmwg.methodology.kinds.requests.records import RequestsResult, RequestsSpec, Workload
from bmwg.methodology.records import Validity
from bmwg.resources.kinds.requests.deployment import deployed
from bmwg.resources.kinds.requests.measure import measured

pytestmark = [*needs_http, needs_crun]
needs_jmeter = [
    pytest.mark.slow,
    pytest.mark.skipif(tools.jmeter() is None, reason=f"needs JMeter: {tools.MEND}"),
]
FORWARDS = "net/ipv4/ip_forward"
SPEC = RequestsSpec(
    experiment="many_proxies",
    workload=Workload.JMETER_PODS,
    form="native",
    object_octets=SIZES[-1],
    clients=2,
    number=1,
    asked_requests=600,
    warm_up_requests=4,
    cache=True,
    within_s=300.0,
)


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    folder: Path = tmp_path_factory.mktemp("clients")
    with row_with_ledger(folder) as (row, ledger):
        yield row, ledger, folder


@pytest.fixture
def nothing_left(bench: Any) -> Iterator[None]:
    """Both nodes are after the test as they were before it, and nothing of a pod is on the machine."""
    row, ledger, folder = bench
    before = [state_of(node) for node in (row.client, row.proxy)]
    yield
    assert [state_of(node) for node in (row.client, row.proxy)] == before
    assert not ledger.pending
    assert [cgroup for cgroup in _cgroups() if row.place.token in cgroup] == []
    assert [path for path in Path(folder, "pods").rglob("*") if path.is_file()] == []
    assert processes(row) == []


def state_of(node: Any) -> dict[str, Any]:
    return {**node.call(datapath.observe), "forwards": node.call(sysctl.read, key=FORWARDS)}


def _cgroups() -> list[str]:
    return [folder.name for root in cgroups.folders("/") for folder in root.iterdir() if folder.is_dir()]


def processes(row: Any, number: int | str = "") -> list[tuple[int, list[bytes]]]:
    """Programs of a client, or of all, which have its folder among their words."""
    word = f"bmwg-clients/client-{number}".encode()
    token = row.place.token.encode()
    return [
        (pid, words)
        for pid, words in process.each("cmdline")
        if any(word in one and token in one for one in words)
    ]


def standing(bench: Any, *, proxies: int = 1) -> Any:
    row, ledger, _ = bench
    place = hosting("native", node=row.proxy, place=row.place, ledger=ledger)
    return deployed(row, place, proxies=proxies, cache=True, stress_cpus=0, deadline_s=30.0)


def require_served(row: Any, deployment: Any, client: ClientPod) -> None:
    (address, port), url = deployment.asked[0], row.url(1000)
    found = client.pod.inside_within(20.0, probe.fetch, address=address, port=port, url=url)
    assert (found["status"], found["sha256"]) == (200, row.sha256[1000])


@pytest.mark.usefixtures("nothing_left")
def test_each_pod_has_an_address_limits_and_a_way_to_the_proxy(bench: Any) -> None:
    row, ledger, _ = bench
    pods = ClientPods(row)
    assert pods.probe() is None
    with standing(bench) as deployment, pods.standing(3) as stand:
        assert len(ledger.pending) == 3
        assert len({os.stat(one.pod.netns_path).st_ino for one in stand}) == 3
        for one in stand:
            (own,) = [
                entry for entry in one.pod.inside(interfaces.listing) if entry["name"] not in ("lo", "sit0")
            ]
            assert own["addresses"] == [f"{one.address}/{NETWORK.prefixlen}"]
            limits = one.pod.describe()
            assert limits["memory_limit_octets"] == Limits().memory_octets
            require_served(row, deployment, one)
        assert state_of(row.client)["forwards"] == "1"
    assert row.client.call(interfaces.delete, interface=BRIDGE) is False


@pytest.mark.usefixtures("nothing_left")
def test_what_breaks_while_they_are_made_leaves_nothing(bench: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    row, _, _ = bench
    monkeypatch.setattr(ClientPods, "_made", _second_breaks(ClientPods._made))
    with pytest.raises(RuntimeError, match="the second one"), ClientPods(row).standing(3):
        pass


def _second_breaks(real: Any) -> Any:
    def made(self: ClientPods, stack: Any, number: int, cpus: str) -> Any:
        if number == 2:
            raise RuntimeError("the second one")
        return real(self, stack, number, cpus)

    return made


KILLED = """
import os, signal, sys
from pathlib import Path
from bmwg.drivers.nodes import process
from bmwg.drivers.undo.ledger import Ledger
from bmwg.drivers.workload.client_pods import ClientPods
from bmwg.drivers.workload.row import open_row
folder, owner = Path(sys.argv[1]), f"killed-{os.getpid()}"
kept = Ledger(folder / "ledger.jsonl", index_dir=folder / "index")
kept.before("owner", owner=owner)
with process.owned(owner), open_row(folder, kept, owner, sizes_octets=[1000]) as row:
    with ClientPods(row).standing(2) as pods:
        print(row.place.token, *(one.pod.pid for one in pods), flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_a_killed_run_left_is_removed_by_its_ledger(tmp_path: Path) -> None:
    command = [sys.executable, "-c", KILLED, str(tmp_path)]
    done = subprocess.run(
        command, cwd=ROOT, env=environment(), capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    token, first, second = done.stdout.split()[0], *map(int, done.stdout.split()[1:])
    assert labelled(token) != []
    assert cleanup(tmp_path, index_dir=tmp_path / "index") == []
    assert eventually(lambda: labelled(token) == []), labelled(token)
    assert eventually(lambda: not process.start_ticks(first) and not process.start_ticks(second))
    assert [path for path in Path(tmp_path, "pods").rglob("*") if path.is_file()] == []


@pytest.mark.slow
@needs_sshd
def test_they_stand_on_a_host_of_clients_over_ssh_and_leave_it_bare(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with lab_hosts(tmp_path / "lab", monkeypatch) as lab:
        _on_hosts(lab, tmp_path)


def _on_hosts(lab: LabHosts, folder: Path) -> None:
    hosts_of_row = row_hosts(load_testbed(lab.testbed).data)
    ledger = Ledger(folder / "ledger.jsonl", index_dir=folder / "index")
    token = f"{os.getpid() % 0xFFFFFF:06x}"
    with (
        open_hosts(hosts_of_row) as hosts,
        open_lab_row(
            hosts_of_row, hosts, ledger, f"test-{os.getpid()}", sizes_octets=[1000], token=token
        ) as row,
    ):
        kept = Path(row.place.run_dir)
        place = hosting("native", node=row.proxy, place=row.place, ledger=ledger)
        options = {"proxies": 1, "cache": True, "stress_cpus": 0, "deadline_s": 30.0}
        with deployed(row, place, **options) as deployment, ClientPods(row).standing(2) as pods:
            for one in pods:
                require_served(row, deployment, one)
            assert list((kept / "pods").iterdir()) != []
    assert not kept.exists()
    assert ledger.pending == ()


def ran(bench: Any, spec: RequestsSpec, deployment: Any) -> RequestsResult:
    row, _, folder = bench
    with JMeterPods(row, folder) as clients:
        clients.attach(deployment.served)
        assert clients.probe() is None
        assert clients.unfit(spec) is None
        return measured(deployment, clients, spec)


@pytest.mark.usefixtures("nothing_left")
class TestWithJMeter:
    pytestmark = needs_jmeter

    def test_all_begin_together_and_add_up_and_proxies_share_them(self, bench: Any) -> None:
        spec = replace(SPEC, clients=4, proxies=2, asked_requests=800)
        with standing(bench, proxies=2) as deployment:
            before = [one["client_http.requests"] for one in deployment.counters()]
            found = ran(bench, spec, deployment)
            after = [one["client_http.requests"] for one in deployment.counters()]
        judged = REQUESTS.assessed(spec, found)
        own = found.own_clients
        assert own is not None
        assert [(one.number, one.requests, one.failed) for one in own.each] == [
            (number, 200, 0) for number in range(1, 5)
        ]
        assert (found.requests, found.body_octets) == (800, 800 * spec.object_octets)
        assert (found.warm_up_requests, found.faults) == (4, ())
        assert all(one.began_ns is not None and one.began_ns > -5_000_000 for one in own.each)
        assert own.stood_ns > 0
        assert own.memory_octets > 4 * (20 << 20)
        each = [last - first for first, last in zip(before, after, strict=True)]
        assert max(each) - min(each) <= 4  # looks of the test's own
        assert sum(each) >= 804
        if judged.validity is Validity.INCOMPLETE and "after all were let go" in judged.reason:
            pytest.skip(f"needs CPUs that are not taken away: {judged.reason}")
        assert judged.validity is Validity.VALID, judged.reason

    def test_a_client_that_is_killed_in_the_load_is_a_fault_with_its_number(self, bench: Any) -> None:
        row, _, _ = bench
        with standing(bench) as deployment:
            address, port = deployment.asked[0]
            looks = itertools.count(1)  # each is a request of its own

            def asked() -> bool:
                told = row.proxy.call(squid.counters, address=address, port=port)
                return told.get("client_http.requests", 0) - next(looks) > 100

            found = _amid(bench, deployment, asked, lambda: _kill(_java(row, 2)))
        assert found.faults[0].startswith("client 2: jmeter: exit status 137")
        assert found.own_clients is not None
        first, second = found.own_clients.each
        assert first.requests == SPEC.asked_requests // 2
        assert second.requests < first.requests
        assert REQUESTS.assessed(SPEC, found).validity is Validity.FAULT

    def test_a_pod_that_ends_before_all_stand_has_nothing_sent(self, bench: Any) -> None:
        row, _, _ = bench
        with standing(bench) as deployment:
            found = _amid(bench, deployment, lambda: bool(_java(row, 1)), lambda: _kill(_first(row, 1)))
        assert found.faults[0].startswith("client 1: jmeter: its pod has ended")
        assert found.requests == 0
        assert found.own_clients is not None
        assert [one.began_ns for one in found.own_clients.each] == [None, None]
        assert found.own_clients.stood_ns == 0

    def test_clients_that_have_not_stood_in_time_are_named(self, bench: Any) -> None:
        spec = replace(SPEC, within_s=0.1)
        with standing(bench) as deployment:
            found = ran(bench, spec, deployment)
        assert found.faults == ("clients 1, 2 of 2 did not stand within the time for all of it",)
        assert found.requests == 0


def _amid(bench: Any, deployment: Any, when: Any, act: Any) -> RequestsResult:
    """Run a repetition, and do something once something holds."""
    row, _, folder = bench
    told: list[RequestsResult | ToolkitError] = []
    with JMeterPods(row, folder) as clients:
        clients.attach(deployment.served)

        def run() -> None:
            try:
                told.append(clients.run(SPEC))
            except ToolkitError as error:
                told.append(error)

        running = threading.Thread(target=run)
        running.start()
        try:
            assert eventually(when, within_s=200.0)
            act()
        finally:
            running.join(400.0)
    (found,) = told
    assert isinstance(found, RequestsResult), found
    return found


def _java(row: Any, number: int) -> int:
    """The process of a client's Java, 0 before it has begun."""
    found = [pid for pid, words in processes(row, number) if words[0].endswith(b"java")]
    return found[0] if found else 0


def _first(row: Any, number: int) -> int:
    """The first process of a client's pod."""
    members = cgroups.members(f"/bmwg-client-{number}-{row.place.token}")
    return min(members)


def _kill(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)
