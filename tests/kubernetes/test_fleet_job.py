"""`bmwg fleet manifest` on a real cluster: the same cells and judgements as one run and as four processes.

Pods are killed amid their shards: nothing is lost, nothing counts twice, and no two pods have one shard.
"""

from __future__ import annotations

import json
import os
import random
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.kubernetes import toolkit_image
from tests.unit.fleet import made

from bmwg.drivers.kubernetes import node as kubernetes_node
from bmwg.drivers.kubernetes.settings import API_PORT
from bmwg.reports.fleet.kept import Verified, verified
from bmwg.reports.fleet.plan import read_fleet
from bmwg.reports.fleet.union import grades_of, union_of, verdicts_of, verify_union

pytestmark = [pytest.mark.root, pytest.mark.slow]

KILLS = int(os.environ.get("FLEET_KILLS", "3"))
BEDS = ("first", "second", "third", "fourth")
DEADLINE_S = 900.0
TRIES = 3  # of a shard, by default
JOBS, PODS = "/apis/batch/v1/namespaces/default/jobs", "/api/v1/namespaces/default/pods"
SLICES = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices"
_RIGHTS = "/apis/rbac.authorization.k8s.io/v1/namespaces/default"
KINDS = {
    "ConfigMap": "/api/v1/namespaces/default/configmaps",
    "ServiceAccount": "/api/v1/namespaces/default/serviceaccounts",
    "Role": f"{_RIGHTS}/roles",
    "RoleBinding": f"{_RIGHTS}/rolebindings",
    "Job": JOBS,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """A fleet of four shards, and the files of its testbeds."""

    at: Path
    plan: Path
    beds: tuple[Path, ...]

    @property
    def bed_words(self) -> list[object]:
        return [word for bed in self.beds for word in ("--testbed", bed)]


@pytest.fixture(scope="module")
def planned(run_dir: Path) -> Planned:
    """Below the run's folder, which the cluster's node sees as well."""
    at = run_dir / "fleet"
    at.mkdir()
    beds = tuple(made.testbed(at, name, takes_time=True) for name in BEDS)  # so that a kill meets a run
    chosen = [word for test in made.TESTS for word in ("--test", test)]
    plan = at / "fleet.json"
    words = ("--shards", 4, "--path", "node", "--path", "pvp", "--frame-size", 64)
    made.bmwg("fleet", "plan", "--testbed", beds[0], *words, *chosen, "--output", plan, at=at)
    return Planned(at=at, plan=plan, beds=beds)


@pytest.fixture(scope="module")
def cluster(runtime: Any, node: Any, run_dir: Path) -> Any:
    """The cluster, which has the toolkit's image."""
    archive = run_dir / "toolkit.tar"
    toolkit_image.build(archive, run_dir / "toolkit")
    folder = runtime.layout("dut1").folder
    node.call_within(300.0, kubernetes_node.import_image, folder=folder, archive=str(archive), within_s=240.0)
    runtime.api.apply(f"{SLICES}/kubernetes", way_to_the_api(runtime.layout("dut1").api_address))
    return runtime


def way_to_the_api(address: str) -> dict[str, Any]:
    """Where pods reach the API by its Service, which an API server of several nodes tells by itself."""
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {"name": "kubernetes", "labels": {"kubernetes.io/service-name": "kubernetes"}},
        "addressType": "IPv4",
        "ports": [{"name": "https", "port": API_PORT, "protocol": "TCP"}],
        "endpoints": [{"addresses": [address], "conditions": {"ready": True}}],
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A fleet as a Job: its name, and where its runs lie."""

    api: Any
    name: str
    results: Path

    def state(self) -> Mapping[str, Any]:
        found: Mapping[str, Any] = self.api.get(f"{JOBS}/{self.name}").get("status") or {}
        return found

    def ended(self) -> str:
        """How it ended; empty while it goes on."""
        kinds = [one["type"] for one in self.state().get("conditions") or () if one["status"] == "True"]
        return next((one for one in kinds if one in ("Complete", "Failed")), "")

    def pods(self) -> list[dict[str, Any]]:
        return list(self.api.get(PODS, labelSelector=f"job-name={self.name}")["items"])

    def said(self) -> str:
        """What its pods said last, for whoever reads a failed test."""
        told = {}
        for pod in self.pods():
            name = pod["metadata"]["name"]
            told[name] = [pod["status"].get("phase"), pod["status"].get("containerStatuses")]
            told[name].append(self.api.text(f"{PODS}/{name}/log", tailLines="20"))
        return json.dumps([self.state(), told], indent=1)


@pytest.fixture
def begun(cluster: Any, planned: Planned, request: pytest.FixtureRequest) -> Iterator[Job]:
    """The Job as the command prints it with these further words, begun; gone with its pods afterwards."""
    words = getattr(request, "param", ())
    results = planned.at / "-".join(("results", *words))
    given = ("--image", toolkit_image.NAME, "--node", "dut1", "--results", results, *words)
    told = made.bmwg("fleet", "manifest", planned.plan, *given, *planned.bed_words, at=planned.at)
    for one in yaml.safe_load_all(told):
        name = one["metadata"]["name"]
        cluster.api.apply(f"{KINDS[one['kind']]}/{name}", one)
    begun = Job(api=cluster.api, name=name, results=results)
    try:
        yield begun
    finally:
        cluster.api.delete(f"{JOBS}/{name}")
        wait_for(lambda: not begun.pods(), begun)


def wait_for(what: Callable[[], object], job: Job) -> None:
    ends_s = time.monotonic() + DEADLINE_S
    while not what():
        assert time.monotonic() < ends_s, job.said()
        time.sleep(0.2)


Judged = tuple[dict[tuple[str, str], Any], dict[Any, str], dict[str, int]]


def judged(runs: Mapping[Path, Verified], tests: Mapping[Path, tuple[str, ...]]) -> Judged:
    """Answers by metric and cell, grades, and counts of verdicts, of what verifies."""
    assert [one.findings for one in runs.values()] == [()] * len(runs)
    answers = {
        (told["metric"], told["cell"]["cell_id"]): (told["type"], told["values"])
        for run in runs
        for told in made.header(run)["outcomes"]
        if told["id"].partition(":")[0] in tests[run]
    }
    by_number = dict(enumerate(runs.values()))
    return answers, dict(grades_of(by_number, whole=True)), dict(verdicts_of(by_number))


def fleet_judged(plan: Path, results: Path) -> Judged:
    union = union_of(results, read_fleet(plan))
    assert union.problems == ()
    made_of = verify_union(union)
    places = {number: one.place for number, one in union.counting.items()}
    return judged(
        {places[number]: one for number, one in made_of.items()},
        {places[number]: union.fleet.shard(number).tests for number in made_of},
    )


def one_run_judged(planned: Planned) -> Judged:
    chosen = [word for test in made.TESTS for word in ("--test", test)]
    results = planned.at / "one"
    made.bmwg(
        *("run", *chosen, "--path", "node", "--path", "pvp", "--frame-size", 64),
        *("--testbed", planned.beds[0], "--results", results),
        at=planned.at,
        status=None,
        BMWG_ORDER_SEED=str(read_fleet(planned.plan).order_seed),
    )
    (run,) = [results / one["run_id"] for one in made.runs(results)]
    assert made.header(run)["status"] == "complete"
    return judged({run: verified(run, made.TESTS)}, {run: made.TESTS})


@pytest.mark.parametrize("begun", [("--lease",)], indirect=True)
def test_a_job_four_processes_and_one_run_say_the_same(planned: Planned, begun: Job) -> None:
    wait_for(begun.ended, begun)
    assert begun.ended() == "Complete", begun.said()
    made.require_once(planned.plan, begun.results)
    by_pods = fleet_judged(planned.plan, begun.results)
    words = ("fleet", "run", planned.plan, *planned.bed_words, "--results", planned.at / "processes")
    made.bmwg(*words, at=planned.at)
    assert by_pods == fleet_judged(planned.plan, planned.at / "processes")
    assert by_pods == one_run_judged(planned)
    numbers = sorted((one["testbed"]["name"], one["fleet"]["lease"]) for one in made.runs(begun.results))
    assert len(set(numbers)) == len(numbers)  # two pods that had one testbed have two numbers of it
    assert len(by_pods[0]) == read_fleet(planned.plan).cells
    for act in ("verify", "report"):
        made.bmwg("fleet", act, planned.plan, begun.results, at=planned.at)


def test_pods_that_are_killed_amid_their_shards_lose_nothing(
    planned: Planned, begun: Job, cluster: Any, node: Any
) -> None:
    luck, killed = random.Random(7), Counter[str]()
    cgroup = cluster.layout("dut1").cgroup
    most_at_once = 0
    ends_s = time.monotonic() + DEADLINE_S
    while killed.total() < KILLS and not begun.ended():
        assert time.monotonic() < ends_s, begun.said()
        time.sleep(luck.uniform(0.1, 1.0))
        running = [index_of(one) for one in begun.pods() if one["status"]["phase"] == "Running"]
        most_at_once = max(most_at_once, *Counter(running).values(), 0)
        able = [one for one in amid(begun) if killed[index_of(one)] < TRIES - 1]
        if not able:
            continue
        pod = luck.choice(able)
        container = pod["status"]["containerStatuses"][0]["containerID"].rpartition("/")[2]
        found = node.call(
            kubernetes_node.container_pid, cgroup=cgroup, pod_uid=pod["metadata"]["uid"], container=container
        )
        if found is not None:
            node.call(kubernetes_node.kill, pid=found["pid"], start_ticks=found["start_ticks"])
            killed[index_of(pod)] += 1
    assert killed
    wait_for(begun.ended, begun)
    assert begun.ended() == "Complete", begun.said()
    made.require_once(planned.plan, begun.results)
    assert most_at_once == 1
    cut_off = [
        one for one in made.runs(begun.results) if one.get("interruptions") or one["status"] != "complete"
    ]
    assert cut_off  # each was taken up again as the same run, or another attempt took its place


def index_of(pod: Mapping[str, Any]) -> str:
    return str(pod["metadata"]["annotations"]["batch.kubernetes.io/job-completion-index"])


def amid(job: Job) -> list[dict[str, Any]]:
    """Pods whose run has trials and is not complete."""
    at_work = {
        one["fleet"]["shard"] - 1
        for one in made.runs(job.results)
        if one["status"] == "running" and (job.results / one["run_id"] / "trials.jsonl").stat().st_size
    }
    return [
        one for one in job.pods() if one["status"]["phase"] == "Running" and int(index_of(one)) in at_work
    ]
