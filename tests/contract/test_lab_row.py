"""The row of the HTTP suites on three hosts over SSH: real daemons, ports and requests.

The hosts are namespaces of this machine, each with an sshd of its own; so a port that is lost is a virtual
one, which ends with its namespace, where a NIC would come back.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from tests.contract.http_support import needs_http
from tests.contract.lab_support import LabHosts, lab_hosts, needs_sshd

from bmwg.drivers.nodes import probe as hosting_probe
from bmwg.drivers.nodes.hosts import open_hosts
from bmwg.drivers.ports import interfaces
from bmwg.drivers.testbed.file import load_testbed
from bmwg.drivers.testbed.row import row_hosts
from bmwg.drivers.undo.ledger import Ledger
from bmwg.drivers.workload import apache, probe
from bmwg.drivers.workload.lab_row import open_lab_row
from bmwg.methodology.errors import TestbedError

pytestmark = [*needs_http, needs_sshd]


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LabHosts]:
    with lab_hosts(tmp_path / "lab", monkeypatch) as made:
        yield made


def opened(lab: LabHosts, folder: Path):
    row = row_hosts(load_testbed(lab.testbed).data)
    ledger = Ledger(folder / "ledger.jsonl", index_dir=folder / "index")
    return row, ledger


def test_the_row_serves_and_gives_everything_back(lab: LabHosts, tmp_path: Path) -> None:
    row, ledger = opened(lab, tmp_path)
    before = {name: lab.interfaces(name) for name in lab.nodes}
    with (
        open_hosts(row) as hosts,
        open_lab_row(row, hosts, ledger, f"test-{os.getpid()}", sizes_octets=[1000], token="abc123") as made,
    ):
        assert "eth7" not in lab.interfaces("one")
        assert {"eth7", "eth8"} & lab.interfaces("two").keys() == set()
        found = made.client.call(
            probe.fetch, address=made.addresses.servers.end, port=apache.PORT_NUMBER, url=made.url(1000)
        )
        assert made.fault() is None
        assert [link["kind"] for link in made.links] == ["cable", "cable"]
        assert (found["status"], found["sha256"]) == (200, made.sha256[1000])
    assert {name: lab.interfaces(name) for name in lab.nodes} == before
    assert ledger.pending == ()


def test_a_port_with_an_address_is_refused_before_anything_moves(lab: LabHosts, tmp_path: Path) -> None:
    row, ledger = opened(lab, tmp_path)
    lab.nodes["three"].call(interfaces.add_address, interface="eth7", address="192.0.2.9/24")
    with (
        open_hosts(row) as hosts,
        pytest.raises(TestbedError, match="PORT-01  interface eth7") as caught,
        open_lab_row(row, hosts, ledger, "test", sizes_octets=[1000], token="abc123"),
    ):
        pass
    assert "the address 192.0.2.9/24" in str(caught.value)
    assert "eth7" in lab.interfaces("one")
    assert not (tmp_path / "ledger.jsonl").exists()


def test_a_port_of_a_lab_host_has_one_run_at_a_time(lab: LabHosts) -> None:
    row = row_hosts(load_testbed(lab.testbed).data)
    with open_hosts(row) as hosts:
        with pytest.raises(TestbedError, match="LOCK-01  lab port eth7"), open_hosts(row):
            pass
        holders = {role: host.call(hosting_probe.identify)["pid"] for role, host in hosts.items()}
    with open_hosts(row) as again:  # given back, and nothing of the refused one is left
        assert {host.call(hosting_probe.identify)["pid"] for host in again.values()}.isdisjoint(
            holders.values()
        )


def test_a_lease_ends_with_the_agent_that_holds_it(lab: LabHosts) -> None:
    row = row_hosts(load_testbed(lab.testbed).data)
    with ExitStack() as stack:
        hosts = stack.enter_context(open_hosts(row))
        for host in hosts.values():
            os.kill(host.call(hosting_probe.identify)["pid"], signal.SIGKILL)  # as when a lab host loses it
        with open_hosts(row) as others:
            assert others.keys() == hosts.keys()
