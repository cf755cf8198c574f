"""Each package of reports can be imported first: none works only after another one."""

from __future__ import annotations

import subprocess
import sys

import pytest

_PACKAGES = (
    "published.ratios",
    "published.figures",
    "kinds.requests.section",
    "render.page",
    "compare",
    "importers",
)


@pytest.mark.parametrize("name", _PACKAGES)
def test_each_can_be_the_first_import(name: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", f"import bmwg.reports.{name}"],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
