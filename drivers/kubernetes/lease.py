"""A Lease of a cluster (coordination.k8s.io): a name that one program has at a time, on whichever machine.

No two clocks are compared. Whoever waits looks for as long as a lease lasts, by a clock of its own: one that
is renewed meanwhile has a living holder, any other is taken over, and the number of its transitions grows. A
holder that could not renew for so long, since it was frozen or cut off, has to assume that somebody did.
Ids: LEASE-01 another program has it, LEASE-02 we no longer have it.
"""

from __future__ import annotations

import hashlib
import re
import threading
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Protocol

from bmwg.drivers.api.protocols import JsonValue
from bmwg.methodology.errors import TestbedError, ToolkitError

VERSION = "coordination.k8s.io/v1"
_LOOKS = 10  # choice: so often a waiting program looks while a lease lasts
_RENEWALS = 4  # choice: so often a holder renews while its lease lasts
_SURE = 0.75  # of the duration: after it a holder is not sure of its lease, some time before it may be taken
_MOST_NAME = 50


class Leases(Protocol):
    """What of a cluster's API a lease needs; `client.Cluster` has it."""

    def get(self, path: str, *, within_s: float = 0.0) -> dict[str, Any] | None:
        """Return an object; None where there is none."""
        ...

    def make(
        self, path: str, body: Mapping[str, JsonValue], *, within_s: float = 0.0
    ) -> dict[str, Any] | None:
        """Make an object; None where there is one."""
        ...

    def replace(
        self, path: str, body: Mapping[str, JsonValue], *, within_s: float = 0.0
    ) -> dict[str, Any] | None:
        """Put an object in place of the version that it names; None where that has changed."""
        ...


def lease_name(testbed: str) -> str:
    """Return the name of a testbed's lease, which Kubernetes takes: two testbeds never have one name."""
    plain = re.sub(r"[^a-z0-9]+", "-", testbed.lower()).strip("-")[:_MOST_NAME]
    if plain == testbed:
        return f"bmwg-testbed-{testbed}"
    return f"bmwg-testbed-{plain}-{hashlib.sha256(testbed.encode()).hexdigest()[:8]}"


def _boot_s() -> float:
    return time.clock_gettime(time.CLOCK_BOOTTIME)  # goes on while the machine sleeps


class Lease:
    """One name in one namespace, for one holder. `transitions` is how often it had changed hands when taken.

    All acts may come from any thread. `clock` and `sleep` are in seconds.
    """

    def __init__(
        self,
        api: Leases,
        *,
        namespace: str,
        name: str,
        holder: str,
        duration_s: int,
        clock: Callable[[], float] = _boot_s,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.name = name
        self.holder = holder
        self.transitions = 0
        self.taken_over = ""  # whose lease it was that was not renewed any more
        self._api = api
        self._leases = f"/apis/{VERSION}/namespaces/{namespace}/leases"
        self._head = {"namespace": namespace, "name": name}
        self._duration_s = duration_s
        self._clock = clock
        self._sleep = sleep
        self._act = threading.Lock()
        self._renewed_s = 0.0
        self._lost: TestbedError | None = None

    @property
    def every_s(self) -> float:
        """How often it is to be renewed."""
        return self._duration_s / _RENEWALS

    @property
    def _path(self) -> str:
        return f"{self._leases}/{self.name}"

    def take(self) -> None:
        """Have it, at once or when its holder has not renewed it for as long as it lasts.

        Raises TestbedError LEASE-01 as soon as its holder renews it, or another takes it first.
        """
        seen = self._api.get(self._path)
        if seen is None:
            began_s = self._clock()
            self._have(self._api.make(self._leases, self._body(0, "")), 0, began_s)
            return
        if holder := _holder(seen):
            self._outwait(seen)
            self.taken_over = holder
        began_s = self._clock()
        transitions = int(seen["spec"].get("leaseTransitions") or 0) + 1
        done = self._api.replace(self._path, self._body(transitions, _version(seen)))
        self._have(done, transitions, began_s)

    def renew(self) -> None:
        """Say that the holder lives. Raises TestbedError LEASE-02 once it is lost; it stays lost.

        A cluster that does not answer loses it only when the lease may have ended.
        """
        with self._act:
            self._require_not_lost()
            began_s = self._clock()
            try:
                found = self._api.get(self._path, within_s=self.every_s)
                if found is None or not self._is_ours(found, self.transitions):
                    raise self._lose(f"{_holder(found) or 'nobody'} has it" if found else "it is gone")
                body = self._body(self.transitions, _version(found))
                done = self._api.replace(self._path, body, within_s=self.every_s)
            except ToolkitError as error:
                if self._lost is None and self._clock() - self._renewed_s >= self._duration_s * _SURE:
                    raise self._lose(f"{error.error_id} {error.found}") from error
                if self._lost is not None:
                    raise
                return  # the next time, while it lasts
            if done is not None:  # else it is looked at anew next time: an answer of ours may have been lost
                self._renewed_s = began_s

    def require(self) -> None:
        """Raise TestbedError LEASE-02 unless we have it for sure: asked before anything is recorded."""
        self._require_not_lost()
        if self._clock() - self._renewed_s >= self._duration_s * _SURE:  # frozen, or cut off
            self.renew()
            self._require_sure()

    def release(self) -> None:
        """Give it back, where it is still ours: the next one need not wait."""
        with self._act:
            if self._lost is not None:
                return
            found = self._api.get(self._path, within_s=self.every_s)
            if found is not None and self._is_ours(found, self.transitions):
                body = self._body(self.transitions, _version(found))
                body["spec"] |= {"holderIdentity": None, "leaseDurationSeconds": 1}
                self._api.replace(self._path, body, within_s=self.every_s)

    def _outwait(self, seen: Mapping[str, Any]) -> None:
        """Look for as long as the holder's lease lasts, by our own clock."""
        lasts_s = float(seen["spec"].get("leaseDurationSeconds") or self._duration_s)
        ends_s = self._clock() + lasts_s
        while self._clock() < ends_s:
            self._sleep(lasts_s / _LOOKS)
            now = self._api.get(self._path)
            if now is None or _version(now) != _version(seen):
                raise self._taken(now)

    def _require_sure(self) -> None:
        if self._clock() - self._renewed_s >= self._duration_s * _SURE:
            with self._act:
                raise self._lose("it was not renewed in time")

    def _require_not_lost(self) -> None:
        if self._lost is not None:
            raise self._lost

    def _have(self, done: Mapping[str, Any] | None, transitions: int, began_s: float) -> None:
        """Begin to hold what was written. Nothing was: another wrote, or we did and the answer was lost."""
        if done is None:
            done = self._api.get(self._path)
            if done is None or not self._is_ours(done, transitions):
                raise self._taken(done)
        self.transitions, self._renewed_s = transitions, began_s

    def _is_ours(self, found: Mapping[str, Any], transitions: int) -> bool:
        return (
            _holder(found) == self.holder and int(found["spec"].get("leaseTransitions") or 0) == transitions
        )

    def _body(self, transitions: int, version: str) -> dict[str, Any]:
        now = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%S.%fZ}"  # for whoever looks; nothing is told from it
        head = {**self._head, **({"resourceVersion": version} if version else {})}
        spec = {
            "holderIdentity": self.holder,
            "leaseDurationSeconds": self._duration_s,
            "leaseTransitions": transitions,
            "renewTime": now,
        }
        return {"apiVersion": VERSION, "kind": "Lease", "metadata": head, "spec": spec}

    def _taken(self, found: Mapping[str, Any] | None) -> TestbedError:
        return TestbedError(
            "LEASE-01",
            f"lease {self.name}; nothing was started",
            expected="no other program that has it",
            found=f"{_holder(found) or 'somebody'} has it" if found else "it changed meanwhile",
            hint="wait for that run, or take another testbed",
        )

    def _lose(self, found: str) -> TestbedError:
        self._lost = TestbedError(
            "LEASE-02",
            f"lease {self.name}: this program was dead to the others for too long; nothing more is recorded",
            expected=f"{self.holder} has it, transition {self.transitions}",
            found=found,
            hint="what was recorded stands; the shard goes on by the same line when the testbed is free",
        )
        return self._lost


def _holder(found: Mapping[str, Any]) -> str:
    return str(found["spec"].get("holderIdentity") or "")


def _version(found: Mapping[str, Any]) -> str:
    return str(found["metadata"].get("resourceVersion") or "")
