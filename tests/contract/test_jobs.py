"""Programs of jobs in a host's forms: real ones, with equal limits, and nothing stays."""

from __future__ import annotations

import shutil
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import pytest
from tests.contract.paths_support import traces
from tests.contract.streams_support import needs
from tests.needs import skip_for
from tests.unit.jobs.made import planned

from bmwg.drivers import registry
from bmwg.drivers.machines import guest_disk, qemu
from bmwg.drivers.machines.architecture import AMD64, ARM64
from bmwg.drivers.machines.qemu import Accelerator
from bmwg.drivers.nodes import job_files
from bmwg.methodology.errors import DriverError
from bmwg.methodology.kinds.jobs.kind import JOBS
from bmwg.methodology.kinds.jobs.profile import EXPERIMENTS
from bmwg.methodology.records import BAREMETAL, ENGINES, POD, OutcomeType, Validity
from bmwg.resources.kinds.jobs import places
from bmwg.resources.run.open_run import open_run
from bmwg.resources.run.settings import Settings

pytestmark = needs("dd")
PROGRAMS = {
    "sysbench": "sysbench",
    "hpcc": "hpcc",
    "bonnie": "bonnie++",
    "fio": "fio",
    "dd": "dd",
    "mariadb": "mariadbd",
}
MIB = 1 << 20


def ran(bed, form, experiment: str, **changes):
    """One short execution, as the bench runs it."""
    spec = replace(planned(experiment).spec, number=1, **changes)
    made = registry.workload(spec.workload, kind=JOBS.name)([bed.node("dut1")])
    skip_for(made.probe())
    made.attach((form,))
    result = replace(made.run(spec), wall_ns=1 << 50)
    places.cleared(form)
    return spec, result


SMALL = {
    "sysbench_fileio": {"size_octets": 16 * MIB, "duration_s": 1.0},
    "dd_write": {"size_octets": 16 * MIB},
    "dd_read": {"size_octets": 16 * MIB},
    "mariadb": {"problem": 100, "duration_s": 1.0},
    "fio_write": {"size_octets": 16 * MIB, "duration_s": 1.0},
    "fio_read": {"size_octets": 16 * MIB, "duration_s": 1.0},
    "linpack": {"problem": 200},
    "sysbench_cpu": {"duration_s": 1.0},
    "sysbench_threads": {"duration_s": 1.0},
    "sysbench_memory": {"duration_s": 1.0},
}


def of_form(bed, hosting: str):
    """A form that can be had here; else the test is skipped with what is missing."""
    skip_for(places.lacking(hosting, bed, planned("sysbench_cpu").spec, translated=True))
    return places.form(bed, hosting)


@pytest.mark.parametrize("hosting", [BAREMETAL, POD, *ENGINES])
def test_programs_tell_their_figures_in_each_form_and_nothing_stays(bed, hosting):
    before = traces(bed.run_dir, bed.token), bed.undo.pending
    with of_form(bed, hosting) as form:
        for experiment, changes in SMALL.items():
            if shutil.which(PROGRAMS[EXPERIMENTS[experiment].workload]) is None:
                continue
            spec, result = ran(bed, form, experiment, **changes)
            assert result.faults == (), experiment
            found = JOBS.assessed(spec, result)
            assert found.validity in (Validity.VALID, Validity.INCOMPLETE), (experiment, found)
            assert list(Path(form.on_node).iterdir()) == []
    assert (traces(bed.run_dir, bed.token), bed.undo.pending) == before


def test_bonnie_writes_characters_seeks_and_makes_small_files_and_none_stays(bed):
    if shutil.which(PROGRAMS["bonnie"]) is None:
        pytest.skip("needs bonnie++: sh setup/install.sh workloads")
    with places.form(bed, BAREMETAL) as form:
        small = {"job": "whole", "size_octets": 2 * MIB, "problem": 1, "direct": False}
        _, result = ran(bed, form, "bonnie", **small)
        assert result.faults == ()
        assert set(result.told) <= set(EXPERIMENTS["bonnie_whole"].figures)
        assert list(Path(form.on_node).iterdir()) == []


def test_a_database_server_that_differs_or_does_not_begin_is_named_and_goes(bed):
    before = traces(bed.run_dir, bed.token), bed.undo.pending
    with places.form(bed, BAREMETAL) as form:
        with pytest.raises(DriverError) as wrong:  # a redo log is a multiple of pages
            ran(bed, form, "mariadb", size_octets=(16 << 20) + 1)
        assert wrong.value.error_id == "MARI-03"
        places.cleared(form)
        (Path(form.on_node) / "data").write_text("a file where its folder would be")
        _, found = ran(bed, form, "mariadb", problem=100)
        assert "mariadb-install-db" in found.faults[0]
        assert list(Path(form.on_node).iterdir()) == []
    assert (traces(bed.run_dir, bed.token), bed.undo.pending) == before


@pytest.mark.parametrize("hosting", [POD, *ENGINES])
def test_all_forms_on_one_kernel_have_the_same_limits(bed, hosting):
    with of_form(bed, hosting) as pod, places.form(bed, BAREMETAL) as native:
        limits = native.evidence["native_programs"]["job"]
        assert limits == {name: pod.evidence["pod"][name] for name in limits}
        for form in (native, pod):
            made = registry.workload("dd", kind=JOBS.name)([bed.node("dut1")])
            made.attach((form,))
            told = made.ran(["grep", "Cpus_allowed_list", "/proc/self/status"], 5.0)
            assert told["output"].split()[-1] == bed.testbed.pods.cpuset


def test_a_form_or_room_that_is_not_there_is_told_by_name(bed):
    missing = places.lacking("unikernel", bed, planned("sysbench_cpu").spec, translated=True)
    assert missing is not None
    assert "unikernel" in missing.what
    if qemu.probe_accelerator()[0] is not Accelerator.KVM:
        of_a_size = places.lacking("kvm", bed, planned("linpack").spec, translated=True)
        unasked = places.lacking("kvm", bed, planned("sysbench_cpu").spec, translated=False)
        assert of_a_size is not None
        assert "fixed size" in of_a_size.what
        assert unasked is not None
        assert "guests" in unasked.mend


@pytest.mark.slow
def test_a_guest_is_a_form_with_a_pods_limits_and_goes(bed):
    before = traces(bed.run_dir, bed.token), bed.undo.pending
    with of_form(bed, "kvm") as form:
        limits = form.evidence["native_programs"]["job"]
        assert limits["cpuset_cpus"] == form.evidence["machines"]["vm0"]["pod_cpus"]
        assert bed.guests.names == ()
        if shutil.which("sysbench"):
            spec, result = ran(bed, form, "sysbench_cpu", duration_s=1.0)
            assert result.faults == ()
            assert JOBS.assessed(spec, result).validity in (Validity.VALID, Validity.INCOMPLETE)
    assert (traces(bed.run_dir, bed.token), bed.undo.pending) == before
    assert places.no_space(bed, 0) is None
    missing = places.no_space(bed, 1 << 60)
    assert missing is not None
    assert "free disk" in missing.what


@pytest.mark.slow
def test_a_guest_has_a_disk_of_its_own_for_jobs_and_its_files_go(bed):
    before = traces(bed.run_dir, bed.token), bed.undo.pending
    skip_for(places.lacking("kvm", bed, planned("dd_write").spec, translated=True))
    with places.form(bed, "kvm", disk_octets=128 * MIB) as form:
        assert "own" in str(form.evidence["files"])
        assert form.evidence["machines"]["vm0"]["own_disk"]
        told = form.place.node.call(job_files.file_system, folder=form.on_node)
        assert told == guest_disk.FILE_SYSTEM
        room = form.place.node.call(job_files.free_octets, folder=form.on_node)
        assert 64 * MIB < room < 128 * MIB
        for experiment in ("dd_write", "dd_read", "fio_write", "mariadb"):
            if shutil.which(PROGRAMS[EXPERIMENTS[experiment].workload]):
                spec, result = ran(bed, form, experiment, **SMALL[experiment])
                assert result.faults == (), experiment
                assert JOBS.assessed(spec, result).validity in (Validity.VALID, Validity.INCOMPLETE)
    assert (traces(bed.run_dir, bed.token), bed.undo.pending) == before


@pytest.mark.slow
def test_a_guest_of_another_architecture_runs_programs_of_its_own_and_goes(bed):
    before = traces(bed.run_dir, bed.token), bed.undo.pending
    other = next(one for one in (AMD64, ARM64) if not one.native)
    asked = planned("dd_write").spec
    if missing := places.lacking("kvm", bed, asked, translated=True, architecture=other.name):
        pytest.skip(f"{missing.what}: {missing.reason}; {missing.mend}")
    with places.form(bed, "kvm", disk_octets=128 * MIB, architecture=other.name) as form:
        machine = form.evidence["machines"]["vm0"]
        assert (machine["architecture"], machine["accelerator"]) == (other.name, "tcg")
        assert other.kernel in machine["accelerator_reason"]
        made = registry.workload("sysbench", kind=JOBS.name)([form.place.node])
        assert made.probe() is None
        assert str(made.describe()["versions"]["vm0"]).startswith("sysbench 1.0")
        made.attach((form,))
        assert made.ran(["uname", "-m"], 60.0)["output"].split() == [other.kernel]
        for experiment in ("sysbench_cpu", "dd_write"):
            spec, result = ran(bed, form, experiment, **SMALL[experiment])
            assert result.faults == (), experiment
            assert JOBS.assessed(spec, result).validity in (Validity.VALID, Validity.INCOMPLETE)
    assert (traces(bed.run_dir, bed.token), bed.undo.pending) == before


@pytest.mark.parametrize("hosting", [BAREMETAL, POD, *ENGINES])
def test_a_program_that_outlives_its_time_is_a_fault_and_ends(bed, hosting):
    with of_form(bed, hosting) as form:
        made = registry.workload("dd", kind=JOBS.name)([bed.node("dut1")])
        made.attach((form,))
        told = made.ran(["sleep", "61.5"], 3.0)
        assert "did not end" in told["fault"]
        left = made.ran(["sh", "-c", "sleep 0.3; cat /proc/[0-9]*/cmdline | tr '\\0' ' '"], 5.0)
        assert "sleep 61.5" not in left["output"], "its client was ended, and so was the program"


@pytest.mark.parametrize("hosting", ENGINES)
def test_an_engine_runs_programs_under_its_own_filter_and_passes_on_their_status(bed, hosting):
    with of_form(bed, hosting) as form:
        made = registry.workload("dd", kind=JOBS.name)([bed.node("dut1")])
        made.attach((form,))
        told = made.ran(["sh", "-c", "grep Seccomp: /proc/self/status; echo wrong >&2; exit 7"], 10.0)
        assert (told["status"], told["errors"].strip()) == (7, "wrong")
        assert told["output"].split()[-1] == "2"
        assert form.evidence["pod"]["system_call_filter"] == "filter (seccomp)"
        refused = made.ran(["no-such-program-here"], 10.0)
        assert refused["status"] not in (0, None)


def test_a_cgroup_that_is_gone_lets_no_program_run_elsewhere(bed):
    with places.form(bed, BAREMETAL) as form:
        gone = replace(form, place=replace(form.place, cgroup="/bmwg-never-was"))
        made = registry.workload("dd", kind=JOBS.name)([bed.node("dut1")])
        made.attach((gone,))
        with pytest.raises(DriverError, match="EXEC-03"):
            made.ran(["true"], 5.0)


def test_a_program_that_needs_more_memory_than_its_limit_is_a_fault(bed):
    with places.form(bed, BAREMETAL) as form:
        made = registry.workload("dd", kind=JOBS.name)([bed.node("dut1")])
        made.attach((form,))
        octets = 2 * bed.testbed.pods.memory_octets
        told = made.ran(["dd", "if=/dev/zero", "of=/dev/null", f"bs={octets}", "count=1"], 30.0)
    assert told["status"] not in (0, None)


def test_one_form_that_cannot_be_made_leaves_the_others_measured(tmp_path, monkeypatch):
    # no figure counts here, so it may stand beside another run on the same CPUs
    monkeypatch.setattr("bmwg.resources.run.open_run.reserve_claims", lambda *_, **__: nullcontext())
    settings = Settings(results=tmp_path, run_id="forms", order_seed=1)
    run = open_run(settings, {"HB-DDW-1"})
    try:
        (run.store.folder / f"jobs-{POD}").write_text("")  # where the pod's folder has to be
        answers = {one.cell.hosting: one for one in run.outcomes("HB-DDW-1")}
        assert run.stopped is None
    finally:
        run.close()
    found = answers[POD]
    assert found.type is OutcomeType.INVALID
    assert f"form {POD} was not made" in found.reason, found.reason
    assert answers[BAREMETAL].type is OutcomeType.MEASURED, answers[BAREMETAL]
    assert [name for name, one in answers.items() if "was not made" in (one.reason or "")] == [POD]
    assert run.ledger.pending == ()
