"""What the tests on a real OpenStack share: what they need, its password, and what must be gone."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from bmwg.drivers.api.protocols import Missing
from bmwg.drivers.nodes import process
from bmwg.drivers.openstack import client, embedded, image, template

_IMAGE = image.find()
_LACK = client.probe() or embedded.probe() or (_IMAGE if isinstance(_IMAGE, Missing) else None)
needs_cloud = [
    pytest.mark.slow,
    pytest.mark.root,
    pytest.mark.skipif(_LACK is not None, reason=f"needs {_LACK and _LACK.what}: {template.SETUP_LINE}"),
    pytest.mark.skipif(shutil.which("ssh") is None, reason="needs ssh: openssh-client"),
]


def password() -> str:
    """The one password of all accounts in the embedded cloud."""
    found = template.find()
    assert isinstance(found, template.Template)
    return found.password


def until(told: Callable[[], bool], within_s: float) -> bool:
    end_s = time.monotonic() + within_s
    while not told():
        if time.monotonic() > end_s:
            return False
        time.sleep(0.2)
    return True


def strays(word: str) -> list[str]:
    """Command lines of processes that still name a folder."""
    return [
        b" ".join(words).decode(errors="replace")
        for pid, words in process.each("cmdline")
        if pid != os.getpid()
        and any(word.encode() in part for part in words)
        and b"pytest" not in b" ".join(words)
    ]


def services(folder: Path, name: str) -> list[int]:
    """Processes of a service of the cloud in this folder, by the network namespace that they share."""
    (first,) = [
        pid
        for pid, words in process.each("cmdline")
        if b"bmwg.drivers.openstack.inside" in words
        and str(folder).encode() in words
        and words[0].startswith(sys.executable.encode())
    ]
    netns = os.readlink(f"/proc/{first}/ns/net")
    found = []
    for pid, words in process.each("cmdline"):
        try:
            here = os.readlink(f"/proc/{pid}/ns/net") == netns
        except OSError:
            continue
        if here and any(word.endswith(f"/{name}".encode()) for word in words):
            found.append(pid)
    return found
