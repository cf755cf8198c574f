"""A JMeter for each client, in a pod that stands, and one instant at which all of them begin; node functions.

JMeter's start takes seconds, and nobody knows how many. So each client warms up and then waits at a gate of
the node's, which is opened when the last one has come. When each sent its first request is told from that
instant on.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from bmwg.drivers.api.protocols import JsonValue
from bmwg.drivers.containers import pod_programs
from bmwg.drivers.nodes import cgroups, process, programs
from bmwg.drivers.workload import apache, jmeter
from bmwg.drivers.workload.gate import PORT_NUMBER, Gate
from bmwg.drivers.workload.jmeter_plan import BEGIN, WARM_UP, own_plan
from bmwg.drivers.workload.mpi_launch import SHELL, STATUS

HEAP = ("-Xms32m", "-Xmx256m", "-XX:+UseSerialGC")  # choice: one client holds one object at a time
CLIENT_OCTETS = 160 << 20  # choice: above what one of these was measured to hold
_SETTLE_S = 1.0  # choice: what a JVM that waits still has to compile is done by then
_LOOK_S = 0.2  # choice: looking at many programs takes CPU time from them
_WORDS, _TOLD = 200, 4  # choice: of what a program said, and of how many
_PLAN, _NAMES, _RESULTS, _LOG = "plan.jmx", "names", "results.csv", "log"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientProgram:
    """A client's JMeter: its session on the node, and the folder of its files."""

    number: int
    session: Mapping[str, int]
    folder: str
    pod: Mapping[str, JsonValue]

    @property
    def status(self) -> int | None:
        """How it ended, as its shell says in the last line; None while it has not."""
        last = programs.said(self.folder).rpartition(" | ")[2].split()
        return int(last[1]) if len(last) == 2 and last[0] == STATUS else None

    @property
    def fault(self) -> str:
        """Say how it ended, where that was not well; empty where it runs or has done its work."""
        gone = programs.fault(folder=self.folder, **self.session)  # before its status, which is its last word
        status = self.status
        if status == 0 or (status is None and not gone):
            return ""
        said = " ".join(programs.said(self.folder).split())[-_WORDS:]
        stands = process.same(self.pod["pid"], self.pod["start_ticks"])
        silent = "it ended without a status" if stands else "its pod has ended"
        how = silent if status is None else f"exit status {status}"
        return f"client {self.number}: jmeter: {how}: {said}"

    @property
    def memory_octets(self) -> int:
        """What all in its pod holds, of what is shared its share; an engine starts programs by itself."""
        names = pod_programs.cgroups_of(int(self.pod["pid"]))
        held = programs.use_of(set().union(*map(cgroups.members, names)))
        return int(held["memory_octets"])

    @property
    def ended(self) -> bool:
        """Whether it has ended, however."""
        return programs.fault(folder=self.folder, **self.session) is not None

    def stop(self) -> None:
        """End it and remove its folder. Idempotent."""
        pod_programs.stop(
            folder=self.folder, **self.session, of=self.pod["pid"], entered_by=self.pod.get("entered_by")
        )


def run(
    *,
    clients: list[dict[str, JsonValue]],
    gate: str,
    url: str,
    octets: int,
    requests: int,
    warm_up_requests: int,
    within_s: float,
) -> dict[str, JsonValue]:
    """Node function: have each of `clients` ask for `url` through its proxy, by `requests` of its own.

    A client has `number`, `proxy` (address and port), `folder` (on the node and in its pod) and `pod`, as
    `pod_programs` takes one. `gate` is the node's address that pods reach. Returns what `jmeter.run` does of
    all samples together, and `own_clients` with what each did, from the instant at which all were let go. A
    client that ended otherwise than well, or not in time, is a `fault` by its number. When one ends before
    all have come, nothing is sent.
    """
    program = jmeter.program(requests, *HEAP)
    md5 = hashlib.md5(apache.object_content(octets), usedforsecurity=False).hexdigest()
    began_ns, end_s = time.monotonic_ns(), time.monotonic() + within_s
    with ExitStack() as stack:
        opening = stack.enter_context(Gate(gate))
        running = []
        for client in clients:
            text = own_plan(
                number=client["number"],
                proxy=(str(client["proxy"][0]), int(client["proxy"][1])),
                gate=(gate, PORT_NUMBER),
                url=url,
                md5=md5,
                requests=requests,
                warm_up_requests=warm_up_requests,
            )
            running.append(_started(client, program, text))
            stack.callback(running[-1].stop)
        faults = list(_all_come(opening, running, end_s))
        stood_ns = 0 if faults else time.monotonic_ns() - began_ns
        memory_octets, instant_ns = 0, 0
        if not faults:
            memory_octets = sum(one.memory_octets for one in running)
            opening.look(_SETTLE_S)
            instant_ns = opening.open()
            faults = list(_all_ended(running, end_s))
        took_ns = time.monotonic_ns() - began_ns
        read = {one.number: _samples(one) for one in running}
    pooled = jmeter.told_of([row for rows in read.values() for row in rows], octets)
    own = {
        "each": [told_of(number, rows, octets, instant_ns) for number, rows in read.items()],
        "stood_ns": stood_ns,
        "memory_octets": memory_octets,
    }
    return {**pooled, "process_ns": took_ns, "fault": words_of(faults), "own_clients": own}


def _started(client: Mapping[str, JsonValue], program: Sequence[str], plan: str) -> ClientProgram:
    folder = str(client["folder"])
    # else Java asks for its own name at a name server, which a pod cannot reach
    names = f"127.0.0.1 localhost {Path(folder).name}\n"
    programs.write_files(folder=folder, files={_PLAN: plan, _NAMES: names})
    java = [program[0], f"-Djdk.net.hosts.file={folder}/{_NAMES}", *program[1:]]
    command = [*SHELL, *java, *jmeter.words(*(f"{folder}/{name}" for name in (_PLAN, _RESULTS, _LOG)))]
    session = pod_programs.start(command=command, folder=folder, **client["pod"])
    return ClientProgram(number=int(client["number"]), session=session, folder=folder, pod=client["pod"])


def _all_come(gate: Gate, running: Sequence[ClientProgram], end_s: float) -> Iterator[str]:
    """Wait until all are at the gate; say who ended before, or did not come in time."""
    numbers = {one.number for one in running}
    while missing := numbers - gate.waiting:
        gate.look(_LOOK_S)
        early = [one for one in running if one.ended]
        if early:
            for one in early:
                yield one.fault or f"client {one.number}: jmeter ended before all clients stood"
            return
        if time.monotonic() > end_s:
            names = ", ".join(map(str, sorted(missing)))
            yield f"clients {names} of {len(numbers)} did not stand within the time for all of it"
            return


def _all_ended(running: Sequence[ClientProgram], end_s: float) -> Iterator[str]:
    """Wait until all have ended; say who did not in time, or not well."""
    while left := [one for one in running if not one.ended]:
        if time.monotonic() > end_s:
            names = ", ".join(str(one.number) for one in left)
            yield f"clients {names} of {len(running)} did not end within the time for all of it"
            break
        time.sleep(_LOOK_S)
    yield from filter(None, (one.fault for one in running))


def words_of(faults: Sequence[str]) -> str:
    """Return the first faults as one sentence, and how many others there are."""
    more = len(faults) - _TOLD
    return "; ".join([*faults[:_TOLD], *([f"and {more} others"] if more > 0 else [])])


def _samples(one: ClientProgram) -> list[dict[str, str]]:
    file = Path(one.folder, _RESULTS)
    return jmeter.samples(file.read_text()) if file.exists() else []


def told_of(
    number: int, rows: Sequence[Mapping[str, str]], octets: int, instant_ns: int
) -> dict[str, JsonValue]:
    """Return what one client did, as `ClientRan` holds it."""
    mine = [row for row in rows if row["label"] not in (WARM_UP, BEGIN)]
    found = jmeter.told_of([dict(row) for row in rows], octets)
    begins = [int(row["timeStamp"]) for row in mine]
    ends = [int(row["timeStamp"]) + int(row["elapsed"]) for row in mine]
    return {
        "number": number,
        **{
            name: found[name] for name in ("requests", "failed", "non_2xx", "body_octets", "warm_up_requests")
        },
        "busy_ns": sum(int(row["elapsed"]) for row in mine) * jmeter.NS_PER_MS,
        "began_ns": min(begins) * jmeter.NS_PER_MS - instant_ns if mine else None,
        "ended_ns": max(ends) * jmeter.NS_PER_MS - instant_ns if mine else None,
    }
