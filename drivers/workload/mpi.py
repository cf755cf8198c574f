"""MPI_Alltoall between pods by Open MPI: a launcher in the first pod, a daemon in each other one.

No pod has a login service: the launcher says which daemons it wants, and the nodes' agents start them in the
pods (docs/adr/0400). Payload goes by TCP over the pods' interface alone, within a pod over its loopback:
nothing by shared memory. Ids: MPI-01 another version, MPI-02 a report that cannot be believed, MPI-03 a
launcher that asked for other daemons than one a pod.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import Any, ClassVar

from bmwg.drivers.api.protocols import JsonValue, Missing, NestedNode, PodEnd
from bmwg.drivers.api.workload import Takes
from bmwg.drivers.workload import mpi_build, mpi_launch
from bmwg.drivers.workload.mpi_launch import AGENT, SHELL
from bmwg.drivers.workload.of_programs import MEND
from bmwg.drivers.workload.of_streams import OfStreams, StreamsWorkload
from bmwg.drivers.workload.printed import count
from bmwg.methodology.errors import ConfigError, DriverError, TestbedError
from bmwg.methodology.kinds.streams.records import Exchange, StreamsResult, StreamsSpec, Transport, Way

BTL = "tcp,self"
FORMAT = "bmwg-alltoall/1"
_VERSIONS = re.compile(r"Open MPI v4\.1\.\d+")  # 4.1.4 is what was tried
_ORDERS_S, _START_S, _MARGIN_S = 15.0, 20.0, 10.0
_PATIENCE = 5.0  # choice: times as long where a pod is in a guest, whose instructions may be translated
_COUNTS = ("processes", "block_octets", "operations", "elapsed_ns", "wrong_blocks", "cpus")
_SHARES = ("min", "p50", "p90", "p99", "max")


class Mpi(OfStreams):
    """Open MPI with a program of the toolkit's own, one launch for each execution."""

    program: ClassVar[str] = "mpirun"
    takes: ClassVar[Takes] = Takes(least=2, most=None)

    def probe(self) -> Missing | None:
        """Tell whether Open MPI and the program are on all nodes."""
        for node in self._nodes:
            found = node.call_within(60.0, mpi_build.lack)
            if found:
                return Missing(**{**found, "reason": f"node {node.name}: {found['reason']}"})
        return None

    def describe(self) -> Mapping[str, JsonValue]:
        """The program with its digest and Open MPI's version, as the nodes tell them."""
        told = {node.name: node.call_within(60.0, mpi_build.described) for node in self._nodes}
        return {"program": self.program, "versions": told, "btl": BTL, "shared_memory": "nothing goes by it"}

    def run(self, spec: StreamsSpec, /) -> StreamsResult:
        """Launch the program once and read its report.

        Raises ConfigError LOAD-03, TestbedError MPI-01, DriverError MPI-02, MPI-03, what `started` raises.
        """
        ends = self.all_attached("nothing was sent")
        if wrong := _cannot(spec, len(ends)):
            raise ConfigError("LOAD-03", "workload mpi; nothing was sent", expected=wrong[0], found=wrong[1])
        node = ends[0].pod.node
        # a guest sees the files of its machine: no compiler need be asked in the guest
        program = str(node.machine.call_within(60.0, mpi_build.described)["program"])
        slower = _PATIENCE if any(isinstance(end.pod.node, NestedNode) for end in ends) else 1.0
        began_ns = time.monotonic_ns()
        orders_s, within_s = slower * _ORDERS_S, slower * (spec.duration_s + _START_S)
        with ExitStack() as stack:
            folder = stack.enter_context(self.started(ends[0], [*SHELL, *launcher(spec, ends, program)]))
            orders = node.call_within(
                orders_s + _MARGIN_S,
                mpi_launch.ordered,
                folder=folder,
                count=len(ends) - 1,
                within_s=orders_s,
            )
            if len(orders) == len(ends) - 1:  # else it has ended, or will: its own words say why
                for end, command in daemons(ends, orders):
                    stack.enter_context(self.started(end, command))
            else:
                within_s = 0.0
            ran = node.call_within(
                within_s + _MARGIN_S, mpi_launch.finished, folder=folder, within_s=within_s
            )
        return read({**ran, "process_ns": time.monotonic_ns() - began_ns}, spec)


def launcher(spec: StreamsSpec, ends: Sequence[PodEnd], program: str) -> list[str]:
    """Return the command of mpirun in the first pod."""
    hosts = ",".join(f"{end.address}:{spec.parallel}" for end in ends)
    settings = {
        "plm": "rsh",
        "plm_rsh_agent": AGENT,
        "plm_rsh_no_tree_spawn": "1",  # all daemons are asked for by the launcher itself
        "oob_tcp_if_include": ends[0].interface,
        "pml": "ob1",
        "btl": BTL,
        "btl_tcp_if_include": ends[0].interface,
        "mpi_yield_when_idle": "1",
    }
    mca = [word for name, value in settings.items() for word in ("--mca", name, value)]
    command = ["mpirun", "--allow-run-as-root", "--leave-session-attached", "--oversubscribe"]
    command += ["--bind-to", "none", "--map-by", "slot", *mca, "--host", hosts, "-n", str(spec.processes)]
    return [*command, program, str(spec.message_octets), str(round(spec.duration_s * 1000))]


def daemons(ends: Sequence[PodEnd], orders: Sequence[Sequence[str]]) -> Sequence[tuple[PodEnd, list[str]]]:
    """Return which daemon starts in which pod. Raises DriverError MPI-03."""
    asked = {host: list(command) for host, *command in orders}
    missing = [end.address for end in ends[1:] if asked.get(end.address, [])[:1] != ["orted"]]
    if missing:
        raise DriverError(
            "MPI-03",
            "mpirun: the daemons that it asked for",
            expected=f"orted on {', '.join(missing)}",
            found="; ".join(" ".join(order)[:80] for order in orders) or "none",
        )
    return [(end, asked[end.address]) for end in ends[1:]]


def _cannot(spec: StreamsSpec, ends: int) -> tuple[str, str] | None:
    """Return what this driver can do and was not asked for, with what it was."""
    if spec.exchange is not Exchange.ALL_TO_ALL or spec.transport is not Transport.TCP:
        return f"exchange {Exchange.ALL_TO_ALL} over tcp", f"{spec.exchange} over {spec.transport}"
    if spec.way is not Way.FORWARD or spec.window_octets or spec.load_bps or spec.omit_s:
        return "one operation after the other, with the system's buffers", str(spec.as_builtins())
    if spec.pods != ends:
        return f"{spec.pods} pods attached", str(ends)
    return None


def read(ran: Mapping[str, Any], spec: StreamsSpec) -> StreamsResult:
    """Read what a launch ended with. Raises TestbedError MPI-01, DriverError MPI-02."""
    process_ns, text = int(ran["process_ns"]), str(ran["output"])
    words = " ".join(" ".join(line.split()) for line in text.splitlines() if _said(line))[-200:]
    if ran["fault"]:
        fault = f"{ran['fault']}: {words}" if words else str(ran["fault"])
        return StreamsResult(process_ns=process_ns, faults=(fault,))
    if ran["status"] != 0:
        return StreamsResult(process_ns=process_ns, faults=(f"mpirun: exit status {ran['status']}: {words}",))
    told = _report(text)
    if not _VERSIONS.fullmatch(str(told.get("library"))):
        found = str(told.get("library", "none told"))[:80]
        raise TestbedError("MPI-01", "Open MPI: its version", expected="4.1", found=found, hint=MEND)
    try:
        return _result(told, spec, process_ns)
    except (KeyError, TypeError, ValueError) as error:
        raise _unreadable(f"{type(error).__name__}: {error}") from error


def _said(line: str) -> bool:
    return bool(line.strip("- ")) and not line.startswith(("bmwg-", "{"))


def _report(text: str) -> dict[str, Any]:
    lines = [line for line in text.splitlines() if line.startswith("{")]
    try:
        (line,) = lines
        told = json.loads(line)
    except ValueError as error:
        raise _unreadable(f"{len(lines)} lines of a report") from error
    if told.get("format") != FORMAT:
        raise _unreadable(f"format {told.get('format')!r}")
    return dict(told)


def _result(told: Mapping[str, Any], spec: StreamsSpec, process_ns: int) -> StreamsResult:
    counts = {name: count(told[name]) for name in _COUNTS}
    wanted = {"processes": spec.processes, "block_octets": spec.message_octets}
    differs = [
        f"{name} {counts[name]}, asked {value}" for name, value in wanted.items() if counts[name] != value
    ]
    in_force = {"btl": BTL, "mpi_yield_when_idle": "1"}
    differs += [
        f"{name} {told[name]!r}, set {value!r}" for name, value in in_force.items() if told[name] != value
    ]
    if differs:
        raise ValueError("; ".join(differs))
    times = {name: count(told["operation_ns"][name]) for name in _SHARES}
    if sorted(times.values()) != list(times.values()) or times["max"] > counts["elapsed_ns"]:
        raise ValueError(f"times of operations {times}, {counts['elapsed_ns']} ns in all")
    if counts["wrong_blocks"]:
        return StreamsResult(
            process_ns=process_ns, faults=(f"{counts['wrong_blocks']} blocks arrived with other octets",)
        )
    octets = counts["operations"] * spec.leaving_octets
    crowded = counts["processes"] > counts["cpus"]
    return StreamsResult(
        sent_octets=octets,
        received_octets=octets,
        elapsed_ns=counts["elapsed_ns"],
        process_ns=process_ns,
        operations=counts["operations"],
        operation_ns=times,
        effective={
            "version": str(told["library"]),
            "processes": counts["processes"],
            "cpus": counts["cpus"],
            "more_processes_than_cpus": "yes" if crowded else "no",
            **in_force,
        },
    )


def _unreadable(found: str) -> DriverError:
    return DriverError(
        "MPI-02",
        "the program of MPI_Alltoall: its report",
        expected=f"one line of {FORMAT} with what was asked for",
        found=found[:200],
        hint="nothing was concluded",
    )


_: type[StreamsWorkload] = Mpi
