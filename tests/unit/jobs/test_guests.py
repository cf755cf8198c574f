"""A guest as a form of jobs: what it takes, and that a translated one is held against nothing."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest
from tests.unit.jobs.made import planned, result

from bmwg.drivers import registry
from bmwg.drivers.nodes import job_files
from bmwg.drivers.workload.of_jobs import JobPlace
from bmwg.methodology.kinds.jobs.kind import JOBS
from bmwg.methodology.kinds.jobs.profile import PROFILES, architecture_of
from bmwg.methodology.records import BAREMETAL, GUEST
from bmwg.reports.kinds.jobs import section
from bmwg.reports.kinds.repeated.answers import Answered
from bmwg.reports.render.forms.rst import restructured
from bmwg.resources.kinds.jobs import bench, places


def answered(hosting: str, factor: float) -> Answered:
    one = planned("sysbench_cpu", hosting)
    results = [result(one, factor * (1 + number / 1000)) for number in range(1, one.asked.wanted + 1)]
    tried = [
        JOBS.tried(number, replace(one.spec, number=number), each) for number, each in enumerate(results, 1)
    ]
    return Answered(
        outcome=JOBS.answered(one, tried),
        planned=one,
        results=tuple(results),
        deployment=hosting,
        by_number=dict(enumerate(results, 1)),
    )


@pytest.mark.parametrize(("accelerator", "held"), [("tcg", False), ("kvm", True)])
def test_a_translated_guest_is_held_against_nothing(accelerator, held):
    machines = {"machines": {"vm0": {"accelerator": accelerator}}}
    run = SimpleNamespace(platform={"deployments": {BAREMETAL: {}, GUEST: machines}})
    text = restructured(section._answers(run, [answered(BAREMETAL, 1.0), answered(GUEST, 0.5)]))
    text = text.replace("\\", "")
    assert f"kvm ({accelerator.upper()})" in text
    assert ("0.500" in text) is held
    assert ("50.0%" in text) is held


def test_a_guest_without_kvm_has_jobs_that_end_by_time_where_the_profile_says_so():
    told = {name: planned(name).spec for name in ("sysbench_cpu", "linpack", "dd_write")}
    slow, fast = "no vmx", ""
    assert places._no_job_of_guest(slow, told["sysbench_cpu"], translated=True) is None
    assert "guests" in places._no_job_of_guest(slow, told["sysbench_cpu"], translated=False).mend
    assert "fixed size" in places._no_job_of_guest(slow, told["linpack"], translated=True).what
    assert places._no_job_of_guest(fast, told["linpack"], translated=False) is None
    assert places._no_job_of_guest(slow, told["dd_write"], translated=True) is None, (
        "it has a disk of its own"
    )


def test_the_profile_of_guests_has_native_first_and_jobs_that_end_by_time_or_work_on_a_file():
    guests = PROFILES.load("guests")
    assert PROFILES.wrong(guests.data) == ""
    assert guests.data["translated_guests"] is True
    assert list(dict.fromkeys(one.cell.hosting for one in guests.plan())) == [BAREMETAL, "pod", GUEST]
    assert all(one.spec.duration_s or one.spec.size_octets for one in guests.plan())
    assert "translated_guests" not in PROFILES.load("quick").data


def test_a_guest_of_another_architecture_is_named_in_cell_and_report():
    plan = PROFILES.load("arm64").plan()
    (native,) = {one.cell.axes for one in plan if (one.metric, one.cell.hosting) == ("bonnie", BAREMETAL)}
    (guest,) = [one.cell for one in plan if (one.metric, one.cell.hosting) == ("bonnie", GUEST)]
    assert set(guest.axes) - set(native) == {("architecture", "arm64")}
    assert guest.cell_id.endswith("/direct/arm64")
    assert (architecture_of(guest), architecture_of(planned("bonnie", GUEST).cell)) == ("arm64", "")
    axes = {name: getattr(guest, name) for name in ("path", "hosting", "function", "network")}
    assert JOBS.cell({**axes, "axes": dict(guest.axes)}) == guest
    with pytest.raises(ValueError, match="expected in form kvm alone, found in pod"):
        JOBS.cell({**axes, "hosting": "pod", "axes": dict(guest.axes)})
    machines = {"machines": {"vm0": {"accelerator": "tcg", "architecture": "arm64"}}}
    run = SimpleNamespace(platform={"deployments": {BAREMETAL: {}, GUEST: machines}})
    text = restructured(section._answers(run, [answered(BAREMETAL, 1.0), answered(GUEST, 0.5)]))
    assert "kvm (TCG for arm64)" in text.replace("\\", "")
    assert "0.500" not in text, "held against nothing"


def test_the_profile_of_arm64_has_jobs_that_a_translated_guest_can_do():
    arm64 = PROFILES.load("arm64")
    assert arm64.data["translated_guests"] is True
    assert list(dict.fromkeys(one.cell.hosting for one in arm64.plan())) == [BAREMETAL, GUEST]
    assert all(one.spec.duration_s or one.spec.size_octets for one in arm64.plan())
    assert "guest_architecture" in PROFILES.wrong({**arm64.data, "guest_architecture": "riscv64"})


class Asked:
    """A node or a guest that answers by the name of a function, and keeps what it was asked."""

    def __init__(self, name, answers):
        self.name, self.answers, self.asked = name, answers, []

    def call(self, function, **arguments):
        self.asked.append((function.__name__, arguments))
        return self.answers[function.__name__]


def test_what_guests_of_another_architecture_lack_is_told_by_name():
    lack = {"what": "QEMU", "reason": "no qemu-system-aarch64 in PATH", "mend": "sh setup/guest.sh arm64"}
    node = Asked("dut1", {"translated": "the guest is aarch64, this host x86_64", "probe": lack})
    bed = SimpleNamespace(
        node=lambda _: node,
        machines_driver="",
        token="t",
        owner="o",
        state_dir="/x",
        undo=None,
        testbed=SimpleNamespace(nodes=[node]),
    )
    spec = planned("sysbench_cpu").spec
    missing = places.lacking(GUEST, bed, spec, translated=True, architecture="arm64")
    assert (missing.reason, missing.mend) == (lack["reason"], lack["mend"])
    assert node.asked == [(name, {"architecture": "arm64"}) for name in ("translated", "probe")]
    without = places.lacking(GUEST, bed, spec, translated=False, architecture="arm64")
    assert "this host x86_64" in without.reason
    elsewhere = SimpleNamespace(**vars(bed) | {"machines_driver": "libvirt"})
    refused = places.lacking(GUEST, elsewhere, spec, translated=True, architecture="arm64")
    assert "libvirt" in refused.what


def test_a_program_is_looked_for_where_it_is_to_run():
    node, guest = Asked("dut1", {"missing": False}), Asked("vm0", {"missing": True})
    form = JobPlace(
        place=SimpleNamespace(node=guest), folder="/f", on_node="/f", evidence={}, own_programs=True
    )
    of_node = registry.workload("fio", kind=JOBS.name)([node])
    assert of_node.probe() is None
    assert bench._asking(of_node, form).probe().reason == "not on node vm0"
    assert bench._asking(of_node, replace(form, own_programs=False)) is of_node


@pytest.mark.parametrize(("kind", "what"), [("tmpfs", "a disk for a job's file"), ("ext4", "")])
def test_a_folder_in_memory_is_no_disk(kind, what):
    answers = {"free_octets": 1 << 40, "file_system": kind}
    node = SimpleNamespace(call=lambda function, **_: answers[function.__name__])
    bed = SimpleNamespace(
        node=lambda _: node, state_dir="/x", testbed=SimpleNamespace(nodes=[SimpleNamespace(name="dut1")])
    )
    missing = places.no_space(bed, 1 << 20)
    assert (missing.what if missing else "") == what
    assert places.no_space(bed, 0) is None


def test_the_kernel_says_what_a_folder_is_on():
    assert job_files.file_system(folder="/dev/shm") == "tmpfs"
    assert job_files.file_system(folder="/proc") == "proc"
