"""MPI_Alltoall: the command of a launch, the daemons that it asks for, and what is read of its report."""

from __future__ import annotations

import json
import shlex
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from bmwg.drivers.workload import mpi, mpi_launch
from bmwg.methodology.errors import ConfigError, DriverError, TestbedError
from bmwg.methodology.kinds.streams import profile
from bmwg.methodology.kinds.streams.kind import STREAMS
from bmwg.methodology.kinds.streams.records import (
    Crossing,
    Exchange,
    StreamsResult,
    StreamsSpec,
    Transport,
    Way,
)
from bmwg.methodology.records import OutcomeType, Validity
from bmwg.reports.kinds.repeated.answers import Answered
from bmwg.reports.kinds.streams import collective
from bmwg.reports.kinds.streams.physics import PHYSICS
from bmwg.reports.render.forms.rst import restructured
from bmwg.schemas.validation import problems

TEXT = (Path(__file__).parents[2] / "data" / "workloads" / "alltoall-openmpi-4.1.4.txt").read_text()
SPEC = StreamsSpec(
    workload="mpi",
    transport=Transport.TCP,
    exchange=Exchange.ALL_TO_ALL,
    way=Way.FORWARD,
    parallel=2,
    message_octets=16384,
    window_octets=0,
    load_bps=0,
    duration_s=0.4,
    omit_s=0,
    pods=2,
    number=1,
)
LEAVING = 2 * 2 * 16384  # of each pod: two processes, each to the other pod's two
ENDS = [SimpleNamespace(address=f"198.18.0.{2 + one}", interface="net0") for one in range(2)]


def ran(text: str = TEXT, **changes):
    return {"output": text, "status": 0, "fault": "", "process_ns": 1_500_000_000, **changes}


def changed(**changes) -> str:
    lines = TEXT.splitlines()
    return "\n".join([lines[0], json.dumps({**json.loads(lines[1]), **changes}), lines[2]]) + "\n"


def crossed(result: StreamsResult, octets: int | None = None) -> StreamsResult:
    """The same, over one interface both ways."""
    carried = result.received_octets if octets is None else octets
    both = [Crossing(at=f"pod0/net0{back}", octets=carried, frames=1000) for back in ("", ", back")]
    return replace(result, crossings=tuple(both), wall_ns=1_600_000_000)


def test_a_report_gives_whole_operations_and_what_left_each_pod() -> None:
    found = mpi.read(ran(), SPEC)
    assert found.faults == ()
    assert found.operations == 204
    assert found.elapsed_ns == 443_048_129
    assert found.received_octets == found.sent_octets == 204 * LEAVING
    assert round(found.mean_operation_ns) == 2_171_805
    assert found.operation_ns["p99"] == 4_124_554
    assert found.effective["more_processes_than_cpus"] == "yes"
    assert found.effective["mpi_yield_when_idle"] == "1"
    line = {"spec": SPEC.as_builtins(), "result": crossed(found).as_builtins()}
    assert problems(line, "streams") == []
    assert StreamsSpec.from_builtins(line["spec"]) == SPEC
    assert StreamsResult.from_builtins(line["result"]) == crossed(found)


def test_what_is_no_all_to_all_test_is_written_as_before() -> None:
    spec = replace(SPEC, exchange=Exchange.BULK)
    assert "pods" not in spec.as_builtins()
    assert not {"operations", "operation_ns"} & StreamsResult().as_builtins().keys()
    with pytest.raises(ValueError, match="pods"):
        replace(spec, pods=4)
    with pytest.raises(ValueError, match="pods"):
        replace(SPEC, pods=3)


@pytest.mark.parametrize(
    "changes",
    [
        {"processes": 3},
        {"block_octets": 1024},
        {"btl": "vader,tcp,self"},
        {"mpi_yield_when_idle": "0"},
        {"operations": "204"},
        {"elapsed_ns": 10},
        {"operation_ns": {"min": 1}},
        {"format": "bmwg-alltoall/2"},
    ],
)
def test_a_report_of_another_test_is_a_named_error_and_never_a_number(changes) -> None:
    with pytest.raises(DriverError, match="MPI-02"):
        mpi.read(ran(changed(**changes)), SPEC)


def test_another_version_no_report_and_two_are_refused() -> None:
    with pytest.raises(TestbedError, match="MPI-01"):
        mpi.read(ran(changed(library="Open MPI v5.0.3")), SPEC)
    lines = TEXT.splitlines()
    for text in ("\n".join((lines[0], lines[2])), "\n".join((lines[1], lines[1], lines[2]))):
        with pytest.raises(DriverError, match="MPI-02"):
            mpi.read(ran(text), SPEC)


def test_a_launch_that_failed_is_a_fault_in_its_own_words() -> None:
    said = "----------\nORTE was unable to reliably start one or more daemons.\nbmwg-status 1\n"
    found = mpi.read(ran(said, status=1), SPEC)
    assert found.faults == ("mpirun: exit status 1: ORTE was unable to reliably start one or more daemons.",)
    late = mpi.read(ran("", status=None, fault="mpirun did not end within 20 s"), SPEC)
    assert late.faults == ("mpirun did not end within 20 s",)
    wrong = mpi.read(ran(changed(wrong_blocks=1)), SPEC)
    assert "other octets" in wrong.faults[0]


def test_the_launcher_is_told_tcp_alone_and_where_its_processes_stand() -> None:
    command = mpi.launcher(SPEC, ENDS, "/x/alltoall")
    told = " ".join(command)
    for words in (
        "--mca btl tcp,self",
        "--mca btl_tcp_if_include net0",
        "--mca mpi_yield_when_idle 1",
        "--host 198.18.0.2:2,198.18.0.3:2 -n 4",
        "/x/alltoall 16384 400",
    ):
        assert words in told
    assert command[command.index("plm_rsh_agent") + 1] == mpi_launch.AGENT


def test_orders_are_read_of_the_launchers_output_and_answered_in_the_pods(tmp_path) -> None:
    (tmp_path / "output").write_text(TEXT.splitlines()[0] + "\nhalf a li")
    orders = mpi_launch.ordered(folder=str(tmp_path), count=1, within_s=0.0)
    ((end, command),) = mpi.daemons(ENDS, orders)
    assert end is ENDS[1]
    assert command[:3] == ["orted", "-mca", "orte_leave_session_attached"]
    assert "455737344.0;tcp://198.18.0.2:57179" in command
    assert "echo bmwg-order" in command
    with pytest.raises(DriverError, match="MPI-03"):
        mpi.daemons(ENDS, [["198.18.0.3", "sh", "-c", "orted"]])
    with pytest.raises(DriverError, match="MPI-03"):
        mpi.daemons(ENDS, [])


def test_the_end_of_a_launch_is_its_last_line(tmp_path) -> None:
    (tmp_path / "output").write_text(TEXT)
    assert mpi_launch.finished(folder=str(tmp_path), within_s=0.0)["status"] == 0
    (tmp_path / "output").write_text(TEXT + "more\n")
    late = mpi_launch.finished(folder=str(tmp_path), within_s=0.0)
    assert late["status"] is None
    assert "did not end" in late["fault"]
    assert shlex.join(mpi_launch.SHELL)  # what prints it


@pytest.mark.parametrize(
    "changes",
    [
        {"exchange": Exchange.BULK},
        {"transport": Transport.UDP},
        {"way": Way.REVERSE},
        {"window_octets": 4096},
        {"omit_s": 1},
        {"pods": 4},
    ],
)
def test_what_it_cannot_do_is_refused(changes) -> None:
    made = mpi.Mpi([])
    made.attach(ENDS)
    with pytest.raises(ConfigError, match="LOAD-03"):
        made.run(replace(SPEC, **changes))


def test_an_execution_that_missed_an_interface_in_either_direction_is_no_measurement() -> None:
    good = crossed(mpi.read(ran(), SPEC))
    assert STREAMS.assessed(SPEC, good).validity is Validity.VALID
    back = replace(good.crossings[1], octets=good.received_octets - 1)
    judged = STREAMS.assessed(SPEC, replace(good, crossings=(good.crossings[0], back)))
    assert judged.validity is Validity.INCONSISTENT
    assert "back carried" in judged.reason
    assert STREAMS.assessed(SPEC, replace(good, elapsed_ns=10_000_000)).validity is Validity.INCOMPLETE


def test_what_left_a_pod_follows_from_the_operations() -> None:
    """Octets of fewer blocks, or of more, are refused by VER-34."""
    good = crossed(mpi.read(ran(), SPEC))
    told = {count.what: count for count in PHYSICS.counts(SPEC, replace(good, sent_octets=1))}
    assert told["octets that left a pod"].least == 204 * LEAVING
    assert told["octets that left a pod"].most == 204 * LEAVING
    assert told["octets that left a pod"].found == 1


def measured(planned) -> Answered:
    """An answer of two executions."""
    planned = replace(planned, asked=replace(planned.asked, wanted=2, least=2), spec=SPEC)
    results = [crossed(mpi.read(ran(), SPEC))] * 2
    outcome = STREAMS.answered(planned, [STREAMS.tried(seq, SPEC, one) for seq, one in enumerate(results, 1)])
    assert outcome.type is OutcomeType.MEASURED
    assert outcome.values[0].unit == "ns"
    return Answered(planned=planned, outcome=outcome, results=tuple(results), deployment="d-1", by_number={})


def page_of(answer: Answered, nodes: list[str], machines: dict) -> str:
    told = {"endpoints": [{"node": node} for node in nodes], "machines": machines}
    run = SimpleNamespace(platform={"deployments": {"d-1": told}})
    return restructured(collective.lines(run, [answer])).replace("\\", "")


def test_the_documents_six_rows_stand_beside_ours_and_say_whose_they_are() -> None:
    plan = [one for one in profile.PROFILES.load("dcn00").plan() if one.test_id.startswith("PP-MPI")]
    assert {one.metric for one in plan} == {"all_to_all_time"}
    assert {one.spec.parallel for one in plan} == {1, 2, 4}
    answer = measured(plan[0])
    page = page_of(answer, ["dut1", "dut1"], {})
    for words in ("20.11", "531.39", "BMP2VMP same host", "2 pods, processes a pod: 2", "2.17"):
        assert words in page
    shown = collective.beside(answer).replace("\u00a0", " ")
    assert "4 processes on 2 CPUs: indicative" in shown
    assert "p99 4.125 ms (4.125 ms to 4.125 ms, 50%)" in shown  # of both executions


@pytest.mark.parametrize(
    ("nodes", "hosts", "row"),
    [
        (["dut1", "dut2"], {}, "BMP2BMP different host"),
        (["dut1", "vm0"], {"vm0": "dut1"}, "BMP2VMP same host"),
        (["dut1", "vm0"], {"vm0": "dut2"}, "BMP2VMP different host"),
        (["vm0", "vm1"], {"vm0": "dut1", "vm1": "dut1"}, "VMP2VMP same host"),
        (["vm0", "vm1"], {"vm0": "dut1", "vm1": "dut2"}, "VMP2VMP different host"),
    ],
)
def test_an_answer_stands_in_the_row_of_its_places_and_no_translated_time_does(nodes, hosts, row) -> None:
    plan = profile.PROFILES.load("vm-mpi").plan()
    answer = measured(next(one for one in plan if one.cell.path == "vmp2vmp"))
    for accelerator in ("kvm", "tcg"):
        machines = {name: {"host": host, "accelerator": accelerator} for name, host in hosts.items()}
        rows = [" ".join(part.split()) for part in page_of(answer, nodes, machines).split("* - ")]
        (mine,) = [one for one in rows if "vmp2vmp, bridge: 2 pods" in one]
        assert mine.startswith(f"{row} ")
        translated = bool(hosts) and accelerator == "tcg"
        assert ("measured, translated by TCG" in mine) is translated
        assert ("2.17" in mine) is not translated
    assert "as the kernels of host and guests count CPUs" in collective.beside(answer)


def test_an_answer_without_a_deployment_stands_in_no_row() -> None:
    answer = measured(profile.PROFILES.load("vm-mpi").plan()[0])
    assert "bmp2vmp, bridge" not in page_of(answer, [], {})
    assert "bmp2vmp, bridge" not in page_of(answer, ["vm0"], {"vm0": {"accelerator": "kvm"}})
