"""Drift, coverage, overlay and redaction: pure functions over records."""

from __future__ import annotations

import copy
import json

import pytest

from bmwg.drivers.platform_record.collect import assemble
from bmwg.methodology.errors import ConfigError
from bmwg.methodology.record.coverage import Answer, configuration_rows, coverage
from bmwg.methodology.record.drift import differences, drift, drifted, run_drift
from bmwg.methodology.record.facts import declared
from bmwg.methodology.record.overlay import apply_overlay, read_overlay
from bmwg.methodology.record.redaction import commitment, redact
from bmwg.methodology.requirements.rows import Level, catalogue
from bmwg.schemas.validation import problems

SALT = b"0123456789abcdef"


@pytest.fixture
def record(sample_source):
    return assemble(sample_source("bare-metal-two-sockets"), "machine")


def _changed(record, path, **fact):
    other = copy.deepcopy(record)
    *groups, name = path.split("/")
    tree = other["fields"]
    for step in groups:
        tree = tree[step]
    tree[name] = {"how": tree[name]["how"], "at": "2026-01-02T09:09:09Z", **fact}
    return other


def test_one_sysctl_is_named(record):
    settings = dict(record["fields"]["kernel"]["settings"]["value"], **{"net.ipv4.ip_forward": "0"})
    (change,) = drift(record, _changed(record, "kernel/settings", value=settings))
    assert str(change) == "kernel/settings/net.ipv4.ip_forward: 1 -> 0"


def test_one_offload_is_named(record):
    offloads = dict(record["fields"]["nic"]["ens1f0"]["offloads"]["value"], **{"rx-gro": "off"})
    (change,) = drift(record, _changed(record, "nic/ens1f0/offloads", value=offloads))
    assert str(change) == "nic/ens1f0/offloads/rx-gro: on -> off"


def test_a_changed_type_is_a_change(record):
    assert drift(record, _changed(record, "power/turbo", value=True))
    assert drift(_changed(record, "power/turbo", value=True), _changed(record, "power/turbo", value=1))


def test_volatile_facts_are_no_drift_but_a_difference(record):
    other = _changed(record, "memory/available_octets", value=1)
    assert drift(record, other) == ()
    (change,) = differences(record, other)
    assert change.volatile


def test_time_and_reason_are_no_drift(record):
    assert drift(record, _changed(record, "bios/changes", unknown="another wording")) == ()


def test_a_fact_that_can_no_longer_be_read_is_drift(record):
    (change,) = drift(record, _changed(record, "cpu/microcode", unknown="permission denied"))
    assert change.after == "unknown: permission denied"


def test_an_interface_that_came_is_drift(record):
    other = copy.deepcopy(record)
    other["fields"]["nic"]["veth9"] = {"up": record["fields"]["nic"]["ens1f0"]["up"]}
    assert [change.path for change in drift(record, other)] == ["nic/veth9/up"]


@pytest.mark.parametrize("key", ["scope", "schema"])
def test_records_of_another_kind_are_refused(record, key):
    with pytest.raises(ConfigError, match=r"^REC-04 "):
        drift(record, {**record, key: "other"})


def test_only_the_cells_between_differing_records_are_touched(record):
    moved = _changed(record, "power/turbo", value="on")
    (stretch,) = drifted([record, record, moved, moved], [["a", "b"], ["c"], ["d"]])
    assert stretch.cells == ("c",)
    assert [change.path for change in stretch.changes] == ["power/turbo"]
    with pytest.raises(ValueError, match="2 stretches"):
        drifted([record, record, moved], [["a"]])


def test_drift_of_a_run_and_of_one_whose_closing_record_was_never_taken(record):
    def platform(after):
        return {"base": {"before": record, "after": after}}

    assert run_drift(platform(record)) == ()
    assert [c.path for c in run_drift(platform(_changed(record, "power/turbo", value="on")))] == [
        "power/turbo"
    ]
    assert [str(change) for change in run_drift(platform(None))] == ["record: taken -> (never taken)"]


def test_every_row_that_a_fact_answers_is_in_the_catalogue():
    assert set(configuration_rows()) - set(catalogue()) == set()


def test_a_fact_answers_no_row_that_demands_something():
    """What is recorded is no proof that a demand was kept (RFC8172-5-05); rules judge those."""
    assert {catalogue()[row].level for row in configuration_rows()} == {Level.INFO}


def test_the_parameter_lists_of_the_documents_are_covered():
    asked = {row for row in catalogue() if row.startswith(("RFC8172-3.2-", "RFC8204-3.3-", "CINF08-5.2."))}
    elsewhere = {
        "RFC8172-3.2-14",  # a rule for the report
        *(f"RFC8204-3.3-{number}" for number in (33, 34, 35, 36)),  # duration, flows, traffic: in each trial
        "CINF08-5.2.2-06", "CINF08-5.2.4-03",  # known effects: sweeps
    }  # fmt: skip
    assert asked - set(configuration_rows()) == elsewhere


def test_a_row_with_an_unknown_fact_is_missing_and_says_how_to_supply_it(record):
    rows = {row.row: row for row in coverage([record]).rows}
    assert rows["RFC8204-3.3-05"].answer is Answer.MISSING
    (gap,) = rows["RFC8204-3.3-05"].gaps
    assert gap.path == "bios/changes"
    assert "--overlay" in gap.supply


def test_an_empty_record_answers_nothing(record):
    score = coverage([{**record, "fields": {}}])
    assert score.count(Answer.MISSING) == len(score.rows) > 100
    assert score.ratio == 0


def test_a_deployed_workload_replaces_that_there_was_none(sample_source, record):
    told = {"pod": {"kind": "pod", "function": "kernel-l3"}}
    deployed = assemble(sample_source("container"), "machine", workloads=told)
    rows = {row.row: row for row in coverage([record, deployed]).rows}
    assert rows["RFC8172-3.2-10"].answer is Answer.ANSWERED
    assert {row.row: row.answer for row in coverage([record]).rows}["RFC8172-3.2-10"] is Answer.NOT_APPLICABLE


OVERLAY = "schema: overlay/1.0\ndeclared_by: A. Tester\nfacts:\n  bios/changes: [SNC off]\n"


def test_overlay_fills_what_was_not_measured(record):
    result = apply_overlay(record, read_overlay(OVERLAY, "o.yaml"), "o.yaml")
    fact = result["fields"]["bios"]["changes"]
    assert fact["value"] == ["SNC off"]
    assert fact["how"] == {"kind": "declared", "from": "A. Tester, o.yaml"}
    assert problems(result, "record") == []
    assert "unknown" in record["fields"]["bios"]["changes"]


def test_overlay_that_contradicts_is_an_error_that_names_both(record):
    overlay = read_overlay(OVERLAY + "  bios/version: 9.9\n  power/turbo: 'off'\n", "o.yaml")
    with pytest.raises(ConfigError, match=r"^REC-06 ") as caught:
        apply_overlay(record, overlay, "o.yaml")
    assert "bios/version" in str(caught.value)
    assert "2.18.1" in str(caught.value)
    assert "power/turbo" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (OVERLAY.replace("changes", "change"), "did you mean 'bios/changes'"),
        (OVERLAY.replace("facts", "fact"), "did you mean 'facts'"),
        (OVERLAY.replace("overlay/1.0", "overlay/2"), "overlay/1.0"),
        (OVERLAY.replace("A. Tester", ""), "declared_by"),
        ("facts: [", "(document)"),
        ("3", "a mapping"),
        ("schema: overlay/1.0\ndeclared_by: x\nfacts: {'nic/*/driver': a}\n", "no record has such a fact"),
    ],
)
def test_overlay_with_an_unknown_or_wrong_key_is_refused(text, said):
    with pytest.raises(ConfigError, match=r"^REC-05 ") as caught:
        read_overlay(text, "o.yaml")
    assert said in str(caught.value)


def test_overlay_for_an_interface_that_is_not_there(record):
    overlay = read_overlay(OVERLAY + "  nic/ens1f1/firmware: '1'\n", "o.yaml")
    with pytest.raises(ConfigError, match="REC-05") as caught:
        apply_overlay(record, overlay, "o.yaml")
    assert "ens1f0" in str(caught.value)


def test_redaction_takes_out_what_is_sensitive_and_still_compares(record):
    text = json.dumps(record)
    for secret in ("MSC0012345", "bm1-lab", "52:54:00:00:00:02", "192.0.2.1"):
        assert secret in text
    first, second = redact(record, SALT), redact(record, SALT)
    for secret in ("MSC0012345", "bm1-lab", "52:54:00:00:00:02", "192.0.2.1"):
        assert secret not in json.dumps(first)
    assert drift(first, second) == ()
    assert problems(first, "record") == []
    moved = _changed(record, "host/serial", value="MSC0099999")
    assert [change.path for change in drift(first, redact(moved, SALT))] == ["host/serial"]
    assert first["fields"]["host"]["serial"]["value"] == commitment(SALT, "serial", "MSC0012345")


def test_redaction_with_another_salt_gives_nothing_away(record):
    assert redact(record, SALT)["fields"]["host"] != redact(record, b"f" * 16)["fields"]["host"]


def test_redaction_refuses_a_short_salt_and_a_second_time(record):
    with pytest.raises(ConfigError, match="REC-07"):
        redact(record, b"short")
    with pytest.raises(ConfigError, match="REC-07"):
        redact(redact(record, SALT), SALT)
    with pytest.raises(ConfigError, match="REC-04"):
        drift(record, redact(record, SALT))


def test_every_declared_fact_has_a_meaning():
    assert all(fact.meaning and fact.supply for fact in declared().values())
    assert {fact.sensitive for fact in declared().values()} == {None, "serial", "name", "mac", "address"}


def test_numbers_that_the_kernel_gives_out_are_no_drift(record):
    def with_program(number, tag):
        xdp = {"mode": "native", "program": number, "tag": tag}
        filters = [{"interface": "eth0", "hook": "ingress", "bpf_program": number, "bpf_tag": tag}]
        changed = _changed(record, "nic/ens1f0/xdp", value=xdp)
        return _changed(changed, "datapath/filters", value=filters)

    loaded = with_program(7, "a1")
    assert drift(loaded, with_program(9, "a1")) == ()
    assert len(differences(loaded, with_program(9, "a1"))) == 2
    named = [change.path for change in drift(loaded, with_program(9, "b2"))]
    assert named == ["datapath/filters/0/bpf_tag", "nic/ens1f0/xdp/tag"]
