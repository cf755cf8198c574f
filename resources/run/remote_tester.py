"""The tester of frames where its ports are: on another host, in an agent of its own there.

The driver object itself runs in that agent, whichever it is; it sees that host's interfaces, CPUs and clock,
so what it counts of them is its own machine's. The agent serves one call at a time, and one that misses its
deadline is ended with all that it started. The host's other agent, which gives ports back, is not held up.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

from bmwg.drivers.api.calls import P, R
from bmwg.drivers.api.protocols import JsonValue, TesterPort, TrafficDriver, TrafficLimits
from bmwg.drivers.nodes import process
from bmwg.drivers.nodes.ssh import SshNode
from bmwg.drivers.paths.bed import Bed
from bmwg.drivers.testbed.file import TESTER, Testbed, text_of_testbed
from bmwg.drivers.traffic.embedded.result import faulty
from bmwg.drivers.traffic.of_frames import OfFrames
from bmwg.methodology.errors import DriverError, ToolkitError
from bmwg.methodology.records import TrialResult, TrialSpec
from bmwg.methodology.trial.capabilities import Capability
from bmwg.reports.store.frame_codec import result_from_json, spec_to_json
from bmwg.resources.run import tester_agent

START_S = 240.0  # choice: the tester is built there where it never was
PORTS_S = 180.0  # choice: a driver has deadlines of its own, and tells more than a missed one
STRETCH = 2  # of a trial's load: so long do foreign generators that are too slow for it go on
TRIAL_MARGIN_S = 120.0  # beyond that: MoonGen's start (60 s), draining, and likewise
_LOST = "NODE-03"


def require_able(testbed: Testbed, host: SshNode, drain_s: float) -> None:
    """Start the tester on its host once and end it, before anything is made there.

    Raises what the driver raises for what the host lacks.
    """
    host.call_within(
        START_S,
        tester_agent.require_able,
        testbed=text_of_testbed(testbed),
        file=testbed.file,
        drain_s=drain_s,
    )


class RemoteTraffic(OfFrames):
    """A tester of frames on the host that a bed has for it, as a context manager."""

    def __init__(self, testbed: Testbed, bed: Bed, drain_s: float) -> None:
        self._testbed = testbed
        self._drain_s = drain_s
        self._bed = bed
        self._host = bed.hosts[TESTER]
        self._owner = f"{bed.owner}-agent"
        self._undo = 0
        place = self._host.place
        self._agent = SshNode(
            f"{TESTER}/agent",
            place["destination"],
            python=place["python"],
            options=place["options"],
            owner=self._owner,
        )

    @classmethod
    def for_testbed(cls, testbed: Testbed, run_dir: Path, drain_s: float) -> TrafficDriver:
        """Raise NotImplementedError: it needs the bed, whose host it is on."""
        raise NotImplementedError(f"{cls.__name__} is made for a bed that {testbed.file} describes")

    def __enter__(self) -> RemoteTraffic:
        self._undo = self._bed.undo.before("owner", self._host.place, owner=self._owner)
        try:
            self._agent.__enter__()
            self._call(
                START_S,
                tester_agent.begin,
                testbed=text_of_testbed(self._testbed),
                file=self._testbed.file,
                run_dir=str(self._bed.state_dir),
                drain_s=self._drain_s,
            )
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *exc: object) -> None:
        if self._agent.broken is None:
            with suppress(ToolkitError):  # what it left is ended below
                self._call(PORTS_S, tester_agent.end)
        self._agent.__exit__(None, None, None)
        self._host.call(process.terminate_owned, owner=self._owner)
        for name, text in self._host.call(tester_agent.logs, run_dir=str(self._bed.state_dir)).items():
            (self._bed.run_dir / name).write_text(text)
        self._bed.undo.done(self._undo)

    def _call(self, deadline_s: float, function: Callable[P, R], /, *args: P.args, **named: P.kwargs) -> R:
        return self._agent.call_within(deadline_s, function, *args, **named)

    def attach(self, ports: tuple[TesterPort, ...], /) -> TrafficLimits:
        """Attach as the tester does."""
        told = self._call(PORTS_S, tester_agent.attach, ports=[asdict(port) for port in ports])
        return TrafficLimits(
            min_frame_octets=told["min_frame_octets"],
            max_frame_octets=told["max_frame_octets"],
            capabilities=frozenset(map(Capability, told["capabilities"])),
        )

    def detach(self) -> None:
        """Detach as the tester does."""
        self._call(PORTS_S, tester_agent.detach)

    def learn(self, spec: TrialSpec, /) -> None:
        """Learn as the tester does."""
        self._call(spec.total_s + PORTS_S, tester_agent.learn, spec=spec_to_json(spec))

    def run(self, spec: TrialSpec, /) -> TrialResult:
        """Run a trial as the tester does; where its agent or host is lost, that is the trial's fault."""
        began_ns = time.monotonic_ns()
        try:
            longest_s = STRETCH * spec.due_s + TRIAL_MARGIN_S
            told = self._call(longest_s, tester_agent.run, spec=spec_to_json(spec))
        except DriverError as error:
            if error.error_id != _LOST:
                raise
            reason = f"the tester on its host was lost: {error.found}"
            return faulty(spec, reason, time.monotonic_ns() - began_ns)
        return result_from_json(told)

    def describe(self) -> Mapping[str, JsonValue]:
        """Describe the tester."""
        return self._call(PORTS_S, tester_agent.describe)


_: type[TrafficDriver] = RemoteTraffic
