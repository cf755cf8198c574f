"""`bmwg fleet manifest`: an Indexed Job for the same plan; a shard takes the first free testbed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.unit.fleet import made

from bmwg.drivers.undo.locks import held
from bmwg.reports.fleet.plan import read_fleet
from bmwg.resources.fleet.state import FleetState

GIVEN = ("--image", "registry.example/bmwg@sha256:00", "--node", "runner", "--results", "/srv/bmwg")


@pytest.fixture(scope="module")
def planned(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Path, Path]:
    """A folder, a plan by a profile of the toolkit's own, and two testbeds."""
    at = tmp_path_factory.mktemp("job")
    first, second = made.testbed(at, "first"), made.testbed(at, "second")
    chosen = [word for test in made.TESTS for word in ("--test", test)]
    plan = at / "fleet.json"
    made.bmwg("fleet", "plan", "--testbed", first, "--shards", 3, *chosen, "--output", plan, at=at)
    return at, plan, first, second


def manifest(planned: tuple[Path, Path, Path, Path], *words: object) -> list[dict[str, Any]]:
    at, plan, first, second = planned
    beds = ("--testbed", first, "--testbed", second)
    return list(yaml.safe_load_all(made.bmwg("fleet", "manifest", plan, *GIVEN, *beds, *words, at=at)))


def test_an_index_is_a_shard_and_nothing_runs_twice(planned: tuple[Path, Path, Path, Path]) -> None:
    read, job = manifest(planned)
    spec = job["spec"]
    assert (job["apiVersion"], job["kind"], spec["completionMode"]) == ("batch/v1", "Job", "Indexed")
    assert (spec["completions"], spec["parallelism"]) == (len(read_fleet(planned[1]).shards), 2)
    assert (spec["backoffLimitPerIndex"], spec["podReplacementPolicy"]) == (2, "Failed")
    assert [
        (one["action"], one.get("onExitCodes", {}).get("values")) for one in spec["podFailurePolicy"]["rules"]
    ] == [
        ("FailIndex", [64]),
        ("Ignore", [69]),
        ("Ignore", None),
    ]
    pod = spec["template"]["spec"]
    assert pod["nodeSelector"] == {"kubernetes.io/hostname": "runner"}
    assert pod["automountServiceAccountToken"] is False
    (container,) = pod["containers"]
    assert "securityContext" not in container  # simulated testbeds need no rights
    assert container["args"][:5] == [
        "fleet",
        "shard",
        "/fleet/fleet.json",
        "--index",
        "$(JOB_COMPLETION_INDEX)",
    ]
    assert read["metadata"]["name"] == pod["volumes"][0]["configMap"]["name"]


def test_what_pods_read_is_the_plan_itself(planned: tuple[Path, Path, Path, Path], tmp_path: Path) -> None:
    read = manifest(planned)[0]["data"]
    for name, text in read.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    assert read_fleet(tmp_path / "fleet.json") == read_fleet(planned[1])
    names = [yaml.safe_load(read[f"{number}-testbed.yaml"])["name"] for number in (0, 1)]
    assert names == ["first", "second"]


def test_with_leases_pods_have_an_account_that_may_hold_these_and_no_other_right(
    planned: tuple[Path, Path, Path, Path],
) -> None:
    account, role, bound, _, job = manifest(planned, "--lease", "--namespace", "lab")
    pod = job["spec"]["template"]["spec"]
    assert pod["serviceAccountName"] == account["metadata"]["name"] == bound["subjects"][0]["name"]
    assert pod["containers"][0]["args"][-2:] == ["--lease", "lab"]
    assert {one["metadata"]["namespace"] for one in (account, role, bound, job)} == {"lab"}
    assert [(one.get("resourceNames"), one["verbs"]) for one in role["rules"]] == [
        (None, ["create"]),
        (["bmwg-testbed-first", "bmwg-testbed-second"], ["get", "update"]),
    ]
    assert {tuple(one["resources"]) for one in role["rules"]} == {("leases",)}


def test_a_secret_for_ssh_is_mounted_when_it_is_named(planned: tuple[Path, Path, Path, Path]) -> None:
    pod = manifest(planned, "--ssh-secret", "lab-ssh")[1]["spec"]["template"]["spec"]
    assert {"name": "ssh", "secret": {"secretName": "lab-ssh", "defaultMode": 0o400}} in pod["volumes"]


def test_a_testbed_of_this_machine_needs_rights(planned: tuple[Path, Path, Path, Path]) -> None:
    at, plan, _, _ = planned
    embedded = made.ROOT / "testbeds" / "embedded.yaml"
    told = made.bmwg("fleet", "manifest", plan, *GIVEN, "--testbed", embedded, at=at)
    _, job = yaml.safe_load_all(told)
    (container,) = job["spec"]["template"]["spec"]["containers"]
    assert container["securityContext"] == {"privileged": True}


def test_a_profile_that_no_image_has_is_refused(tmp_path: Path) -> None:
    bed = made.testbed(tmp_path, "first")
    plan = made.plan(tmp_path, bed)
    said = made.bmwg("fleet", "manifest", plan, *GIVEN, "--testbed", bed, at=tmp_path, status=2)
    assert "FLEET-07" in said


def test_a_shard_takes_the_first_testbed_that_is_free_and_fits(tmp_path: Path) -> None:
    first, second = made.testbed(tmp_path, "first"), made.testbed(tmp_path, "second")
    other = made.ROOT / "testbeds" / "embedded.yaml"  # not simulated, as the plan is
    plan = made.plan(tmp_path, first)
    fleet = read_fleet(plan)
    results = tmp_path / "res"
    state = FleetState(results, fleet)
    state.make()
    beds = [word for bed in (other, first, second) for word in ("--testbed", bed)]
    work = ("fleet", "shard", plan, "--index", 0, *beds, "--results", results)
    with held("testbed first", state.folder / "locks"):
        made.bmwg(*work, at=tmp_path)
        both = ("--testbed", first, "--testbed", first)
        said = made.bmwg("fleet", "shard", plan, 2, *both, "--results", results, at=tmp_path, status=69)
    assert "LOCK-01" in said
    (run,) = made.runs(results)
    assert (run["fleet"]["shard"], run["testbed"]["name"], run["status"]) == (1, "second", "complete")
    assert "is complete" in made.bmwg(*work, at=tmp_path)
    assert json.loads(plan.read_text("ascii"))["shards"][0]["number"] == 1
