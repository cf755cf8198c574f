"""Proxies in pods by each CNI option of the embedded testbed: they serve, fail by name, and vanish."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.contract.http_support import (
    carry_forty_objects,
    kill_squid,
    needs_docker,
    needs_http,
    needs_pods,
    row_with_ledger,
    soon,
)
from tests.unit.http import made

from bmwg.drivers.api.instance import Hosting, Limits
from bmwg.drivers.network import datapath
from bmwg.drivers.nodes import cgroups, inside, process
from bmwg.drivers.places.forms import hosting
from bmwg.drivers.ports import routing
from bmwg.drivers.testbed.file import NetworkSpec, embedded_file, load_testbed
from bmwg.drivers.undo.ledger import Ledger
from bmwg.drivers.workload import probe, squid
from bmwg.drivers.workload.row import Row
from bmwg.methodology.errors import ConfigError, DriverError, TestbedError
from bmwg.methodology.kinds.requests import profile as profiles
from bmwg.methodology.records import ENGINES, OutcomeType
from bmwg.reports.render.page.report import write_report
from bmwg.reports.store import read_run
from bmwg.resources.kinds.requests.deployment import start_serving
from bmwg.resources.run.settings import Settings

pytestmark = [*needs_http, needs_pods]
OPTIONS = ("bridge", "ptp", "macvlan", "ipvlan", "host-device")
VLAN = "vlan"
BROKEN = NetworkSpec(  # its first plugin works, its second refuses
    name="broken",
    driver="cni",
    plugin_dir="/usr/lib/cni",
    uplink="routed",
    conflist={
        "cniVersion": "1.0.0",
        "name": "broken-${side}",
        "plugins": [
            {"type": "ptp", "ipam": {"type": "static", "addresses": "${addresses}"}},
            {"type": "tuning", "sysctl": {"net.ipv4.conf.IFNAME.no_such_setting": "1"}},
        ],
    },
)
OWN_ADDRESSES = NetworkSpec(
    name="own-addresses",
    driver="cni",
    plugin_dir="/usr/lib/cni",
    uplink="routed",
    conflist={
        "cniVersion": "1.0.0",
        "name": "own-${side}",
        "plugins": [{"type": "ptp", "ipam": {"type": "host-local", "subnet": "198.18.240.0/24"}}],
    },
)
UNTOLD = NetworkSpec(name="untold", driver="cni", plugin_dir="/usr/lib/cni", conflist=BROKEN.conflist)


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Row, Ledger]]:
    networks = (*load_testbed().networks, BROKEN, OWN_ADDRESSES, UNTOLD)
    with row_with_ledger(tmp_path_factory.mktemp("pods"), networks) as found:
        yield found


@pytest.fixture
def nothing_left(bench: tuple[Row, Ledger]) -> Iterator[None]:
    """The node is after the test as it was before it, and nothing of a pod is on the machine."""
    row, ledger = bench
    before = state_of(row)
    yield
    assert state_of(row) == before
    assert not ledger.pending
    for folder in ("pods", "cni"):
        assert [path for path in Path(row.place.run_dir, folder).rglob("*") if path.is_file()] == []


def state_of(row: Row) -> dict[str, Any]:
    """What a pod could leave behind: interfaces, addresses, routes and rules of the node, and cgroups."""
    seen = row.proxy.call(datapath.observe)
    pods = [
        folder.name
        for root in cgroups.folders("/")
        for folder in root.iterdir()
        if folder.is_dir() and row.place.token in folder.name
    ]
    return {**seen, "cgroups": pods}


def assessable(place: Hosting, option: str) -> None:
    lack = place.probe()
    if lack is not None:
        assert option in ("ipvlan", VLAN), lack  # the others need nothing that a kernel may lack
        pytest.skip(f"{option}: {lack.what}: {lack.reason}")


@pytest.mark.usefixtures("nothing_left")
@pytest.mark.parametrize("option", OPTIONS)
def test_a_proxy_in_a_pod_serves_by_its_option_and_tells_that_it_was_killed(
    bench: tuple[Row, Ledger], option: str
) -> None:
    row, ledger = bench
    with hosting(f"pod_{option}", node=row.proxy, place=row.place, ledger=ledger) as place:
        assessable(place, option)
        instance, took_ns = start_serving(row, place, squid.program(cache=True), 0, 30.0)
        try:
            assert 0 < took_ns < 30e9
            assert len(ledger.pending) == 4  # sandbox, two attachments, container
            carry_forty_objects(row, instance)
            address, port = instance.endpoint
            evidence(instance.describe(), place.describe(), option)
            carried(row, instance.describe(), option)
            assert instance.fault() is None
            kill_squid(row)
            assert "container: its first process has ended" in soon(instance.fault)
            gone = row.client.call(probe.fetch, address=address, port=port, url=row.url(1000), within_s=2.0)
            assert gone["status"] == 0
        finally:
            instance.stop()
            instance.stop()  # idempotent


def evidence(instance: Any, place: Any, option: str) -> None:
    """The record names the option, its plugins and configuration, and the limits that the kernel holds."""
    assert place["form"] == f"pod_{option}"
    assert place["cni"]["network"] == option
    assert len(place["cni"]["conflist_sha256"]) == 64
    assert all(len(plugin["sha256"]) == 64 for plugin in place["cni"]["plugins"])
    limits = instance["limits"]
    assert limits["status"] == "running"
    assert limits["memory_limit_octets"] == Limits().memory_octets
    cpus = min(Limits().cpus, os.cpu_count() or 1)
    if limits["cgroup_version"] == 1:
        assert limits["cpu_quota_us"] == cpus * limits["cpu_period_us"]
    else:
        assert limits["cpu_quota_and_period_us"] == f"{cpus * 100_000} 100000"
    assert [one["interface"]["name"] for one in instance["attachments"]] == ["net0", "net1"]
    assert [one["conflist"]["name"] for one in instance["attachments"]] == ["bmwg-0", "bmwg-1"]


def carried(row: Row, instance: Any, option: str) -> None:
    """The requests went by the option's interfaces: bodies came in by net1 and left by net0."""
    pid = instance["limits"]["pid"]
    counted = [
        row.proxy.call(
            inside.run,
            pid=pid,
            function="bmwg.drivers.ports.interfaces:counters",
            arguments={"interface": interface},
        )
        for interface in ("net0", "net1")
    ]
    assert counted[0]["tx_bytes"] > 40 * 200_000
    assert counted[1]["rx_bytes"] > 200_000  # once: the cache is on
    kinds = {"bridge": "veth", "ptp": "veth", "host-device": "veth"}
    assert {one["interface"]["kind"] for one in instance["attachments"]} == {kinds.get(option, option)}
    nics = {row.place.client_interface, row.place.server_interface}
    here = {one["name"]: one for one in row.proxy.call(datapath.observe)["interfaces"]}
    assert nics.isdisjoint(here) == (option == "host-device")
    if option == "bridge":
        assert {here[nic]["master"] for nic in nics} == {"bmwg-br0", "bmwg-br1"}


@pytest.mark.usefixtures("nothing_left")
def test_two_pods_of_an_option_stand_together_and_one_number_is_taken_once(bench: tuple[Row, Ledger]) -> None:
    row, ledger = bench
    program = squid.program(cache=False)
    with hosting("pod_bridge", node=row.proxy, place=row.place, ledger=ledger) as place:
        first, _ = start_serving(row, place, program, 0, 30.0)
        second, _ = start_serving(row, place, program, 1, 30.0)
        try:
            assert first.endpoint != second.endpoint
            with pytest.raises(DriverError) as caught:
                start_serving(row, place, program, 0, 3.0)
            assert caught.value.error_id == "INST-03"
            first.stop()
            assert second.fault() is None
            address, port = second.endpoint
            asked = {"address": address, "port": port, "url": row.url(1000), "within_s": 5.0}
            assert row.client.call(probe.fetch, **asked)["status"] == 200
            again, _ = start_serving(row, place, program, 0, 30.0)
            again.stop()
            assert again.endpoint == first.endpoint  # and served, by another MAC
            for node in (row.client, row.server):
                assert node.call(routing.forget_neighbours) > 0
                assert node.call(routing.forget_neighbours) == 0
        finally:
            first.stop()
            second.stop()


@pytest.mark.usefixtures("nothing_left")
def test_a_sandbox_that_is_killed_is_told_and_the_nic_comes_back_all_the_same(
    bench: tuple[Row, Ledger],
) -> None:
    row, ledger = bench
    with hosting("pod_host-device", node=row.proxy, place=row.place, ledger=ledger) as place:
        instance, _ = start_serving(row, place, squid.program(cache=False), 0, 30.0)
        try:
            pid = instance.describe()["sandbox"]["pid"]
            assert process.start_ticks(pid)
            os.kill(pid, signal.SIGKILL)
            assert "sandbox: its first process has ended" in soon(instance.fault)
        finally:
            instance.stop()


@pytest.mark.usefixtures("nothing_left")
def test_a_plugin_that_fails_in_mid_deployment_leaves_nothing(bench: tuple[Row, Ledger]) -> None:
    row, ledger = bench
    with hosting("pod_broken", node=row.proxy, place=row.place, ledger=ledger) as place:
        lack = place.probe()
        assert lack is not None
        assert "no_such_setting" in lack.reason
        with pytest.raises(TestbedError) as caught:
            place.start(squid.program(cache=False), 0, Limits())
        assert caught.value.error_id == "CNI-10"


@pytest.mark.usefixtures("nothing_left")
def test_a_plugin_that_hands_out_addresses_of_its_own_is_told_before_anything_is_measured(
    bench: tuple[Row, Ledger],
) -> None:
    row, ledger = bench
    with hosting("pod_own-addresses", node=row.proxy, place=row.place, ledger=ledger) as place:
        assert place.probe() is None
        with pytest.raises(TestbedError) as caught:
            place.start(squid.program(cache=False), 0, Limits())
        assert caught.value.error_id == "INST-04"
        assert "198.18.240." in caught.value.found


def test_what_an_option_lacks_for_a_proxy_is_told_by_name(bench: tuple[Row, Ledger]) -> None:
    row, ledger = bench

    def lack(form: str) -> str:
        found = hosting(form, node=row.proxy, place=row.place, ledger=ledger).probe()
        assert found is not None
        return f"{found.what}: {found.reason}: {found.mend}"

    assert "no option of this name" in lack("pod_none-such")
    with pytest.raises(ConfigError) as caught:
        hosting("pod_brigde", node=row.proxy, place=row.place, ledger=ledger).start(
            squid.program(cache=False), 0, Limits()
        )
    assert (caught.value.error_id, caught.value.hint) == ("INST-01", "did you mean 'bridge'?")
    assert "its uplink is none" in lack("pod_untold")
    told = lack("pod_vlan")
    assert "kind vlan in the kernel" in told or "tag 100" in told


DAEMONS = ("docker", "podman")


@pytest.mark.usefixtures("nothing_left")
@pytest.mark.parametrize("runtime", ENGINES)
@pytest.mark.parametrize("option", ["bridge", "ptp"])
def test_a_proxy_in_a_pod_by_an_engine_has_the_same_interfaces_and_limits(
    bench: tuple[Row, Ledger], runtime: str, option: str
) -> None:
    row, ledger = bench
    by_engine = hosting(
        f"pod_{option}", node=row.proxy, place=replace(row.place, runtime=runtime), ledger=ledger
    )
    if lack := by_engine.probe():
        pytest.skip(f"{lack.what}: {lack.reason}; {lack.mend}")
    with by_engine as place:
        assert len(ledger.pending) == (runtime in DAEMONS)  # the daemon, which no pod waits for
        first, took_ns = start_serving(row, place, squid.program(cache=True), 0, 30.0)
        second, _ = start_serving(row, place, squid.program(cache=False), 1, 30.0)
        try:
            assert 0 < took_ns < 30e9
            assert first.endpoint != second.endpoint
            second.stop()
            carry_forty_objects(row, first)
            told = first.describe()
            evidence(told, place.describe(), option)
            carried(row, told, option)
            assert told["limits"]["system_call_filter"] == "filter (seccomp)"
            assert told["sandbox"]["pid"] != told["limits"]["pid"]
            assert place.describe()["pod_runtime"]["runtime"] == runtime
            assert first.fault() is None
            kill_squid(row)
            assert "container: its first process has ended" in soon(first.fault)
        finally:
            first.stop()
            second.stop()
            first.stop()  # idempotent


@needs_docker
def test_a_run_of_starts_by_docker_says_so_in_header_record_and_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = embedded_file().read_text(encoding="utf-8")
    file = tmp_path / "bed.yaml"
    told = written.replace('pods: {cpus: "1",', 'pods: {cpus: "1", runtime: docker,')
    file.write_text(told, encoding="utf-8")
    data: dict[str, Any] = json.loads(json.dumps(profiles.load("quick").data))
    data["experiments"] = [one for one in data["experiments"] if one["id"] == "start"]
    data |= {"repetitions": 2, "slow_repetitions": 2, "least_repetitions": 2}
    monkeypatch.setattr(profiles, "load", lambda name, forms: profiles.PROFILES.of(data))
    bench = made.opened(Settings(testbed=file, results=tmp_path, run_id="r"), {"HP-POD-1"})
    try:
        answers = bench.outcomes("HP-POD-1")
    finally:
        bench.run.close()
    (answer,) = answers
    assert answer.type is OutcomeType.MEASURED, answer
    run = read_run(tmp_path / "r")
    assert run.testbed["pods"] == {"runtime": "docker"}
    (evidence,) = run.deployments.values()
    assert evidence["hosting"]["pod_runtime"]["runtime"] == "docker"
    assert evidence["hosting"]["pod_runtime"]["versions"]["docker"]
    page = write_report(tmp_path / "r").with_name("report.rst").read_text(encoding="utf-8")
    assert "pod by docker, bridge" in page.replace("\\", "")
