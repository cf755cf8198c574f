"""Journal and answers: chained, recomputed on reading, refused when changed; and the section of the page."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.unit.http import made

from bmwg.methodology.errors import ConfigError
from bmwg.methodology.kinds.requests import profile
from bmwg.methodology.kinds.requests.kind import REQUESTS
from bmwg.methodology.kinds.requests.records import (
    CLUSTER_FORMS,
    FORMS,
    RequestsResult,
    RequestsSpec,
    Workload,
)
from bmwg.methodology.records import OutcomeType
from bmwg.reports import rooms
from bmwg.reports.kinds.requests import charts, words
from bmwg.reports.kinds.requests.answers import answers_of
from bmwg.reports.kinds.requests.host_table import host_table
from bmwg.reports.kinds.requests.section import http_section
from bmwg.reports.published.ratios import published_page
from bmwg.reports.render.forms.rst import restructured
from bmwg.reports.render.page.report import write_report
from bmwg.reports.store import RunStore, read_run
from bmwg.reports.store.read import JOURNAL_FILE
from bmwg.resources.kinds.repeated.measure import CellExecutions, Stand
from bmwg.schemas.validation import problems_of

AT = "2026-01-31T08:00:00.000000Z"


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run with a number for native and Docker, and nothing to try a machine with."""
    two = made.shortened(profile.load("quick"), repetitions=2, least_repetitions=2)
    plan = [made.planned(made.spec(form)) for form in FORMS]
    store = RunStore.create(tmp_path, "r1", made.header(two, plan))
    for entry, base in zip(plan[:2], (1_000_000, 1_500_000), strict=False):
        made.answer(store, entry, [made.result(entry.spec, base + more) for more in (0, 10_000)])
    for entry in plan[2:]:
        made.not_assessed(store, entry, "no QEMU", "apt-get install qemu")
    store.close(None, "complete")
    return store.folder


def test_answers_are_computed_from_the_journal(run: Path) -> None:
    found = answers_of(read_run(run))
    types = [one.outcome.type for one in found]
    assert types == [OutcomeType.MEASURED] * 2 + [OutcomeType.NOT_ASSESSED] * 3
    assert found[0].values["mean"] == 1_005_000
    assert found[0].outcome.trials == (1, 2)


def test_a_changed_line_is_refused(run: Path) -> None:
    path = run / JOURNAL_FILE
    path.write_text(path.read_text().replace('"mean_request_ns":1000000', '"mean_request_ns":900000'))
    with pytest.raises(ConfigError, match=r"^STORE-01 "):
        answers_of(read_run(run))


def test_a_line_taken_out_is_refused(run: Path) -> None:
    path = run / JOURNAL_FILE
    path.write_text("".join(path.read_text().splitlines(keepends=True)[1:]))
    with pytest.raises(ConfigError, match=r"^STORE-01 "):
        answers_of(read_run(run))


def test_an_answer_whose_platform_changed_is_invalid_by_name(run: Path) -> None:
    path = run / "platform.json"
    platform = json.loads(path.read_text())
    answer_id = read_run(run).outcomes[0].outcome_id
    changes = [{"path": "proxy: nic/nic0/mtu_octets", "before": "1500", "after": "1400"}]
    platform["drift"] = [{"at": AT, "deployment": "d", "outcomes": [answer_id], "changes": changes}]
    path.write_text(json.dumps(platform))
    with pytest.raises(ConfigError) as caught:
        answers_of(read_run(run))
    assert caught.value.error_id == "STORE-07"  # the file still says that it was measured
    document = json.loads((run / "run.json").read_text())
    document["outcomes"][0] |= {"type": "invalid", "values": []}
    (run / "run.json").write_text(json.dumps(document))
    found = answers_of(read_run(run))
    assert [one.outcome.type for one in found[:2]] == [OutcomeType.INVALID, OutcomeType.MEASURED]
    assert "proxy: nic/nic0/mtu_octets: 1500 -> 1400" in found[0].outcome.reason
    assert (found[0].values, found[0].outcome.trials) == ({}, (1, 2))


def test_the_page_tells_what_the_machine_did_meanwhile() -> None:
    spec = made.spec()
    words = {form: form.upper() for form in FORMS}

    def told(steal: int, phase: str = "measured", **host: int) -> Any:
        sampled = {"host.steal_ns": steal, "host.softirq_ns": 5_000_000, "host.backlog_dropped": 2, **host}
        body = REQUESTS.body_of(spec, made.result(spec, 1_000_000, wall_ns=100_000_000), sampled)
        return SimpleNamespace(body=body, cell_id=made.planned(spec).key, phase=phase)

    text = restructured(host_table([told(0), told(20_000_000), told(90_000_000, "warm_up")], words))
    assert "NATIVE" in text
    assert "10\u00a0% / 20\u00a0%" in text  # of all, and most in one
    assert "5\u00a0%" in text
    assert "DOCKER" not in text
    silent = told(0)
    silent.body = replace(silent.body, host={})
    assert host_table([silent], words) == []


def test_an_answer_that_its_repetitions_do_not_give_is_refused(run: Path) -> None:
    path = run / "run.json"
    data = json.loads(path.read_text())
    data["outcomes"][0]["trials"] = [1]
    path.write_text(json.dumps(data))
    with pytest.raises(ConfigError, match=r"^STORE-07 "):
        answers_of(read_run(run))


def test_the_page_shows_all_forms_in_one_table_and_no_number_without_one(run: Path) -> None:
    page = write_report(run).with_name("report.rst").read_text(encoding="utf-8").replace("\\", "")
    assert "HTTP proxy by hosting form" in page
    assert "5 answers from 4 repetitions of HTTP experiments on native; Docker, routed" in page
    assert "0 answers" not in page
    assert "plots/http-one-client.svg" in page
    drawn = (run / "plots" / "http-one-client.svg").read_text(encoding="utf-8")
    assert drawn.count("no number") == 3  # never a bar of nothing
    assert "1.005" in drawn
    assert "native before Docker, routed" in page
    table = page[page.index("Mean processing time of a request") :]
    table = table[: table.index("Ratio to native")]
    assert table.count("not assessed") == 3
    assert "1.005 ± 0.0635 ms" in table
    assert "1.498" in page  # Docker's ratio to native
    assert "slower than native" in page
    assert "1.072" in page  # the published one beside it
    assert "apt-get install qemu" in page


@pytest.mark.parametrize(("accelerator", "ratio"), [("tcg", False), ("kvm", True), (None, False)])
def test_a_translated_machine_is_held_against_nothing(
    tmp_path: Path, accelerator: str | None, ratio: bool
) -> None:
    two = made.shortened(profile.load("quick"), repetitions=2, least_repetitions=2)
    plan = [made.planned(made.spec(form)) for form in ("native", "vm_full")]
    with RunStore.create(tmp_path, "vm", made.header(two, plan)) as store:
        machine = {"machine": {"kind": "qemu", "accelerator": accelerator}} if accelerator else {}
        store.add_deployment("vm_full-1", {"hosting": {"form": "vm_full", **machine}})
        for entry, base, name in zip(plan, (1_000_000, 9_000_000), ("native-1", "vm_full-1"), strict=True):
            results = [made.result(entry.spec, base + more) for more in (0, 10_000)]
            made.answer(store, entry, results, name)
        store.close(None, "complete")
    page = restructured(http_section(read_run(store.folder))).replace("\\", "")
    assert "9.005 ± 0.0635 ms" in page
    assert ("slower than native" in page) is ratio
    assert ("8.960" in page) is ratio


def test_the_published_page_has_the_runs_own_ratios(run: Path) -> None:
    told = restructured(published_page(rooms.published(read_run(run)))).replace("\\", "")
    own = told[told.index("This run beside them") : told.index("All published figures")]
    assert "1.498" in own  # Docker's ratio to native
    assert "1.072" in own  # the document's
    assert "1 client" in own


def test_profiles_keep_to_their_schema_and_forms() -> None:
    for name in profile.PROFILES.names():
        plan = profile.load(name).plan()
        ids = [entry.cell.cell_id for entry in plan]
        assert len(ids) == len(set(ids))
        only = {
            "clients": {*FORMS},
            "clients-quick": {"native", "docker_routed"},
            "guest": {"native"},
            "origin": {"native"},
            "cloud": {"vm_para"},
            "trex": set(FORMS),
            "rfc9411": {"native", "pod_bridge"},
            "rfc9411-quick": {"native", "pod_bridge"},
            "paper": {*FORMS, "kubernetes_service"},
            "service": {"native", "docker_routed", *CLUSTER_FORMS},
        }
        assert {entry.spec.form for entry in plan} == only.get(name, {*FORMS, *CLUSTER_FORMS})
        for entry in plan:
            if entry.spec.workload in (Workload.JMETER, Workload.JMETER_PODS):
                assert entry.spec.asked_requests % entry.spec.clients == 0
                assert entry.spec.clients % entry.spec.proxies == 0
                assert entry.spec.warm_up_requests % entry.spec.clients == 0


def test_an_unknown_profile_names_a_near_one() -> None:
    with pytest.raises(ConfigError, match=r"^HPROF-01 ") as caught:
        profile.load("quik")
    assert "quick" in caught.value.hint


def test_repetitions_survive_the_journal() -> None:
    spec = made.spec(number=1)
    one = made.result(spec, 5, hits=3, proxied=4, faults=("x",), ttfb_ns={"p50": 1})
    body = REQUESTS.body_of(spec, one, {})
    assert problems_of({"spec": body.spec, "result": body.result}, REQUESTS.schema) == []
    assert REQUESTS.result_of(body) == one
    back = REQUESTS.spec_of(body)
    assert (back.workload, back.asked_requests, back.rate_rps, back.number) == (Workload.AB, 10, 0, 1)


@pytest.mark.parametrize(
    ("number", "told"),
    [
        (2046.4, "2046"),
        (204.64, "205"),
        (0.012345, "0.0123"),
        (1.0, "1"),
        (-12.345, "-12.3"),
        (0.00001, "0.0000100"),
    ],
)
def test_numbers_have_their_digits_and_no_exponent(number: float, told: str) -> None:
    assert words.digits(number) == told


def stand(results: list[RequestsResult]) -> Stand[RequestsSpec, RequestsResult]:
    """A deployment whose repetitions come to these, one after the other."""
    return Stand(deployment_id="native-1", run=lambda spec: results.pop(0), leaks=made.Watch())


def test_a_cell_whose_time_is_over_ends_with_the_least_it_needs_and_says_so(tmp_path: Path) -> None:
    entry = made.planned(made.spec(), wanted=5, least=3, limit_s=0.0)
    came = [made.result(entry.spec, 1_000_000 + number) for number in range(5)]
    with RunStore.create(tmp_path, "r", made.header(profile.load("quick"), [entry])) as store:
        cell = CellExecutions(REQUESTS, entry, store)
        cell.run(stand(came))
    assert len(came) == 2
    answer = cell.answer()
    assert answer.type is OutcomeType.MEASURED
    assert answer.quality[0] == "3 valid repetitions of the 5 that were planned"
    patient = replace(entry, asked=replace(entry.asked, limit_s=60.0))
    assert REQUESTS.answered(patient, cell.done).type is OutcomeType.MEASURED
    assert not patient.asked.ended(cell.done, 0.0)


def test_a_cell_with_fewer_valid_repetitions_than_it_needs_is_invalid() -> None:
    entry = made.planned(made.spec(), wanted=5, least=3, max_invalid=2)
    came = [
        made.result(entry.spec, 1_000_000, faults=faults)
        for faults in ((), ("gone",), ("gone",), (), ("gone",))
    ]
    done = made.tried(entry.spec, came)
    assert entry.asked.ended(done, 0.0)
    assert REQUESTS.answered(entry, done).type is OutcomeType.INVALID


def test_a_warm_up_is_written_and_takes_no_part(tmp_path: Path) -> None:
    entry = made.planned(made.spec())
    warm_up = made.spec(asked_requests=3)
    came = [made.result(warm_up, 9_000_000), *(made.result(entry.spec, 1_000_000 + n) for n in range(2))]
    with RunStore.create(tmp_path, "r", made.header(profile.load("quick"), [entry])) as store:
        cell = CellExecutions(REQUESTS, entry, store)
        cell.run(stand(came), warm_up)
        store.close(None, "complete")
    assert cell.answer().trials == (2, 3)
    lines = read_run(tmp_path / "r").executions
    assert [(one.phase, one.body.spec["number"]) for one in lines] == [
        ("warm_up", 1),
        ("measured", 2),
        ("measured", 3),
    ]


def test_virtual_machines_get_their_own_numbers_and_a_paper_run_all_of_them() -> None:
    quick = profile.load("quick").plan()
    rates = {entry.spec.form: entry.spec.search["max_rps"] for entry in quick if entry.spec.search}
    assert rates["vm_full"] == rates["vm_para"] < rates["native"]
    assert all("slow_max_rps" not in entry.spec.search for entry in quick if entry.spec.search)
    for entry in quick:
        assert 2 <= entry.asked.least <= entry.asked.wanted
    for entry in profile.load("paper").plan():
        assert entry.asked.least == entry.asked.wanted == 10
        assert entry.asked.limit_s == math.inf


def test_a_machine_that_libvirt_started_is_named_with_versions_and_accelerator(run: Path) -> None:
    found = read_run(run)
    told = {"kind": "libvirt", "libvirt": "9.0.0", "qemu": "7.2.22", "accelerator": "tcg"}
    by_qemu = {"kind": "qemu", "qemu": "7.2.22", "accelerator": "tcg"}
    deployments = {
        "1": {"hosting": {"form": "vm_para", "machine": told}},
        "2": {"hosting": {"form": "vm_full", "machine": by_qemu}},
    }
    found_words = words.form_words(replace(found, deployments=deployments))
    assert found_words["vm_para"] == "VM, paravirtual NIC (libvirt 9.0.0, QEMU 7.2.22, TCG)"
    assert found_words["vm_full"] == "VM, emulated NIC (TCG)"


def test_a_chart_names_what_executed_the_machines_that_it_shows(run: Path) -> None:
    """Of a run without emulated NICs it said `TCG/accelerator not recorded`."""
    told = {"kind": "openstack", "accelerator": "tcg"}
    found = replace(read_run(run), deployments={"1": {"hosting": {"form": "vm_para", "machine": told}}})
    assert charts.kinds_of(found, {"vm_para", "native"}) == "TCG"
    assert charts.kinds_of(found, {"vm_para", "vm_full"}) == "TCG/accelerator not recorded"
