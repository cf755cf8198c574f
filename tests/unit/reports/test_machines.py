"""A run through machines names what ran their instructions, so that TCG is never read as KVM."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from made_parts import header

from bmwg.methodology.records import OutcomeType
from bmwg.reports.render.sections.guest import guest_sentence, guest_words, marks_of
from bmwg.reports.store import RunStore, read_run
from bmwg.resources.run.guest_record import record_machine


def run_with(*drivers):
    return SimpleNamespace(drivers=[{"name": "embedded"}, *drivers])


def machine(accelerator):
    return {"name": "machine", "provider": "openstack", "accelerator": accelerator}


def test_a_run_without_machines_says_nothing():
    assert guest_words(run_with()) == guest_sentence(run_with()) == ""


@pytest.mark.parametrize(("accelerator", "named"), [("tcg", "TCG"), ("", "an accelerator not recorded")])
def test_what_is_not_known_to_be_kvm_is_no_rate(accelerator, named):
    run = run_with(machine(accelerator))
    assert guest_words(run) == ""  # the run was made on the host: its native figures are no guest's
    assert f"under {named}" in guest_sentence(run)
    assert "never a rate" in guest_sentence(run)
    assert "openstack" in guest_sentence(run)


def test_machines_under_kvm_are_named_as_such():
    assert "under KVM" in guest_sentence(run_with(machine("kvm")))
    assert "never a rate" not in guest_sentence(run_with(machine("kvm")))


def test_one_machine_of_two_that_is_translated_is_enough():
    assert "never a rate" in guest_sentence(run_with(machine("kvm"), machine("tcg")))


def test_a_run_inside_a_guest_is_called_that():
    inside = {"name": "qemu guest", "accelerator": "tcg"}
    assert guest_words(run_with(inside, machine("tcg"))) == "guest under TCG"


def test_a_machine_of_another_architecture_than_its_hosts_is_named_by_it():
    other = {"name": "machine of pods", "provider": "qemu", "accelerator": "tcg", "architecture": "arm64"}
    assert "are in virtual machines under TCG for arm64." in guest_sentence(run_with(other))
    assert "never a rate" in guest_sentence(run_with(other))
    machines = {"machines": {"vm0": other}}
    answer = SimpleNamespace(type=OutcomeType.MEASURED, outcome_id="a")
    (marked,) = marks_of({"d": machines}, [answer], lambda _: ["d"]).values()
    assert marked == "machine under TCG for arm64: function, no rate"
    untold = {**other, "accelerator": ""}
    assert "under an accelerator not recorded for arm64" in guest_sentence(run_with(untold))


@pytest.mark.parametrize(
    ("evidence", "words"),
    [
        ({"machine": {"accelerator": "tcg"}}, "made by openstack."),
        (
            {
                "machine": {"accelerator": "tcg", "vnics": [{"backend": "vhost-user"}] * 2},
                "provider": {"name": "qemu"},
            },
            "made by qemu (NICs by vhost-user).",
        ),
    ],
)
def test_how_a_machine_is_joined_is_said_where_its_emulator_told_it(
    tmp_path: Path, evidence: dict[str, Any], words: str
) -> None:
    with RunStore.create(tmp_path, "one", header()) as store:
        record_machine(store, evidence, "openstack")
    assert words in guest_sentence(read_run(store.folder))
