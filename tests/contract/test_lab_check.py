"""A lab's ports and cables before a run: what is told of good, swapped, dead and used ones. Real kernel.

The lab is a network namespace of the test's own, with pairs of veth in place of NICs and cables.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from bmwg.drivers.testbed.file import embedded_file

pytestmark = pytest.mark.root
GOOD = [("eth1", "eth3"), ("eth2", "eth4"), ("eth5", "eth6")]
SWAPPED = [("eth1", "eth4"), ("eth2", "eth3"), ("eth5", "eth6")]
IN_THE_LAB = """
import json, subprocess, sys
from dataclasses import asdict
from pathlib import Path
from pyroute2 import IPRoute
from bmwg.drivers.ports import interfaces
from bmwg.drivers.testbed.file import load_testbed

folder, pairs, spoil = Path(sys.argv[1]), json.loads(sys.argv[2]), json.loads(sys.argv[3])
subprocess.run(["mount", "-t", "sysfs", "sysfs", "/sys"], check=True)
for own in ("/run", "/var/lib"):  # locks and ledgers of this lab alone
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", own], check=True)
interfaces.up(interface="lo")
with IPRoute() as kernel:
    for a, b in pairs:
        kernel.link("add", ifname=a, kind="veth", peer={"ifname": b})
    for name in spoil.get("gone", []):
        kernel.link("del", index=interfaces.index(kernel, name))

if not spoil.get("down"):
    for name in [one["name"] for one in interfaces.listing()]:
        interfaces.up(interface=name)
for name, address in spoil.get("used", {}).items():
    interfaces.add_address(interface=name, address=address)

def listed():
    return sorted([one["name"], one["up"]] for one in interfaces.listing())

from bmwg.resources.lab.check import check
before = listed()
found = check(load_testbed(folder / "testbed.yaml"))
print(json.dumps({"found": [asdict(one) for one in found.checked], "as_before": listed() == before}))
"""


def checked(folder: Path, pairs: list[tuple[str, str]], spoil: object = None) -> dict[str, dict[str, str]]:
    """What `bmwg lab check` tells of a lab with these pairs, by what it is about."""
    data = yaml.safe_load(embedded_file().read_text())
    ends = [("tester/eth1", "dut1/eth3"), ("tester/eth2", "dut1/eth4"), ("tester/eth5", "tester/eth6")]
    data["links"] = [{"a": a, "b": b, "kind": "cable"} for a, b in ends]
    data |= {"name": "lab", "nodes": {"dut1": {"kind": "namespace"}}, "networks": {}}
    data["tester"]["ports"] = ["tester/eth1", "tester/eth2"]
    data["lab_ports"] = [f"eth{number}" for number in range(1, 7)]
    (folder / "testbed.yaml").write_text(yaml.safe_dump(data, sort_keys=False))
    (folder / "program.py").write_text(IN_THE_LAB)
    done = subprocess.run(
        [
            *("unshare", "--net", "--mount", "--propagation", "private"),
            *(sys.executable, str(folder / "program.py"), str(folder)),
            *(json.dumps(pairs), json.dumps(spoil or {})),
        ],
        check=False,
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2] / "src")},
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout.splitlines()[-1])
    assert told["as_before"]  # ports are up or down as they were
    return {one["about"]: one for one in told["found"]}


def test_good_ports_and_cables_have_nothing_to_mend(tmp_path: Path) -> None:
    found = checked(tmp_path, GOOD)
    assert {one["error_id"] for one in found.values()} == {""}, found
    assert found["tester/eth1 - dut1/eth3"]["told"].startswith("a frame of each end was heard at the other")
    assert len(found) == 6 + 3 + 1  # ends, cables, and the rate that they all tell


def test_swapped_cables_are_named_with_where_each_end_was_heard(tmp_path: Path) -> None:
    found = checked(tmp_path, SWAPPED)
    wrong = {about: one["told"] for about, one in found.items() if one["error_id"] == "LAB-01"}
    assert set(wrong) == {"tester/eth1 - dut1/eth3", "tester/eth2 - dut1/eth4"}
    assert "what tester/eth1 sent was heard at dut1/eth4" in wrong["tester/eth1 - dut1/eth3"]
    assert found["tester/eth5 - tester/eth6"]["error_id"] == ""


def test_a_port_in_use_is_named_and_sends_nothing(tmp_path: Path) -> None:
    found = checked(tmp_path, GOOD, {"used": {"eth2": "192.0.2.1/24"}})
    assert found["tester/eth2"]["error_id"] == "PORT-01"
    assert "192.0.2.1/24" in found["tester/eth2"]["told"]
    assert "tester/eth2 - dut1/eth4" not in found  # no frame left either end of that cable
    assert found["tester/eth1 - dut1/eth3"]["error_id"] == ""


def test_a_port_that_is_not_there_is_named_with_the_near_names(tmp_path: Path) -> None:
    found = checked(tmp_path, GOOD, {"gone": ["eth5"]})
    assert {found[end]["error_id"] for end in ("tester/eth5", "tester/eth6")} == {"LINK-01"}


def test_ports_that_are_down_are_down_again_after_the_look(tmp_path: Path) -> None:
    found = checked(tmp_path, GOOD, {"down": True})
    assert {about for about, one in found.items() if one["error_id"]} == set()
    assert found["medium"]["told"] == "veth, without a rate"
