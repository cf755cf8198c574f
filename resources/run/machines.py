"""The machines that a run measures on: this one, or hosts over SSH, with or without this one beside them.

What a run records as its platform is the machine under test; the others are recorded beside it, with each
deployment.

Ids: NODE-23 a host was lost.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from bmwg.drivers.api.calls import P, R
from bmwg.drivers.api.meters import Meter
from bmwg.drivers.api.protocols import JsonValue
from bmwg.drivers.nodes import probe
from bmwg.drivers.nodes.ssh import SshNode
from bmwg.drivers.platform_record.collect import collect
from bmwg.drivers.platform_record.doctor import examine, examine_here
from bmwg.drivers.platform_record.sampling import between, sample
from bmwg.drivers.testbed.file import TESTER, Testbed, text_of_testbed
from bmwg.drivers.testbed.hosts import HostSpec, of_tester
from bmwg.drivers.watch import awake, isolation
from bmwg.drivers.watch.isolation import LeakWatch
from bmwg.methodology.errors import TestbedError, ToolkitError
from bmwg.methodology.trial.keep_awake import Held, KeepAwake, sentence
from bmwg.reports.store import Run, RunStore
from bmwg.resources.run import provenance
from bmwg.resources.run.deployment_identity import Records
from bmwg.resources.run.platform import LATENCY_LIMIT, PlatformGuard, host_counts
from bmwg.resources.run.provenance import toolkit_state

_RECORD_DEADLINE_S = 60.0  # a record's own budget and what a busy host takes beside it
LOST_HOST = "NODE-23"  # it ends a run, which goes on when the host is there again
TESTER_HOST = "tester/host"  # the tester's machine, in the records of a run whose device is another one


@dataclass(frozen=True, slots=True)
class Look:
    """What all machines told at a moment, and what their meter began with."""

    hosts: list[dict[str, JsonValue]]
    meter: Any = None


class Machines:
    """`hosts` are those over SSH by the names of their specs, open; none where this machine is all."""

    def __init__(
        self,
        hosts: Mapping[str, SshNode] | None = None,
        specs: Sequence[HostSpec] = (),
        *,
        under_test: str = "",
        tests_from_here: bool = True,
    ) -> None:
        """Take the hosts; TestbedError NODE-02 when one has another state of the toolkit than the runner.

        `under_test` names the one whose record is the run's (empty: this machine). `tests_from_here` says
        that this machine has the tester; else it only steers.
        """
        self.hosts: Mapping[str, SshNode] = hosts or {}
        self._specs = specs
        self._under_test = under_test
        self._here = tests_from_here or not self.hosts
        self.held: Mapping[str, Mapping[str, Any]] = {}
        self.meter: Meter | None = None  # of the machine under test, once the run has one
        mine = toolkit_state()[1] if self.hosts else None
        for name, host in self.hosts.items():
            _, theirs, _ = host.call(provenance.toolkit_state)
            if mine and theirs and mine != theirs:
                raise TestbedError(
                    "NODE-02",
                    f"the {name}'s host: another state of the toolkit is installed there",
                    expected=f"commit {mine}",
                    found=f"commit {theirs}",
                    hint="check out the same commit on all hosts",
                )

    @property
    def by_node(self) -> dict[str, SshNode]:
        """The hosts by the nodes of the testbed file that are on them."""
        return {node: self.hosts[spec.name] for spec in self._specs for node in spec.nodes}

    def ask_all(self) -> None:
        """Have each host's agent answer, so that `require_held` knows of one that was lost meanwhile."""
        for name in self.hosts:
            with suppress(ToolkitError):
                self._call(name, probe.identify)

    def require_held(self) -> None:
        """TestbedError NODE-23 where a host's agent is gone: with it went the run's locks and samples there.

        Nothing is asked: what the last call of each told decides.
        """
        for name, host in self.hosts.items():
            if host.broken is not None:
                raise TestbedError(
                    "NODE-23",
                    f"the {name}'s host is lost; no trial is recorded after it",
                    expected="the agent that holds it for this run",
                    found=host.broken,
                    hint="when it is there again: bmwg resume",
                )

    def keep_awake(self, asked: KeepAwake) -> None:
        """Have each host's agent hold it until that agent ends; `held` is then what each answered, by name.

        This machine is not meant: it is held in its own process.
        """
        self.held = {name: self._call(name, awake.hold, asked=asked.value) for name in self.hosts}

    def awake_note(self, here: Held) -> str:
        """Say in one line where another thing is held than was asked for; empty when nowhere."""
        return held_otherwise(here, self.held)

    @property
    def look(self) -> Callable[..., dict[str, JsonValue]] | None:
        """What records the machine under test; None where that is this one."""
        return self.record if self._under_test else None

    def record(self, scope: str = "machine") -> dict[str, JsonValue]:
        """The record of the machine under test; see `drivers.platform_record.collect`."""
        if not self._under_test:
            return collect(scope)
        return self._call(self._under_test, collect, scope=scope)

    def others(self) -> Records:
        """The records of the other machines, by place."""
        found: dict[str, Any] = {}
        if self._here and self._under_test:  # else a host of that name has the tester
            found[TESTER_HOST] = collect("machine")
        for name, host in self.hosts.items():
            if name != self._under_test:
                found[host.name] = self._call(name, collect, scope="machine")
        return found

    def examine(
        self, record: Mapping[str, Any] | None, testbed: Testbed | None = None
    ) -> list[Mapping[str, Any]]:
        """What the doctor finds, as data; of hosts each with its name before it. `record` is of the run."""
        found: list[Mapping[str, Any]] = []
        if self._here:
            mine = None if self._under_test else record
            found += [finding.as_json() for finding in examine(testbed, mine)]
        for name in self.hosts:
            # of the tester's host the file says what this machine else has
            asked = text_of_testbed(testbed) if testbed is not None and name == TESTER else ""
            found += [
                {**finding, "what": f"{name}'s host: {finding['what']}"}
                for finding in self._call(name, examine_here, testbed=asked)
            ]
        return found

    def sample(self) -> Look:
        """Look at all of them, for `counts`. Without hosts when one does not answer."""
        hosts = self._looks()
        return Look(hosts, self.meter.begin() if self.meter else None)

    def _looks(self) -> list[dict[str, JsonValue]]:
        try:
            there = [self._call(name, sample) for name in self.hosts]
        except ToolkitError:
            return []  # the trial or repetition that follows says what is lost
        return [*([sample()] if self._here else []), *there]

    def counts(self, first: Look) -> dict[str, int]:
        """What happened on them since `first`, all together; of hosts nothing when one did not answer."""
        last = self._looks()  # a meter waits for its next sample
        energy = self.meter.since(first.meter).counts() if self.meter else {}
        if len(last) != len(first.hosts):
            return energy
        each = [dict(host_counts(between(*pair))) for pair in zip(first.hosts, last, strict=True)]
        return {**together(each), **energy}

    def call_under_test(self, function: Callable[P, R], /, *args: P.args, **arguments: P.kwargs) -> R:
        """Call a function on the machine under test."""
        if not self._under_test:
            return function(*args, **arguments)
        return self._call(self._under_test, function, *args, **arguments)

    @contextmanager
    def counted(self) -> Iterator[dict[str, int]]:
        """Give what happens on all of them while this is entered; it is there after leaving."""
        first, found = self.sample(), dict[str, int]()
        try:
            yield found
        finally:
            found |= self.counts(first)

    def leak_watch(self, lab_ports: Collection[str] = (), *, signed: bool = False) -> LeakWatch:
        """Return what looks for test frames outside: on this machine, and on each host beside its ports."""
        tested = self._here or of_tester(self._specs)  # else no frames are offered
        watched = [(self.hosts[spec.name], spec.ports) for spec in self._specs] if tested else []
        return isolation.LeakWatch(lab_ports, signed=signed, hosts=watched)

    def guard(
        self,
        store: RunStore,
        note: Callable[[str], None],
        record: Mapping[str, JsonValue],
        continued: Run | None,
        staying: Collection[str] = (),
        testbed: Testbed | None = None,
    ) -> PlatformGuard:
        """Return what watches these machines; `record` was just taken. See `PlatformGuard`."""
        return PlatformGuard(
            testbed,
            store.platform,
            note,
            record,
            continued.platform if continued else None,
            staying=staying,
            look=self.record,
            doctor=lambda known: self.examine(known, testbed),
            beside=self.others,
        )

    def _call(self, name: str, function: Callable[P, R], /, *args: P.args, **arguments: P.kwargs) -> R:
        return self.hosts[name].call_within(_RECORD_DEADLINE_S, function, *args, **arguments)


def held_otherwise(here: Held, hosts: Mapping[str, Mapping[str, Any]]) -> str:
    """Say in one line where another thing is held than was asked for; empty when nowhere.

    `here` is what this machine holds, `hosts` what hosts answered, by name.
    """
    places = {"this machine": here.as_json(), **{f"the {name}'s host": told for name, told in hosts.items()}}
    return "; ".join(
        f"on {place} {sentence(told)}" for place, told in places.items() if told["held"] != told["asked"]
    )


def together(each: Sequence[Mapping[str, int]]) -> dict[str, int]:
    """The counts of several hosts as one: sums, but the lowest and the highest of what is a frequency, and
    the highest limit on the time to leave an idle state.

    A count that one of them could not read is left out, for a part would be read as the whole.
    """
    shared = set.intersection(*(set(one) for one in each)) if each else set()
    found = {}
    for name in sorted(shared):
        counts = [one[name] for one in each]
        if "frequency" in name:
            found[name] = min(counts) if "lowest" in name else max(counts)
        elif name == LATENCY_LIMIT:
            found[name] = max(counts)
        else:
            found[name] = sum(counts)
    return found
