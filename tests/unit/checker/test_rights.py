"""What pods are granted, beside what a person says of the device; and masks of capabilities by name."""

from __future__ import annotations

from dataclasses import replace

import pytest
from cases_models import POD, deployed
from cases_rights import granted, made
from foreign import said
from runs import verdict_of

from bmwg.drivers.nodes import rights
from bmwg.methodology.record.redaction import redact_platform
from bmwg.reports.checker.clauses.rights import _unasked

ROW = "CINF08-7-03"


def test_a_mask_is_read_by_the_kernels_numbers():
    assert rights.named(0) == []
    assert rights.named(1 << 12 | 1 << 13 | 1 << 14) == ["NET_ADMIN", "NET_RAW", "IPC_LOCK"]
    assert rights.named(1 << 39 | 1 << 40) == ["BPF", "CHECKPOINT_RESTORE"]
    assert rights.named(1 << 63) == ["CAP_63"]


def test_this_process_has_what_its_status_says(monkeypatch):
    monkeypatch.setattr(rights.cgroups, "members", lambda cgroup: [__import__("os").getpid()])
    found = rights.granted(cgroup="/any")
    assert found["processes"] == 1
    assert found["users"] == [__import__("os").geteuid()]


def test_an_empty_group_confines_nothing(monkeypatch):
    monkeypatch.setattr(rights.cgroups, "members", lambda cgroup: [])
    found = rights.granted(cgroup="/any")
    assert found["no_new_privileges"] is found["seccomp"] is False
    assert rights.compared((), found) is None


@pytest.mark.parametrize(
    ("special", "verdict", "basis"),
    [(None, "met", "measured"), ("none", "met", "measured"), ("an extra path", "not_met", "declared")],
)
def test_a_declaration_counts_beside_the_record(special, verdict, basis):
    evidence = said(POD, made, deployed(granted()))()
    if special is not None:
        evidence = replace(evidence, submission={"laboratory": {"special_capabilities": special}})
    found = verdict_of(evidence, ROW)
    assert (found.original.value, found.basis.value) == (verdict, basis)


def test_no_declaration_mends_a_right_that_nothing_asked_for():
    evidence = said(POD, made, deployed(granted("SYS_ADMIN")))()
    evidence = replace(evidence, submission={"laboratory": {"special_capabilities": "none"}})
    found = verdict_of(evidence, ROW)
    assert found.original.value == "not_met"
    assert "SYS_ADMIN" in found.found


def test_on_ports_of_a_laboratory_only_a_person_can_say():
    def lab(data, journal, platform):
        data["testbed"] |= {"nodes": {"dut1": {"kind": "namespace"}}, "lab_ports": ["ens1"]}

    assert verdict_of(said(POD, lab, deployed(granted()))(), ROW).original.value == "not_assessed"


def test_a_public_copy_shows_the_same():
    platform = {
        "base": {"before": None, "after": None},
        "deployments": {"d-1": granted("SYS_ADMIN")},
    }
    public = redact_platform(platform, bytes(16))["deployments"]["d-1"]
    assert _unasked(public["pod"]["rights"]) == ["SYS_ADMIN"]
