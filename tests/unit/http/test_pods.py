"""Pods in the HTTP experiments: planned by option, beside the documents' forms, in none of their claims."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.unit.http import made

from bmwg.drivers.places import forms
from bmwg.drivers.places.pod import conflist_sha256
from bmwg.drivers.testbed.file import embedded_file, load_testbed
from bmwg.methodology.errors import ConfigError
from bmwg.methodology.kinds.repeated.profile import Profile
from bmwg.methodology.kinds.requests import profile
from bmwg.methodology.kinds.requests.orders import Times, orders, savings
from bmwg.methodology.kinds.requests.records import FORMS, RequestsSpec
from bmwg.methodology.records import POD_PREFIX
from bmwg.reports.kinds.requests import option_table
from bmwg.reports.kinds.requests.answers import answers_of
from bmwg.reports.kinds.requests.words import form_words, forms_of
from bmwg.reports.render.page.report import write_report
from bmwg.reports.store import RunStore, read_run
from bmwg.resources.kinds.requests.room import header_by
from bmwg.resources.kinds.requests.testbed_part import (
    networks_of_header,
    networks_of_testbed,
    pods_of_testbed,
    runtime_of_header,
)
from bmwg.resources.run.settings import Settings
from bmwg.schemas.validation import problems

AT = "2026-01-31T08:00:00.000000Z"


def with_pods(name: str = "quick", *options: str) -> Profile[RequestsSpec]:
    return profile.with_networks(profile.load(name), options or ("bridge", "ptp", "cilium"))


def test_profiles_of_the_documents_measure_pods_and_that_of_trex_none() -> None:
    measured = {
        name: {one.spec.experiment for one in with_pods(name).plan() if one.spec.form.startswith(POD_PREFIX)}
        for name in profile.PROFILES.names()
    }
    both, every = {"one_client", "start"}, set(profile.RFC9411)
    assert measured == {
        "clients": set(),
        "clients-quick": set(),
        "cloud": set(),
        "guest": both,
        "origin": set(),
        "paper": both,
        "quick": both,
        "rfc9411": every,
        "rfc9411-quick": every,
        "service": set(),
        "trex": set(),
    }


@pytest.mark.parametrize("name", ["guest", "paper", "quick"])
def test_a_profile_measures_pods_by_each_option_where_it_names_their_objects(name: str) -> None:
    used = with_pods(name)
    assert problems(used.data, "http_profile") == []
    pods = [entry for entry in used.plan() if entry.spec.form.startswith(POD_PREFIX)]
    assert {entry.spec.form for entry in pods} == {"pod_bridge", "pod_ptp", "pod_cilium"}
    native = {
        profile.cell_of(replace(entry.spec, form="pod_ptp")).cell_id: entry
        for entry in used.plan()
        if entry.spec.form == "native"
    }
    for entry in (one for one in pods if one.spec.form == "pod_ptp"):  # the procedure is native's own
        other = native[entry.cell.cell_id]
        assert replace(entry.spec, form=other.spec.form) == other.spec
        assert entry.asked == other.asked
    assert [entry for entry in used.plan() if entry not in pods] == list(profile.load(name).plan())


def test_an_option_has_its_test_and_all_others_share_one() -> None:
    assert profile.test_id("one_client", "pod_bridge") == profile.test_id("start", "pod_bridge") == "HP-POD-1"
    assert profile.test_id("start", "pod_host-device") == "HP-POD-5"
    assert profile.test_id("start", "pod_cilium") == profile.test_id("start", "pod_other") == "HP-POD-7"
    assert profile.test_id("one_client", "vm_para") == "HP-ONE-5"
    embedded = {profile.test_id("start", f"{POD_PREFIX}{name}") for name in networks_of_testbed(Settings())}
    assert embedded == {f"HP-POD-{number}" for number in range(1, 7)}  # each has a test of its own


def test_no_claim_of_the_documents_has_a_pod_in_it() -> None:
    times = {"native": 1000, "docker_routed": 1100, "pod_bridge": 5000, "vm_full": 9000}
    found = [
        Times(cell=made.spec(form), values=[float(mean), mean + 9, mean + 4]) for form, mean in times.items()
    ]
    claims = orders(found)
    assert {(claim.first, claim.second) for claim in claims} == {
        ("native", "docker_routed"),
        ("docker_routed", "vm_full"),
    }
    assert savings(found) == ()


def test_pods_stand_between_containers_and_virtual_machines() -> None:
    forms = ("vm_full", "pod_ipvlan", "native", "pod_bridge")
    shown: list[Any] = [SimpleNamespace(spec=made.spec(form)) for form in forms]
    assert forms_of(shown) == ["native", "pod_ipvlan", "pod_bridge", "vm_full"]


@pytest.mark.parametrize(
    ("found", "told"),
    [
        ({"package": "cni 1.1", "package_unknown_because": ""}, "cni 1.1"),
        ({"package": None, "package_unknown_because": "dpkg-query: no end"}, "dpkg-query: no end"),
        ({}, "package not told"),
    ],
)
def test_a_plugin_whose_package_nobody_told_is_not_said_to_have_none(
    found: dict[str, Any], told: str
) -> None:
    shown = option_table._plugin({"plugin": "bridge", "sha256": "ab" * 32, **found})
    assert shown == f"bridge ({told}, abababababab)"


def hosted(option: str) -> dict[str, Any]:
    """What a deployment of an option looks like in the record."""
    plugin = {"plugin": option, "sha256": "ab" * 32, "package": "containernetworking-plugins 1.1.1"}
    return {
        "hosting": {
            "form": f"{POD_PREFIX}{option}",
            "reached_by": "layer 2",
            "cni": {"networking_model": "kernel", "plugins": [plugin], "conflist_sha256": "cd" * 32},
        },
        "instances": [
            {
                "attachments": [{"cni_version": "1.0.0"}, {"cni_version": "1.0.0"}],
                "limits": {"cpu_quota_us": 400000, "cpu_period_us": 100000, "memory_limit_octets": 4 << 30},
            }
        ],
    }


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run with numbers for every form but one, whose kernel lacks it."""
    two = made.shortened(with_pods("quick", "bridge", "ipvlan"), repetitions=2, least_repetitions=2)
    plan = [
        entry
        for entry in two.plan()
        if (entry.spec.experiment, entry.spec.object_octets) == ("one_client", 1000)
    ]
    assert [entry.spec.form for entry in plan] == [*FORMS, "kubernetes", "pod_bridge", "pod_ipvlan"]
    store = RunStore.create(tmp_path, "r1", made.header(two, plan))
    for number, entry in enumerate(plan):
        if entry.spec.form == "pod_ipvlan":
            made.not_assessed(store, entry, "no ipvlan", "modprobe ipvlan")
            continue
        store.add_deployment(f"{entry.spec.form}-1", hosted(entry.spec.form.removeprefix(POD_PREFIX)))
        base_ns = 1_000_000 * (number + 1)
        results = [made.result(entry.spec, base_ns + more) for more in (0, 10_000)]
        made.answer(store, entry, results, f"{entry.spec.form}-1")
    store.close(None, "complete")
    return store.folder


def test_the_page_shows_pods_beside_the_other_forms_with_option_and_hashes(run: Path) -> None:
    assert len(answers_of(read_run(run))) == 8
    page = write_report(run).with_name("report.rst").read_text(encoding="utf-8").replace("\\", "")
    times = page[page.index("Mean processing time of a request") : page.index("Ratio to native")]
    for word in ("native", "Docker, routed", "Docker, NAT", "pod, bridge", "pod, ipvlan", "VM, emulated NIC"):
        assert f"* - {word}" in times  # many forms: a line for each
    assert times.count("not assessed") == 1
    assert "6.005 ± " in times
    options = page[page.index("Network options of the pods") : page.index("The documents' order, as found")]
    assert "bridge (containernetworking-plugins 1.1.1, abababababab)" in options
    assert "cdcdcdcdcdcd" in options
    assert "4 CPUs, 4096 MiB" in options
    assert "ipvlan" not in options  # it never stood
    order = page[page.index("The documents' order, as found") :]
    assert "pod" not in order[: order.index("one_client/pod_ipvlan")]  # where cells without a number begin
    drawn = (run / "plots" / "http-one-client.svg").read_text(encoding="utf-8")
    assert "pod bridge" in drawn
    assert drawn.count("no number") == 1


@pytest.mark.parametrize(
    ("form", "error_id", "near"),
    [
        ("nativ", "DRIVER-01", "native"),
        ("", "DRIVER-01", ""),
        ("pod", "INST-01", ""),
        ("pod_", "INST-01", ""),
    ],
)
def test_an_unknown_form_is_refused_by_name(form: str, error_id: str, near: str) -> None:
    with pytest.raises(ConfigError, match=f"^{error_id} ") as caught:
        forms.hosting(form, node=None, place=None, ledger=None)  # type: ignore[arg-type]
    assert near in caught.value.hint


def test_options_come_from_the_testbed_file_and_later_from_the_header(tmp_path: Path) -> None:
    written = networks_of_testbed(Settings())
    assert list(written) == ["bridge", "ptp", "macvlan", "ipvlan", "host-device", "vlan"]
    kept = [replace(one, dut_cpus=()) for one in load_testbed().networks if one.name in written]
    assert list(networks_of_header({"networks": written})) == kept  # CPUs are of `pods`, not of an option
    assert networks_of_header({"name": "a row of hosts"}) == ()


def _bed(tmp_path: Path, runtime: str) -> Path:
    written = embedded_file().read_text(encoding="utf-8")
    file = tmp_path / "bed.yaml"
    file.write_text(
        written.replace('pods: {cpus: "1",', f'pods: {{cpus: "1", runtime: {runtime},'), encoding="utf-8"
    )
    assert load_testbed(file).pods.runtime == runtime
    return file


def test_the_runtime_of_the_file_makes_the_pods_and_is_in_header_and_report(
    tmp_path: Path,
) -> None:
    settings = Settings(testbed=_bed(tmp_path, "podman"))
    kept = pods_of_testbed(settings)
    assert kept == {"runtime": "podman"}
    assert pods_of_testbed(Settings()) == {}
    used = with_pods("quick", "bridge")
    header = header_by(used, networks_of_testbed(settings), {}, {}, pods=kept)
    assert runtime_of_header(header.testbed) == "podman"
    assert runtime_of_header(header_by(used, {}, {}, {}).testbed) == "crun"
    for told, words in (({}, "pod, bridge"), ({"pods": kept}, "pod by podman, bridge")):
        run = SimpleNamespace(profile=used.data, testbed=told, deployments={}, drivers=())
        assert form_words(run)["pod_bridge"] == words  # type: ignore[arg-type]


def test_a_runtime_whose_pods_a_cluster_attaches_is_refused_before_a_start(
    tmp_path: Path,
) -> None:
    with pytest.raises(ConfigError, match="INST-05") as caught:
        networks_of_testbed(Settings(testbed=_bed(tmp_path, "kubernetes")))
    assert caught.value.expected.startswith("crun or docker or lxc or podman")


def test_the_hash_of_a_configuration_is_of_what_it_says() -> None:
    one = {"name": "a", "plugins": [{"type": "x", "mtu": 9000}]}
    assert conflist_sha256(one) == conflist_sha256({"plugins": [{"mtu": 9000, "type": "x"}], "name": "a"})
    assert conflist_sha256(one) != conflist_sha256({**one, "name": "b"})
