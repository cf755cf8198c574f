"""What the tests of the HTTP experiments share: a row of nodes, and what must be gone afterwards."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.needs_guest import booting
from tests.waiting import eventually

from bmwg.drivers.api.instance import Instance
from bmwg.drivers.machines import libvirt_daemon
from bmwg.drivers.nodes import cgroups, process
from bmwg.drivers.testbed.file import NetworkSpec
from bmwg.drivers.undo.ledger import Ledger
from bmwg.drivers.workload import ab
from bmwg.drivers.workload.row import Row, open_row

NEEDED = {"squid": "squid-openssl", "apache2": "apache2-bin", "ab": "apache2-utils"}
ABSENT = [package for program, package in NEEDED.items() if shutil.which(program) is None]
needs_http = [
    pytest.mark.root,
    pytest.mark.skipif(bool(ABSENT), reason=f"needs {ABSENT}: sh setup/install.sh http"),
]
needs_docker = pytest.mark.skipif(
    shutil.which("dockerd") is None, reason="needs docker.io: sh setup/install.sh http"
)
needs_pods = pytest.mark.skipif(
    shutil.which("crun") is None or not Path("/usr/lib/cni/host-device").exists(),
    reason="needs crun and containernetworking-plugins: sh setup/install.sh",
)
needs_guest = [booting()]
_LIBVIRT_LACKS = libvirt_daemon.probe(uri=None)
needs_libvirt = pytest.mark.skipif(_LIBVIRT_LACKS is not None, reason=f"needs libvirt: {_LIBVIRT_LACKS}")
SIZES = [1000, 200_000]


@contextmanager
def row_with_ledger(
    tmp_path: Path,
    networks: Sequence[NetworkSpec] = (),
    more_octets: Sequence[int] = (),
    ip: str = "",
) -> Iterator[tuple[Row, Ledger]]:
    """A row of three nodes with a server, and the ledger of what else is made."""
    ledger = Ledger(tmp_path / "ledger.jsonl", index_dir=tmp_path / "index")
    with open_row(
        tmp_path,
        ledger,
        f"test-{os.getpid()}",
        sizes_octets=[*SIZES, *more_octets],
        networks=networks,
        ip=ip,
    ) as row:
        yield row, ledger
    assert not ledger.pending


def labelled(word: str) -> list[str]:
    """Command lines of running processes in which a word stands."""
    found = []
    for pid in (name for name in os.listdir("/proc") if name.isdigit()):
        try:
            line = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if word in line:
            found.append(line)
    return found


def written() -> list[str]:
    """What daemons like to leave on the machine itself."""
    return [path for path in ("/etc/docker/key.json", "/opt/containerd") if os.path.exists(path)]


def require_gone(token: str, run_dir: Path) -> None:
    """Assert that nothing of a daemon of this token is left: processes, cgroups, files."""
    assert labelled(f"bmwg-docker-{token}") == []
    assert cgroups.folders(f"/bmwg-docker-{token}r") == []
    assert cgroups.folders(f"/bmwg-docker-{token}n") == []
    assert list(run_dir.glob("docker-*")) == []


def soon(told: Callable[[], str | None], within_s: float = 5.0) -> str:
    """What an instance tells of its end, which the kernel needs some milliseconds for."""
    return eventually(told, within_s) or ""


def carry_forty_objects(row: Row, instance: Instance) -> None:
    """Fetch through the proxy, and look whether it was counted: requests, octets, CPU time and memory."""
    address, port = instance.endpoint
    before = instance.sample()
    ran = row.client.call_within(
        60.0,
        ab.run,
        proxy=f"{address}:{port}",
        url=row.url(200_000),
        octets=200_000,
        requests=40,
        concurrency=4,
        within_s=50,
    )
    after = instance.sample()
    assert (ran["requests"], ran["failed"], ran["non_2xx"], ran["fault"]) == (40, 0, 0, "")
    assert ran["body_octets"] == 40 * 200_000
    assert after.cpu_ns > before.cpu_ns
    assert after.memory_octets > 5 << 20


def kill_squid(row: Row) -> None:
    """End every squid of this test's own nodes: they all carry its label."""
    killed = 0
    for pid, words in process.each("cmdline"):
        if words[0].endswith(b"squid") and any(row.place.token.encode() in word for word in words):
            os.kill(pid, signal.SIGKILL)
            killed += 1
    assert killed == 1
