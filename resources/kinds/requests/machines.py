"""The machines that a run of HTTP experiments measures on: this one, or the three hosts of a lab's row.

What a run records as its platform is the machine of the proxies; in a lab the hosts of clients and server are
recorded beside it, with each deployment. The runner's own machine is then none of them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from bmwg.drivers.api.calls import P, R
from bmwg.drivers.api.protocols import JsonValue
from bmwg.drivers.hosting.ssh import SshNode
from bmwg.drivers.record.collect import collect
from bmwg.drivers.record.doctor import examine, examine_here
from bmwg.drivers.record.sampling import between, sample
from bmwg.drivers.testbed.row import PROXY
from bmwg.drivers.watch import awake
from bmwg.methodology.errors import TestbedError, ToolkitError
from bmwg.methodology.trial.keep_awake import Held, KeepAwake, sentence
from bmwg.reports.store import Run, RunStore
from bmwg.resources.run import provenance
from bmwg.resources.run.deployment_identity import Records
from bmwg.resources.run.platform import LATENCY_LIMIT, PlatformGuard, host_counts
from bmwg.resources.run.provenance import toolkit_state

_RECORD_DEADLINE_S = 60.0  # a record's own budget and what a busy host takes beside it


class Machines:
    """`hosts` are those of a lab by role (client, proxy, server), open; none for this machine."""

    def __init__(self, hosts: Mapping[str, SshNode] | None = None) -> None:
        """Take the hosts; TestbedError NODE-02 when one has another state of the toolkit than the runner."""
        self.hosts: Mapping[str, SshNode] = hosts or {}
        self.held: Mapping[str, Mapping[str, Any]] = {}
        _, mine, _ = toolkit_state()
        for role, host in self.hosts.items():
            _, theirs, _ = host.call(provenance.toolkit_state)
            if mine and theirs and mine != theirs:
                raise TestbedError(
                    "NODE-02",
                    f"the {role}'s host: another state of the toolkit is installed there",
                    expected=f"commit {mine}",
                    found=f"commit {theirs}",
                    hint="check out the same commit on all hosts",
                )

    def keep_awake(self, asked: KeepAwake) -> None:
        """Have each host's agent hold it until that agent ends; `held` is then what each answered, by role.

        This machine is not meant: who has no hosts holds it in its own process.
        """
        self.held = {role: self._call(role, awake.hold, asked=asked.value) for role in self.hosts}

    def record(self, scope: str = "machine") -> dict[str, JsonValue]:
        """The record of the proxies' machine; see `drivers.record.collect`."""
        if not self.hosts:
            return collect(scope)
        found: dict[str, JsonValue] = self._call(PROXY, collect, scope=scope)
        return found

    def others(self) -> Records:
        """The records of a lab's other hosts, by place."""
        return {
            self.hosts[role].name: self._call(role, collect, scope="machine")
            for role in self.hosts
            if role != PROXY
        }

    def examine(self, record: Mapping[str, Any] | None) -> list[Mapping[str, Any]]:
        """What the doctor finds, as data; of a lab's hosts each with the role before it."""
        if not self.hosts:
            return [finding.as_json() for finding in examine(None, record)]
        return [
            {**finding, "what": f"{role}'s host: {finding['what']}"}
            for role in self.hosts
            for finding in self._call(role, examine_here)
        ]

    def sample(self) -> list[dict[str, JsonValue]]:
        """Look at all of them, for `counts`. Empty when a host does not answer."""
        if not self.hosts:
            return [sample()]
        try:
            return [self._call(role, sample) for role in self.hosts]
        except ToolkitError:
            return []  # the repetition that follows says what is lost

    def counts(self, first: list[dict[str, JsonValue]]) -> dict[str, int]:
        """What happened on them since `first`, all together; empty when one did not answer."""
        last = self.sample()
        if len(last) != len(first):
            return {}
        each = [dict(host_counts(between(*pair))) for pair in zip(first, last, strict=True)]
        return together(each)

    def guard(
        self,
        store: RunStore,
        note: Callable[[str], None],
        record: Mapping[str, JsonValue],
        continued: Run | None,
        staying: Collection[str],
    ) -> PlatformGuard:
        """Return what watches these machines; `record` was just taken. See `PlatformGuard`."""
        return PlatformGuard(
            None,
            store.platform,
            note,
            record,
            continued.platform if continued else None,
            staying=staying,
            look=self.record,
            doctor=self.examine,
        )

    def _call(self, role: str, function: Callable[P, R], /, *args: P.args, **arguments: P.kwargs) -> R:
        return self.hosts[role].call_within(_RECORD_DEADLINE_S, function, *args, **arguments)


def held_otherwise(here: Held, hosts: Mapping[str, Mapping[str, Any]]) -> str:
    """Say in one line where another thing is held than was asked for; empty when nowhere.

    `here` is what this machine holds, `hosts` what those of a lab answered, by role.
    """
    places = {"this machine": here.as_json(), **{f"the {role}'s host": told for role, told in hosts.items()}}
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
