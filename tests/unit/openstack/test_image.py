"""What making the image of servers leaves of its work: nothing that is mounted, and nothing that runs."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

import pytest

from bmwg.drivers.nodes import process
from bmwg.drivers.openstack import image
from bmwg.methodology.errors import TestbedError

# as mmdebstrap: it mounts in its tree, and starts programs; `tail` goes on with the tree in its words
_MAKES = """#!/bin/sh
while [ $# -gt 2 ]; do shift; done
mkdir -p "$1/dev" && mount -t tmpfs tmpfs "$1/dev" && touch "$1/dev/file" || exit 4
tail -f "$1/dev/file" >/dev/null 2>&1 &
"""


def _running_at(tree: Path) -> list[int]:
    return [pid for pid, words in process.each("cmdline") if f"{tree}/dev/file".encode() in words]


@pytest.mark.root
@pytest.mark.parametrize(("end", "found"), [("exit 3", "3: "), ("wait", "none")])
def test_what_is_mounted_in_the_tree_and_runs_there_goes_with_what_makes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, end: str, found: str
) -> None:
    tree, program = tmp_path / "tree", tmp_path / "mmdebstrap"
    program.write_text(_MAKES + end + "\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setattr(image, "_DEADLINE_S", 5.0)
    try:
        with pytest.raises(TestbedError, match=r"CLOUD-04 +mmdebstrap for the image") as caught:
            image._tree(tree)
        assert caught.value.found == found
        assert (tree / "dev").is_dir()
        assert str(tree) not in Path("/proc/self/mountinfo").read_text()
        end_s = time.monotonic() + 10.0
        while (left := _running_at(tree)) and time.monotonic() < end_s:
            time.sleep(0.05)
        assert not left
    finally:
        process.kill(*_running_at(tree))
        subprocess.run(["umount", "--quiet", "--lazy", str(tree / "dev")], check=False, timeout=10)
