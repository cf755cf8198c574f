"""The versions of container runtimes are told on a busy machine too."""

import os

import pytest

from bmwg.drivers.platform_record.collectors.hosting import container
from bmwg.drivers.platform_record.source import LocalSource
from bmwg.drivers.platform_record.values import Group

SLOW = ("crun", "dockerd", "podman")  # 6.6 s in all; what other commands get is 2 s each


class Installed(LocalSource):
    """This machine with the slow runtimes, and none else, installed."""

    def list_dir(self, path, /):
        return list(SLOW) if path == "/usr/bin" else super().list_dir(path) if path == "/proc" else []


@pytest.fixture
def slow_runtimes(tmp_path, monkeypatch):
    for name in SLOW:
        (tmp_path / name).write_text(f"#!/bin/sh\nsleep 2.2\necho {name} version 29.9.9, build stub\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")


@pytest.mark.usefixtures("slow_runtimes")
def test_a_runtime_that_is_slow_to_tell_its_version_is_told():
    group = Group(Installed())
    container(group)
    told = group.fields["runtimes"]["value"]
    assert told == {name: f"{name} version 29.9.9, build stub" for name in SLOW}


def test_a_program_is_asked_for_its_version_again_where_its_file_changed(tmp_path, monkeypatch):
    program, asked = tmp_path / "told", tmp_path / "asked"
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    for version in ("1", "22"):
        program.write_text(f"#!/bin/sh\necho x >> {asked}\necho {version}\n")
        program.chmod(0o755)
        told = [LocalSource().run(["told", "--version"]) for _ in range(2)]
        assert told == [f"{version}\n"] * 2
    assert asked.read_text() == "x\n" * 2
