"""The lease of a shard's program: renewed beside it, told to its run, and the end of it when it is lost."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from tests.unit.kubernetes.lease_server import Server

from bmwg.drivers.kubernetes.lease import VERSION
from bmwg.methodology.errors import TestbedError
from bmwg.resources.fleet import leases
from bmwg.resources.fleet.leases import Leasing, leased

PLACE = f"/apis/{VERSION}/namespaces/lab/leases/bmwg-testbed-first"
SHORT, LONG = Leasing(namespace="lab", duration_s=1), Leasing(namespace="lab", duration_s=3600)
WITHIN_S = 60


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Server:
    found = Server()

    @contextmanager
    def cluster(*_: Any, **__: Any) -> Iterator[Server]:
        yield found

    monkeypatch.setattr(leases, "Cluster", cluster)
    return found


def test_without_a_namespace_there_is_none_and_no_cluster_is_asked() -> None:
    with leased("first", Leasing(namespace="", duration_s=60)) as lease:
        assert lease is None
        leases.require()
        assert leases.mark() == {}


def test_the_run_is_told_its_number_and_the_lease_is_given_back(server: Server) -> None:
    for number in (0, 1):
        with leased("first", LONG):
            assert leases.mark() == {"lease": number}
            leases.require()
            assert server.found[PLACE]["spec"]["holderIdentity"]
        assert leases.mark() == {}
        assert server.found[PLACE]["spec"]["holderIdentity"] is None


def test_what_fails_gives_it_back_too(server: Server) -> None:
    with pytest.raises(OSError, match="disk"), leased("first", LONG):
        raise OSError("disk")
    assert server.found[PLACE]["spec"]["holderIdentity"] is None


def test_it_is_renewed_while_the_program_works(server: Server) -> None:
    with leased("first", SHORT):
        began = server.version
        for _ in range(WITHIN_S * 100):
            if server.version > began + 2:
                break
            threading.Event().wait(0.01)
        assert server.version > began + 2


def test_who_loses_it_is_interrupted_and_may_record_nothing(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupted = threading.Event()

    def kill(pid: int, number: int) -> None:
        assert (pid, number) == (os.getpid(), signal.SIGINT)
        interrupted.set()

    monkeypatch.setattr(leases.os, "kill", kill)
    with leased("first", SHORT):
        other = {"holderIdentity": "other", "leaseDurationSeconds": 60, "leaseTransitions": 1}
        head = dict(server.found[PLACE]["metadata"])
        taken = server.put(PLACE, {"metadata": head, "spec": other})
        assert interrupted.wait(WITHIN_S)
        with pytest.raises(TestbedError, match="other has it"):
            leases.require()
    assert server.found[PLACE] == taken  # what is another's is not given back
