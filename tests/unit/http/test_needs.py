"""What is asked of the proxies' machine: nothing for a machine whose image has its own programs."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from tests.unit.http import made

from bmwg.drivers.api.calls import Calls
from bmwg.drivers.api.instance import Place, VmDriver
from bmwg.drivers.api.protocols import Missing
from bmwg.drivers.places.machine import VmHosting
from bmwg.methodology.kinds.requests.origin_failure import OriginFails
from bmwg.methodology.kinds.requests.records import RequestsSpec, Workload
from bmwg.resources.kinds.requests.needs import lacking


class Bare(Calls):
    """A node on which nothing is installed."""

    name = "proxy"

    def call_named(self, function, arguments, *, deadline_s=None):
        assert function.endswith(":available")
        return [[name, package] for name, package in arguments["programs"].items()]


def stage(driver: str, monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    node = Bare()
    place = Place(
        client_address="198.18.1.1",
        client_interface="nic0",
        server_address="198.18.2.1",
        server_interface="nic1",
        token="t",
        owner="",
        run_dir="/tmp",
        vms=VmDriver(driver=driver),
    )
    form = VmHosting(form="vm_para", node=node, place=place, ledger=SimpleNamespace())
    monkeypatch.setattr(form, "probe", lambda: None)
    row = SimpleNamespace(hosts=False, proxy=node, place=place)
    return SimpleNamespace(row=lambda: row, probed=lambda: form, clients=lambda name: None)


def asked() -> list[RequestsSpec]:
    return [made.spec("vm_para", workload=Workload.START)]


def test_a_server_of_a_cloud_needs_no_squid_of_its_host(monkeypatch) -> None:
    assert lacking(stage("openstack", monkeypatch), asked()) is None


def test_a_guest_with_the_hosts_own_root_needs_it(monkeypatch) -> None:
    found = lacking(stage("qemu", monkeypatch), asked())
    assert found.what == "squid"
    assert "apt-get install" in found.mend


def test_what_one_spec_lacks_is_asked_of_the_workload_before_anything_stands(monkeypatch) -> None:
    asked_of = []
    room = Missing(what="memory for 64 JMeters", reason="too little", mend="fewer clients")

    def unfit(spec: RequestsSpec) -> Missing | None:
        asked_of.append(spec.clients)
        return room if spec.clients > 8 else None

    clients = SimpleNamespace(probe=lambda: None, unfit=unfit)
    here = stage("openstack", monkeypatch)
    here.clients = lambda name: clients
    few, many = (made.spec("vm_para", workload=Workload.JMETER_PODS, clients=count) for count in (8, 64))
    assert lacking(here, [few]) is None
    assert lacking(here, [few, many]) is room
    assert asked_of == [8, 8, 64]


@pytest.mark.parametrize(
    ("function", "cache", "why"),
    [
        ("haproxy", True, "without one"),
        ("apache", True, "without one"),
        ("haproxy", False, ""),
        ("nginx", True, ""),
        ("firewall-10", True, "answers none"),
        ("firewall-10", False, "answers none"),
    ],
)
def test_only_a_function_with_a_cache_answers_for_an_origin_that_fails(
    monkeypatch, function: str, cache: bool, why: str
) -> None:
    fails = OriginFails(
        fails="error", rate_rps=6, fail_s=2.0, return_s=1.0, answer_s=0.5, objects=2, cache=cache
    )
    one = made.spec("vm_para", workload=Workload.START, function=function, cache=cache, origin=fails)
    found = lacking(stage("openstack", monkeypatch), [one])
    assert (found is None) == (not why)
    if found is not None:
        assert function in found.what
        assert why in found.reason


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ({"stress_cpus": 12}, "1 of function firewall-10 with 12 workers of stress"),
        ({"proxies": 2}, "2 of function firewall-10 with 0 workers of stress"),
        ({}, "a way through hosting form vm_para"),  # the next thing that is asked
    ],
)
def test_what_requests_cross_is_one_on_a_machine_without_stress(
    monkeypatch, changes: dict[str, int], found: str
) -> None:
    """Its cell would say several, or a load, that never were."""
    one = made.spec("vm_para", workload=Workload.TRANSACTIONS, function="firewall-10", **changes)
    lack = lacking(stage("openstack", monkeypatch), [one])
    assert lack is not None
    assert lack.what == found


@pytest.mark.parametrize("changes", [{"stress_cpus": 12}, {"proxies": 2}])
def test_a_start_is_that_of_one_instance_without_stress(monkeypatch, changes: dict[str, int]) -> None:
    lack = lacking(
        stage("openstack", monkeypatch), [made.spec("vm_para", workload=Workload.START, **changes)]
    )
    assert lack is not None
    assert "of the start with" in lack.what
