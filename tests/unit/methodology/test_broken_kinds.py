"""A kind of load that another distribution offers and that cannot be imported stops nothing but itself."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
OFFERED = {
    "kind": "[bmwg.kinds]\nblocks = vendor_broken.kind:BLOCKS\n",
    "room": "[bmwg.rooms]\nblocks = vendor_broken.room:BLOCKS\n"
    "[bmwg.kinds]\nblocks = vendor_broken.kind:BLOCKS\n",
}


@pytest.fixture(params=["kind", "room"])
def broken(request, tmp_path):
    """A folder with a distribution whose kind needs a module that is not there; the variables to see it."""
    info = tmp_path / "site" / "vendor_broken-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: vendor-broken\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(OFFERED[request.param])
    plain = {name: value for name, value in os.environ.items() if not name.startswith("BMWG_")}
    return {**plain, "PYTHONPATH": str(tmp_path / "site")}


def bmwg(broken, *arguments, code=None):
    command = [sys.executable, *(["-c", code] if code else ["-m", "bmwg", *arguments])]
    return subprocess.run(
        command, env=broken, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False
    )


def test_a_plan_of_other_tests_is_made_and_tells_of_it(broken):
    done = bmwg(broken, "plan", "testcases/containerized", "--testbed", "testbeds/simulated.yaml")
    assert done.returncode == 0, done.stderr
    assert "CN-TPUT-1.1" in done.stdout
    assert "warning: DRIVER-03" in done.stderr
    assert "vendor-broken" in done.stderr
    assert done.stderr.count("warning") == 1


def test_a_run_that_names_it_is_refused_with_the_mend(broken):
    """The test that no other kind knows, the room, the kind and a journal's schema are asked for by name."""
    code = """
from bmwg.methodology.errors import TestbedError
from bmwg.methodology.kinds import registry
from bmwg.resources import rooms

for asked in (
    lambda: rooms.asked({"BLOCKS-1.1"}),
    lambda: rooms.room("blocks"),
    lambda: registry.kind("blocks", "run.json"),
    lambda: registry.body_schema("blocks", "trials.jsonl"),
    lambda: registry.plans_itself("blocks"),
):
    try:
        asked()
    except TestbedError as error:
        assert error.error_id == "DRIVER-03", error
        assert "vendor-broken" in error.hint, error
    else:
        raise AssertionError("nothing was refused")
assert "blocks" not in registry.names()
assert "frames" in registry.names() and "streams" in registry.names()
assert rooms.asked({"CN-TPUT-1.1"}).keys() == {"frames"}
"""
    done = bmwg(broken, code=code)
    assert done.returncode == 0, done.stderr


def test_without_one_nothing_is_told():
    done = bmwg(dict(os.environ), "plan", "--testbed", "testbeds/simulated.yaml", "--test", "CN-TPUT-1.2")
    assert (done.returncode, done.stderr) == (0, "")
