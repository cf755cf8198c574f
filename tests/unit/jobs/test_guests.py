"""A guest as a form of jobs: what it takes, and that a translated one is held against nothing."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest
from tests.unit.jobs.made import planned, result

from bmwg.drivers.nodes import job_files
from bmwg.methodology.kinds.jobs.kind import JOBS
from bmwg.methodology.kinds.jobs.profile import PROFILES
from bmwg.methodology.records import BAREMETAL, GUEST
from bmwg.reports.kinds.jobs import section
from bmwg.reports.kinds.repeated.answers import Answered
from bmwg.reports.render.forms.rst import restructured
from bmwg.resources.kinds.jobs import places


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
    slow, fast = (SimpleNamespace(call=lambda function, why=why: why) for why in ("no vmx", ""))
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
