"""A source behind which a stored sample stands: its files, links, commands and netlink dumps."""

from __future__ import annotations

import base64
import errno
import hashlib
import json
import os
from pathlib import Path
from typing import Any

import pytest

from bmwg.drivers.platform_record.values import Unread

FOLDER = Path(__file__).parents[2] / "data" / "record"
SAMPLES = ("bare-metal-two-sockets", "virtual-machine", "container")


class SampleSource:
    """One machine out of a file. `garbage` is what every file, command and dump answers instead."""

    def __init__(self, name: str, garbage: str | None = None) -> None:
        self.data: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text())
        self.garbage = garbage
        self.asked: list[str] = []

    def now(self) -> str:
        return "2026-01-02T03:04:05.678Z"

    def read_bytes(self, path: str, /) -> bytes:
        self.asked.append(path)
        if path in self.data["denied"]:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
        if path in self.data["binary"]:
            content = base64.b64decode(self.data["binary"][path])
        elif path in self.data["files"]:
            content = self.data["files"][path].encode()
        else:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        return content if self.garbage is None else self.garbage.encode()

    def digest(self, path: str, /) -> str:
        return hashlib.sha256(self.read_bytes(path)).hexdigest()

    def read_file(self, path: str, /) -> str:
        return self.read_bytes(path).decode("utf-8", "replace")

    def list_dir(self, path: str, /) -> list[str]:
        known = (*self.data["files"], *self.data["binary"], *self.data["links"])
        below = {name[len(path) + 1 :].split("/")[0] for name in known if name.startswith(f"{path}/")}
        if not below:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        return sorted(below)

    def read_link(self, path: str, /) -> str:
        if path not in self.data["links"]:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        return str(self.data["links"][path])

    def run(self, argv: list[str], /, *, timeout_s: float = 2.0) -> str:
        key = "dpkg-query" if "dpkg-query" in " ".join(argv) else " ".join(argv)
        answer = self.data["commands"].get(key)
        if answer is None:
            raise Unread(f"{argv[0]} is not installed")
        if answer.get("hang"):
            raise Unread(f"{key}: no end after {timeout_s:.1f} s")
        if answer.get("status"):
            raise Unread(f"{key}: exit status {answer['status']}, {answer['stderr']}")
        return str(answer["stdout"]) if self.garbage is None else self.garbage

    def netlink(self, what: str, /, name: str = "") -> Any:
        if self.garbage is not None:
            return self.garbage
        dump = [] if what == "tables" and what not in self.data["netlink"] else self.data["netlink"][what]
        return dump[name] if name else dump


@pytest.fixture
def sample_source() -> type[SampleSource]:
    return SampleSource


@pytest.fixture(params=SAMPLES)
def each_sample(request: pytest.FixtureRequest) -> str:
    return str(request.param)
