"""Levels of factors that this machine may lack, in a guest of two NUMA nodes: each of them stands there."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from bmwg.drivers.hosting import guest_initramfs, guest_kernel, qemu
from bmwg.drivers.hosting.guest_kernel import GuestKernel
from bmwg.drivers.network import ovs_parts

ROOT = Path(__file__).parents[2]
_LACK = qemu.probe_program() or guest_initramfs.probe_shell()
_SWITCH_LACK = ovs_parts.probe()
ANSWERS = {"measured", "unstable", "at_floor", "at_ceiling", "tester_limited"}
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root: namespaces"),
    pytest.mark.skipif(_LACK is not None, reason=f"needs {_LACK}"),
    pytest.mark.skipif(
        not isinstance(guest_kernel.find(), GuestKernel),
        reason=f"needs a guest kernel: {guest_kernel.FETCH_LINE}",
    ),
]
POD_2M, POD_1G, NUMA = "pods.hugepages_2Mi", "pods.hugepages_1Gi", "numa"
SWITCH_2M, SWITCH_1G = (f"networks.ovs-dpdk.options.hugepages_{size}" for size in ("2mi", "1gi"))


def mostly_on(pages):
    """The node on which most of a program's memory lies."""
    return max(pages["octets_by_node"], key=pages["octets_by_node"].get)


@pytest.mark.skipif(_SWITCH_LACK is not None, reason=f"needs {_SWITCH_LACK}")
def test_each_level_stands_in_the_guest_as_its_kernel_tells(tmp_path):
    done = subprocess.run(
        [
            *(sys.executable, "-m", "bmwg", "run", "--in-guest", str(ROOT / "testcases" / "factors")),
            *("--testbed", str(ROOT / "testbeds" / "guest-factors.yaml"), "--results", str(tmp_path)),
        ],
        capture_output=True,
        text=True,
        timeout=1800,
        check=False,
    )
    (folder,) = (one.parent for one in tmp_path.glob("*/run.json"))
    run = json.loads((folder / "run.json").read_text())
    platform = json.loads((folder / "platform.json").read_text())
    told = {}
    for name, evidence in platform["deployments"].items():
        told |= {
            tuple(axis.split("=", 1)): evidence for axis in name.rpartition("-")[0].split("/") if "=" in axis
        }
    outcomes = {one["id"]: one["type"] for one in run["outcomes"] if one["id"].startswith("CN-TPUT-7.1")}
    assert len(outcomes) == 8, done.stdout[-2000:]
    assert set(outcomes.values()) <= ANSWERS, outcomes

    pods = {key: evidence["function"] for key, evidence in told.items()}
    assert pods[POD_2M, "0"]["pages"]["hugepages"] == {}
    assert pods[POD_2M, "64"]["pages"]["hugepages"].keys() == {"2 MiB"}
    assert pods[POD_1G, "1"]["pages"]["hugepages"] == {"1 GiB": 1}
    assert {level: mostly_on(pods[NUMA, level]["pages"]) for level in ("same", "cross")} == {
        "same": "0",
        "cross": "1",
    }
    switches = {
        key: evidence["attachments"][0]["vswitch"]["memory"]
        for key, evidence in told.items()
        if "ovs" in key[0]
    }
    assert switches[SWITCH_2M, "0"]["hugepages"] == {}
    assert switches[SWITCH_2M, "256"]["hugepages"].keys() == {"2 MiB"}
    assert switches[SWITCH_1G, "1"]["hugepages"] == {"1 GiB": 1}
