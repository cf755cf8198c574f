"""Proxies on each hosting form: they serve, are sampled, fail by name, and vanish."""

from __future__ import annotations

import os
import signal
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.contract.http_support import (
    carry_forty_objects,
    kill_squid,
    needs_docker,
    needs_http,
    require_gone,
    row_with_ledger,
    soon,
    written,
)

from bmwg.drivers.containers import docker_containers
from bmwg.drivers.nodes import process, program_files
from bmwg.drivers.places.forms import hosting
from bmwg.drivers.undo.ledger import Ledger
from bmwg.drivers.workload import probe as workload_probe
from bmwg.drivers.workload import squid
from bmwg.drivers.workload.row import Row
from bmwg.methodology.errors import DriverError, TestbedError, ToolkitError
from bmwg.methodology.record import booted
from bmwg.methodology.record.booted import Booted, Counted
from bmwg.resources.kinds.requests.deployment import start_serving

pytestmark = needs_http
FORMS = [
    "native",
    pytest.param("docker_routed", marks=needs_docker),
    pytest.param("docker_nat", marks=needs_docker),
]


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Row, Ledger, Path]]:
    folder = tmp_path_factory.mktemp("http")
    before = written()
    with row_with_ledger(folder) as (row, ledger):
        yield row, ledger, folder
    require_gone(row.place.token, folder)
    assert written() == before  # nothing on the machine itself


@pytest.mark.parametrize("form", FORMS)
def test_a_proxy_serves_is_sampled_and_tells_that_it_was_killed(
    bench: tuple[Row, Ledger, Path], form: str
) -> None:
    row, ledger, _ = bench
    with hosting(form, node=row.proxy, place=row.place, ledger=ledger) as place:
        assert place.probe() is None
        instance, took_ns = start_serving(row, place, squid.program(cache=True), 0, 30.0)
        try:
            assert 0 < took_ns < 30e9
            address, port = instance.endpoint
            carry_forty_objects(row, instance)
            counted = row.client.call(squid.counters, address=address, port=port)
            assert counted["client_http.hits"] >= 30
            assert instance.fault() is None
            assert instance.describe()["endpoint"] == [address, port]
            kill_squid(row)
            fault = soon(instance.fault)
            assert "ended" in fault or "exited" in fault
            gone = row.client.call(
                workload_probe.fetch, address=address, port=port, url=row.url(1000), within_s=2.0
            )
            assert gone["status"] == 0
        finally:
            instance.stop()
            instance.stop()  # idempotent


@pytest.mark.parametrize("form", FORMS)
def test_a_port_that_is_taken_is_an_error_and_leaves_nothing(
    bench: tuple[Row, Ledger, Path], form: str
) -> None:
    row, ledger, _ = bench
    program = squid.program(cache=False)
    with hosting(form, node=row.proxy, place=row.place, ledger=ledger) as place:
        first, _ = start_serving(row, place, program, 0, 30.0)
        try:
            with pytest.raises(ToolkitError) as caught:
                start_serving(row, place, program, 0, 3.0)
            assert caught.value.error_id in ("PROG-03", "DOCK-02", "DOCK-06"), caught.value
            assert first.fault() is None
        finally:
            first.stop()


@needs_docker
def test_an_image_of_a_known_program_tells_its_octets_and_native_has_none(
    bench: tuple[Row, Ledger, Path],
) -> None:
    row, ledger, _ = bench
    program = squid.program(cache=False)
    found = program_files.require(program.command[0], list(program.packages))
    files = {os.path.realpath(one) for one in program_files.closure(program.command[0], found)}
    with hosting("docker_routed", node=row.proxy, place=row.place, ledger=ledger) as place:
        place.prepare(program)
        (image,) = place.describe()["images"].values()
    told = Booted.from_builtins(image[booted.KEY]).parts[booted.LAYERS]
    assert told[Counted.ARCHIVE] == image["octets"]
    assert told[Counted.UNPACKED] == sum(os.path.getsize(one) for one in files)
    native = hosting("native", node=row.proxy, place=row.place, ledger=ledger)
    assert native.describe()[booted.KEY] == booted.NATIVE.as_builtins()


@needs_docker
def test_a_daemon_that_is_killed_ends_its_containers_and_is_cleared_away(
    bench: tuple[Row, Ledger, Path],
) -> None:
    row, ledger, folder = bench
    with hosting("docker_routed", node=row.proxy, place=row.place, ledger=ledger) as place:
        instance, _ = start_serving(row, place, squid.program(cache=False), 0, 30.0)
        for pid in _daemons(row.place.token):
            if process.start_ticks(pid):
                os.kill(pid, signal.SIGKILL)
        assert "ended" in soon(instance.fault)
        instance.stop()
    require_gone(row.place.token, folder)


def _daemons(token: str) -> list[int]:
    found = [
        pid
        for pid, words in process.each("cmdline")
        if b"dockerd" in words[0] and any(token.encode() in word for word in words)
    ]
    assert found
    return found


@needs_docker
def test_a_missing_image_is_named(bench: tuple[Row, Ledger, Path]) -> None:
    row, ledger, folder = bench
    with hosting("docker_nat", node=row.proxy, place=row.place, ledger=ledger) as place:
        with pytest.raises(TestbedError) as caught:
            row.proxy.call(
                docker_containers.run,
                token=place._token,  # type: ignore[attr-defined]
                name="x",
                image="no-such-image",
                command=["true"],
                network=place._bridge,  # type: ignore[attr-defined]
                address="198.18.17.99",
                folder=f"{folder}/instances/x",
                files={},
                published=[],
                port=3128,
                cpus=1,
                memory_octets=64 << 20,
            )
        assert caught.value.error_id == "DOCK-04"


@needs_docker
def test_without_docker_the_apt_line_is_told(
    bench: tuple[Row, Ledger, Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from bmwg.drivers.containers import docker_daemon

    monkeypatch.setenv("PATH", str(tmp_path))
    lack = docker_daemon.probe()
    assert lack is not None
    assert "docker.io" in lack["mend"]
    with pytest.raises(TestbedError) as caught:
        docker_daemon.start(token="none", data_root=str(tmp_path / "data"))
    assert caught.value.error_id == "DOCK-01"
    assert not (tmp_path / "data").exists()


def test_a_docker_whose_api_is_too_old_is_refused_and_ended(
    bench: tuple[Row, Ledger, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    from bmwg.drivers.containers import docker_daemon

    class Old:
        def version(self) -> dict[str, str]:
            return {"Version": "1.13", "ApiVersion": "1.25"}

        def close(self) -> None:
            pass

    monkeypatch.setattr("docker.DockerClient", lambda **_: Old())
    monkeypatch.setattr("bmwg.drivers.nodes.programs.fault", lambda **_: None)
    with pytest.raises(TestbedError) as caught:
        docker_daemon._wait_for_api("t", {"pid": 1, "start_ticks": 1}, Path("/none"), 2.0)
    assert caught.value.error_id == "DOCK-03"


class _LyingServer(threading.Thread):
    """Answers every connection with the same octets and closes; or never answers."""

    def __init__(self, answer: bytes | None) -> None:
        super().__init__(daemon=True)
        self._answer = answer
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port: int = self.socket.getsockname()[1]

    def run(self) -> None:
        kept = []
        while True:
            try:
                connection, _ = self.socket.accept()
            except OSError:
                return
            connection.recv(65536)
            if self._answer is None:
                kept.append(connection)
                continue
            connection.sendall(self._answer)
            connection.close()


OK = b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n"


@pytest.mark.parametrize(
    ("answer", "status", "words"),
    [
        (b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n", 503, ""),
        (OK + b"01234", 200, "body of 5 octets, 10 were announced"),
        (OK + b"0123456789", 200, ""),
        (b"nonsense\r\n\r\n", 0, "BadStatusLine"),
        (None, 0, "timed out"),
    ],
    ids=["5xx", "truncated", "wrong-object", "nonsense", "stalling"],
)
def test_a_proxy_that_lies_is_seen_by_the_probe_in_bounded_time(
    answer: bytes | None, status: int, words: str
) -> None:
    from bmwg.drivers.workload import probe

    server = _LyingServer(answer)
    server.start()
    try:
        found = probe.fetch(address="127.0.0.1", port=server.port, url="http://198.18.2.2/x", within_s=1.0)
        assert found["status"] == status
        assert words in found["fault"]
        assert found["total_ns"] < 20e9  # bounded: its limit is 1 s, and a busy machine is slow
        with pytest.raises(DriverError) as caught:
            probe.wait_serving(
                address="127.0.0.1",
                port=server.port,
                url="http://198.18.2.2/x",
                sha256="0" * 64,
                within_s=1.0,
            )
        assert caught.value.error_id == "PROBE-01"
    finally:
        server.socket.close()


def test_a_server_that_stalls_ends_ab_in_bounded_time() -> None:
    from bmwg.drivers.workload import ab

    server = _LyingServer(None)
    server.start()
    try:
        found = ab.run(
            proxy="",
            url=f"http://127.0.0.1:{server.port}/x",
            octets=2,
            requests=2,
            concurrency=1,
            within_s=2.0,
        )
        assert "did not end within 2 s" in found["fault"]
        assert found["process_ns"] < 20e9  # bounded: its limit is 2 s
    finally:
        server.socket.close()
