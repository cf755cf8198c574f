"""Pods of a cluster as hosting forms: their requests are counted, and every one must have crossed a proxy."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.unit.http import made

from bmwg.drivers.api.calls import Calls
from bmwg.drivers.api.instance import Grouping, Sample
from bmwg.drivers.places import forms
from bmwg.drivers.workload import row_addresses, squid
from bmwg.methodology.errors import DriverError
from bmwg.methodology.kinds.requests import judge, profile
from bmwg.methodology.kinds.requests.kind import REQUESTS
from bmwg.methodology.kinds.requests.records import CLUSTER_FORMS, Workload
from bmwg.methodology.records import OutcomeType, Validity
from bmwg.reports.kinds.requests.answers import answers_of
from bmwg.reports.render.page.report import write_report
from bmwg.reports.render.text import whole
from bmwg.reports.store import RunStore, read_run
from bmwg.resources.kinds.requests import measure
from bmwg.resources.kinds.requests.deployment import Deployment
from bmwg.resources.kinds.requests.needs import lacking
from bmwg.schemas.validation import problems

SPEC = made.spec(
    "kubernetes_service",
    experiment="many_proxies",
    workload=Workload.JMETER,
    proxies=4,
    clients=64,
    cache=True,
    asked_requests=128,
)
GOOD = made.result(SPEC, 5_000_000, warm_up_requests=64, shares=(60, 40, 52, 40))


def test_a_repetition_whose_requests_all_crossed_a_proxy_is_one() -> None:
    assert judge.problems(SPEC, GOOD) == ()
    assert REQUESTS.assessed(SPEC, GOOD).validity is Validity.VALID


@pytest.mark.parametrize(
    ("shares", "words"),
    [
        ((60, 40, 52, 39), "191 requests crossed the 4 proxies, 192 are the client's"),
        ((60, 40, 52, 41), "193 requests crossed the 4 proxies, 192 are the client's"),
        ((0, 0, 0, 0), "0 requests crossed the 4 proxies"),
        ((40, 30, 30, 28), "128 requests crossed"),  # those that warmed up went elsewhere
    ],
)
def test_a_request_that_crossed_no_proxy_makes_the_repetition_inconsistent(
    shares: tuple[int, ...], words: str
) -> None:
    bad = replace(GOOD, shares=shares)
    (found,) = judge.problems(SPEC, bad)
    assert words in found
    told = REQUESTS.assessed(SPEC, bad)
    assert told.validity is Validity.INCONSISTENT
    assert words in told.reason


def test_forms_whose_clients_ask_each_proxy_have_no_shares_in_the_journal() -> None:
    body = REQUESTS.body_of(replace(SPEC, number=1), replace(GOOD, shares=None), {})
    assert "shares" not in body.result
    assert problems({"spec": body.spec, "result": body.result}, "requests") == []


def test_shares_survive_the_journal() -> None:
    body = REQUESTS.body_of(replace(SPEC, number=1), GOOD, {})
    assert problems({"spec": body.spec, "result": body.result}, "requests") == []
    assert REQUESTS.result_of(body) == GOOD
    cell = profile.cell_of(SPEC)
    axes = {"axes": dict(cell.axes), "hosting": cell.hosting, "network": cell.network}
    axes |= {"function": cell.function}
    assert REQUESTS.cell(axes) == cell


def counted(*requests: int) -> list[dict[str, int]]:
    return [{"client_http.requests": one, "client_http.hits": 0} for one in requests]


def test_a_look_at_the_counters_is_in_no_share() -> None:
    assert measure._shares(counted(10, 20), counted(11, 21), counted(42, 72)) == (30, 50)
    assert measure._shares(counted(10, 20), counted(10, 20), counted(40, 70)) == (30, 50)


@pytest.mark.parametrize(
    "looks",
    [
        ([], counted(1, 1), counted(2, 2)),
        (counted(1, 1), [], counted(2, 2)),
        (counted(1, 1), counted(1, 1), []),
        (counted(1, 1), counted(1, 1), [{"client_http.hits": 1}] * 2),
    ],
)
def test_a_proxy_that_does_not_tell_is_named(looks: Any) -> None:
    with pytest.raises(DriverError, match="SQUID-01"):
        measure._shares(*looks)


class Instance:
    def __init__(self, number: int) -> None:
        self.name = f"p-{number}"
        self.endpoint = (f"198.18.22.{number + 2}", 3128)

    def describe(self) -> dict[str, Any]:
        return {"name": self.name}


class Group:
    def __init__(self, count: int) -> None:
        self.instances = [Instance(number) for number in range(count)]
        self.endpoint = ("198.18.23.9", 3128)
        self.said: str | None = None

    def sample(self) -> Sample:
        return Sample(at_ns=0, cpu_ns=7, memory_octets=9)

    def fault(self) -> str | None:
        return self.said

    def describe(self) -> dict[str, Any]:
        return {"kind": "ClusterIP"}


class Grouped:
    """A form that groups its instances; `stood` is the group while it stands."""

    form = "kubernetes_service"

    def __init__(self) -> None:
        self.stood: Group | None = None
        self.within_s = 0.0

    def prepare(self, program: object) -> None:
        pass

    def describe(self) -> dict[str, Any]:
        return {"form": self.form}

    @contextmanager
    def group(self, program: object, count: int, limits: object, *, within_s: float) -> Any:
        self.within_s = within_s
        self.stood = Group(count)
        try:
            yield self.stood
        finally:
            self.stood = None


class Node(Calls):
    def __init__(self) -> None:
        self.asked: list[tuple[str, int]] = []

    def call_named(
        self, function: str, arguments: Mapping[str, Any], *, deadline_s: float | None = None
    ) -> Any:
        if function.endswith(":wait_serving"):
            self.asked.append((arguments["address"], arguments["port"]))
        return None


def grouped(proxies: int) -> tuple[Deployment, Grouped, Node]:
    node, hosting = Node(), Grouped()
    row = SimpleNamespace(
        client=node,
        server=node,
        proxy=node,
        url=lambda octets: "http://o/",
        origin_endpoint=("198.18.2.2", 8080),
        addresses=row_addresses.of(""),
        sha256={1000: "x"},
        links=(),
        fault=lambda: None,
    )
    made: Any = Deployment(row, hosting, proxies=proxies, cache=True, deadline_s=20.0)  # type: ignore[arg-type]
    return made, hosting, node


def test_clients_ask_the_address_before_the_instances_once_each_of_them_serves() -> None:
    deployment, hosting, node = grouped(3)
    assert isinstance(hosting, Grouping)
    with ExitStack() as stack:
        deployment.start(stack)
        assert deployment.asked == [("198.18.23.9", 3128)]
        assert node.asked == [*deployment.endpoints, *deployment.asked]
        assert len(deployment.endpoints) == 3
        assert [one.address for one in measure.served(deployment)] == ["198.18.23.9"]
        assert deployment.usage() == (7, 9)
        told = deployment.describe()
        assert told["group"] == {"kind": "ClusterIP"}
        named = {name: told[name] for name in ("function", "cache", "stress_cpus")}
        assert named == {"function": {"name": "squid"}, "cache": True, "stress_cpus": 0}
        assert deployment.fault() is None
        assert hosting.stood is not None
        hosting.stood.said = "p-1: the pod is gone"
        assert deployment.fault() == "p-1: the pod is gone"
    assert hosting.stood is None


def test_many_instances_have_the_time_of_as_many() -> None:
    for proxies, within_s in ((1, 80.0), (32, 640.0)):
        deployment, hosting, _ = grouped(proxies)
        with ExitStack() as stack:
            deployment.start(stack)
        assert hosting.within_s == within_s


@pytest.mark.parametrize("form", CLUSTER_FORMS)
def test_the_forms_are_made_by_name_and_touch_nothing(form: str) -> None:
    made = forms.hosting(form, node=None, place=None, ledger=None)  # type: ignore[arg-type]
    assert made.form == form
    assert isinstance(made, Grouping) == (form == "kubernetes_service")


@pytest.mark.parametrize("form", CLUSTER_FORMS)
def test_on_the_hosts_of_a_row_they_are_not_assessed_by_name(form: str) -> None:
    stage: Any = SimpleNamespace(row=lambda: SimpleNamespace(hosts={"proxy": object()}))
    found = lacking(stage, [made.spec(form)])
    assert found is not None
    assert "hosts of a row" in found.reason


def test_without_the_clusters_programs_a_form_says_what_builds_them() -> None:
    said = {"what": "Kubernetes", "reason": "no program", "mend": "sh setup/install.sh kubernetes"}
    node: Any = SimpleNamespace(
        call=lambda function, **_: said if "programs" in function.__module__ else "0-1"
    )
    pytest.importorskip("kubernetes", reason="needs the client: pip install 'bmwg-toolkit[kubernetes]'")
    place: Any = SimpleNamespace()
    ledger: Any = SimpleNamespace()
    found = forms.hosting("kubernetes_service", node=node, place=place, ledger=ledger).probe()
    assert found is not None
    assert found.mend == "sh setup/install.sh kubernetes"


def test_each_has_a_test_of_its_own_and_its_axis_is_the_number_of_proxies() -> None:
    assert profile.test_id("many_proxies", "kubernetes_service") == "HP-MANY-7"
    assert profile.test_id("start", "kubernetes") == "HP-START-6"
    plan = [one for one in profile.load("service").plan() if one.spec.form == "kubernetes_service"]
    assert [one.spec.proxies for one in plan] == [1, 2, 4, 8, 16, 32]
    documents = [one for one in profile.load("paper").plan() if one.spec.experiment == "many_proxies"]
    by_form = {
        form: [one.spec.proxies for one in documents if one.spec.form == form]
        for form in ("docker_routed", "kubernetes_service")
    }
    assert by_form["docker_routed"] == by_form["kubernetes_service"] == [1, 2, 4, 8, 16, 32]


def hosted(form: str, proxies: int) -> dict[str, Any]:
    """What a deployment on a cluster looks like in the record."""
    instance = {
        "limits": {"cpu_quota_us": 200000, "cpu_period_us": 100000, "memory_limit_octets": 4 << 30},
        "pod": {
            "image_digest": "sha256:" + "ab" * 32,
            "resources": {"requests": {"cpu": "20m", "memory": "32Mi"}},
        },
    }
    return {
        "hosting": {"form": form, "cluster": {"version": "v1.34.4"}},
        "instances": [instance] * proxies,
        "group": {"by": "kube-proxy, nftables", "picks": "a pod at random"},
        "start_ns": [5_000_000_000],
    }


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run with an answer for 2 proxies, and with one for 4 where a repetition's requests went elsewhere."""
    two = made.shortened(profile.load("service"), repetitions=2, least_repetitions=2)
    plan = [one for one in two.plan() if one.spec.form == "kubernetes_service" and one.spec.proxies in (2, 4)]
    store = RunStore.create(tmp_path, "r1", made.header(two, plan))
    for planned, shares in zip(plan, (((160, 160), (160, 160)), ((80,) * 4, (0,) * 4)), strict=True):
        of = planned.spec
        deployment = f"{of.form}-{of.proxies}"
        store.add_deployment(deployment, hosted(of.form, of.proxies))
        results = [
            made.result(of, 5_000_000 + 1000 * number, warm_up_requests=64, shares=one)
            for number, one in enumerate(shares)
        ]
        made.answer(store, planned, results, deployment)
    store.close(None, "complete")
    return store.folder


def test_the_page_tells_cluster_limits_and_what_each_proxy_counted(run: Path) -> None:
    good, bad = (one.outcome for one in answers_of(read_run(run)))
    assert good.type is OutcomeType.MEASURED
    assert bad.type is OutcomeType.INVALID
    assert "0 requests crossed the 4 proxies, 320 are the client's" in bad.reason
    page = write_report(run).with_name("report.rst").read_text(encoding="utf-8").replace("\\", "")
    section = page[page.index("Pods of Kubernetes\n") :]
    assert "v1.34.4" in section
    assert "kube-proxy, nftables: a pod at random" in section
    assert "2 CPUs, 4096 MiB" in section
    assert "cpu 20m, memory 32Mi" in section
    shares = section[section.index("Requests by proxy") :]
    assert "100 kB, 2 proxies" in shares
    assert "320 / 320" in shares
    assert shares.count(f"- {whole(640)}") == 3  # of those that went elsewhere the client alone tells
    drawn = (run / "plots" / "http-many-proxies.svg").read_text(encoding="utf-8")
    assert "k8s Service" in drawn


def test_a_counter_that_nobody_told_is_not_taken_for_nothing() -> None:
    assert squid.gained("client_http.hits", [], []) is None
    assert squid.gained("client_http.hits", counted(1), counted(1, 2)) is None
    assert squid.gained("client_http.requests", counted(1, 2), counted(4, 2)) == [3, 0]
