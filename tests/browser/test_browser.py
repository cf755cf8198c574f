"""A real browser opens the report: paints soon, fetches nothing, says nothing, passes an accessibility check.

Needs Chromium, Node and the packages of `tests/browser/package.json` (`npm ci --prefix tests/browser`).
"""

from __future__ import annotations

import importlib.util
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bmwg.reports.render.page.report import write_report

HERE = Path(__file__).parent
_MADE = HERE.parents[0] / "unit" / "reports" / "made_run.py"
pytestmark = pytest.mark.slow
FIRST_PAINT_MS = 1000


def made_run() -> Any:
    sys.path.insert(0, str(_MADE.parent))  # its parts stand beside it
    spec = importlib.util.spec_from_file_location("made_run_of_browser", _MADE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def opened(page: Path) -> list[dict[str, Any]]:
    browser, node = shutil.which("chromium"), shutil.which("node")
    if not browser or not node:
        pytest.skip("chromium and node are not installed")
    if not (HERE / "node_modules" / "axe-core").is_dir():
        pytest.skip("axe-core is not installed: npm ci --prefix tests/browser")
    done = subprocess.run(
        [node, str(HERE / "check.mjs"), browser, str(page)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found: list[dict[str, Any]] = json.loads(done.stdout)
    assert len(found) == 4
    return found


@pytest.mark.parametrize("kind", ["realistic", "large"])
def test_a_browser_finds_nothing_wrong_with_a_report(tmp_path: Path, kind: str) -> None:
    made = made_run()
    folder = (
        made.realistic_run(tmp_path)
        if kind == "realistic"
        else made.large_run(tmp_path, trials=10_000, cells=200, buckets=120)
    )
    for seen in opened(write_report(folder)):
        where = f"{seen['device']} {seen['colorScheme']}"
        assert seen["console"] == [], where
        assert seen["requests"] == [], where
        assert seen["violations"] == [], where
        assert seen["overflow_px"] == seen["overflow_open_px"] == 0, where
        assert seen["opened_by_key"] == 1, where
        assert seen["first_paint_ms"] < FIRST_PAINT_MS, where
