"""docs/openstack.md, "By hand" and "On my cloud": the line that `bmwg cloud` prints; mistakes."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

from tests.openstack.support import needs_cloud, password, strays

pytestmark = needs_cloud
_ANSWER_S = 120.0


def as_printed(line: str) -> tuple[int, str]:
    """Run a printed line as a user would, with our programs in PATH; returns its status and all it said."""
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        ["sh", "-c", line],
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        timeout=_ANSWER_S,
        check=False,
    )
    assert password() not in done.stdout + done.stderr
    return done.returncode, done.stdout + done.stderr


def test_the_printed_line_looks_at_the_cloud_and_mistakes_are_named(tmp_path: Path) -> None:
    words = [sys.executable, "-W", "ignore", "-m", "bmwg", "cloud", "--results", str(tmp_path)]
    runner = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        assert runner.stdout is not None
        said = []
        for line in runner.stdout:  # ends when the cloud does, whose start has a deadline
            said.append(line)
            if "Ctrl-C" in line:
                break
        (look,) = [line.strip() for line in said if "nsenter" in line]
        status, told = as_printed(look)
        assert status == 0, told
        for part in (
            "compute: 2.",
            "network: 2.",
            "image: 2.",
            "left of the quota",
            "flavors: none",
            "images: none",
        ):
            assert part in told
        status, told = as_printed(look.replace("--check embedded", "--check embedde"))
        assert status != 0
        assert "CLOUD-10" in told
        assert "did you mean 'embedded'" in told
        file = Path(
            next(word for word in shlex.split(look) if word.startswith("OS_CLIENT")).partition("=")[2]
        )
        other = tmp_path / "wrong.yaml"
        other.write_text(file.read_text().replace(password(), "no-such-password"))
        status, told = as_printed(look.replace(str(file), str(other)))
        assert status != 0
        assert "CLOUD-11" in told
        assert "no-such-password" not in told
    finally:
        runner.send_signal(signal.SIGINT)
        rest, _ = runner.communicate(timeout=90)
    assert runner.returncode == 0, rest
    assert "ending it" in rest
    (folder,) = tmp_path.glob("cloud-*")
    assert strays(str(folder)) == []
    assert not (folder / "clouds.yaml").exists()
