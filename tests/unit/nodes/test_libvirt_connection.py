"""Which libvirt is spoken to, and that none that is absent, mute or elsewhere keeps anybody waiting."""

import socket
import sys
import time
from pathlib import Path

import pytest

from bmwg.drivers.machines import libvirt_connection, libvirt_daemon, libvirt_machine
from bmwg.drivers.machines.libvirt_connection import Connection, socket_of
from bmwg.methodology.errors import ConfigError, DriverError, TestbedError

needs_binding = pytest.mark.skipif(
    libvirt_connection.probe_binding() is not None, reason=f"needs {libvirt_connection.probe_binding()}"
)


@pytest.mark.parametrize(
    "uri",
    [
        "qemu+ssh://host/system",
        "qemu:///session",
        "test:///default",
        "qemu:///system?socket=relative",
        "qemu:///system?socket=/x&command=/bin/sh",
        "",
    ],
)
def test_only_a_libvirt_of_this_machine_is_spoken_to(uri: str) -> None:
    with pytest.raises(ConfigError, match=r"^VM-15 "):
        socket_of(uri)


def test_a_socket_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(TestbedError, match=r"^VM-11 ") as caught:
        socket_of(f"qemu:///system?socket={tmp_path}/none")
    assert "none" in str(caught.value)


@needs_binding
def test_a_daemon_that_has_died_is_told(tmp_path: Path) -> None:
    path = tmp_path / "s"
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(path))
    with pytest.raises(TestbedError, match=r"^VM-11 "):
        Connection(f"qemu:///system?socket={path}").open()


@needs_binding
def test_a_daemon_that_never_answers_ends_the_wait(tmp_path: Path) -> None:
    path = tmp_path / "s"
    with socket.socket(socket.AF_UNIX) as mute:
        mute.bind(str(path))
        mute.listen(1)
        began_s = time.monotonic()
        with pytest.raises(TestbedError, match=r"^VM-11 ") as caught:
            Connection(f"qemu:///system?socket={path}", open_deadline_s=0.3).open()
        assert "0.3 s" in caught.value.found
        assert time.monotonic() - began_s < 20  # bounded: its limit is 0.3 s, and a busy machine is slow


def test_a_call_without_a_connection_is_an_error() -> None:
    pytest.importorskip("libvirt", reason="needs libvirt's Python binding")
    with pytest.raises(DriverError, match=r"^VM-12 "):
        Connection("qemu:///system").call("version", lambda host: host)


def test_without_the_binding_the_line_that_supplies_it_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "libvirt", None)
    lack = libvirt_daemon.probe(uri=None)
    assert lack is not None
    assert "bmwg-toolkit[libvirt]" in lack["mend"]
    with pytest.raises(TestbedError, match=r"^VM-10 "):
        Connection("qemu:///system").open()


def test_without_libvirtd_the_apt_line_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(libvirt_daemon, "probe_binding", lambda: None)
    monkeypatch.setenv("PATH", str(tmp_path))
    lack = libvirt_daemon.probe(uri=None)
    assert lack is not None
    assert lack["mend"] == libvirt_daemon.INSTALL_LINE
    with pytest.raises(TestbedError, match=r"^VM-10 "):
        libvirt_daemon.start(token="none")
    assert not Path(libvirt_daemon.folder_of("none")).exists()


def test_a_domain_that_never_was_is_undone_without_libvirt(tmp_path: Path) -> None:
    uri = libvirt_daemon.uri_of("0")
    folder = tmp_path / "guest"
    folder.mkdir()
    given = {"uri": uri, "own": True, "name": "none", "uuid": "0-0", "folder": str(folder), "taps": ["none0"]}
    assert not libvirt_machine.remove(**given)  # type: ignore[arg-type]
    assert not folder.exists()
    assert not libvirt_machine.remove(**given)  # type: ignore[arg-type]
