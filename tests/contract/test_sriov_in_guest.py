"""Virtual functions inside a guest: QEMU's igb makes them, pods get them, and test frames pass."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.needs_guest import booting

from bmwg.drivers.network import ovs_parts

ROOT = Path(__file__).parents[2]
ANSWERS = ("measured", "unstable", "at_floor", "at_ceiling", "tester_limited")
pytestmark = [pytest.mark.slow, pytest.mark.root, booting(with_functions=True)]


def ran(suite: str, results: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Run one suite in a guest; return its outcomes by id, and what its deployments told."""
    done = subprocess.run(
        [
            *(sys.executable, "-m", "bmwg", "run", "--in-guest"),
            str(ROOT / "testcases" / "containerized" / suite),
            *("--testbed", str(ROOT / "testbeds" / "guest-sriov.yaml"), "--profile", "guest-sriov"),
            *("--results", str(results)),
        ],
        capture_output=True,
        text=True,
        timeout=1800,
        check=False,
    )
    found = list(results.glob("*/run.json"))
    assert len(found) == 1, done.stdout[-3000:] + done.stderr[-1000:]
    run = json.loads(found[0].read_text())
    platform = json.loads((found[0].parent / "platform.json").read_text())
    return {one["id"]: one for one in run["outcomes"]}, platform["deployments"]


def test_pods_forward_between_two_virtual_functions_of_the_kernel_and_of_dpdk(tmp_path: Path) -> None:
    outcomes, deployments = ran("08__sriov_model.robot", tmp_path)
    for function, network, driver in (
        ("kernel-l3", "sr-iov", "igbvf"),
        ("testpmd", "sr-iov-vfio", "vfio-pci"),
    ):
        outcome = outcomes[f"CN-TPUT-8.1:pvp/pod/{function}/{network}/64/forward"]
        assert outcome["type"] in ANSWERS, outcome
        (told,) = (one for one in deployments.values() if one["network"]["network"] == network)
        made = [one["virtual_function"] for one in told["attachments"]]
        assert [one["driver"] for one in made] == [driver, driver]
        assert len({one["address"] for one in made}) == 2


@pytest.mark.skipif(ovs_parts.probe() is not None, reason=f"needs {ovs_parts.probe()}")
def test_pods_have_a_function_north_south_and_a_vswitch_east_west(tmp_path: Path) -> None:
    outcomes, deployments = ran("10__combination_model.robot", tmp_path)
    for chain in ("a", "a>b"):
        for direction in ("forward", "reverse"):
            outcome = outcomes[f"CN-TPUT-9.1:chain/pod/testpmd/combination/64/{direction}/chain={chain}"]
            assert outcome["type"] in ANSWERS, outcome
    axes = [tuple(one["axis"] for one in told["attachments"]) for told in deployments.values()]
    assert ("north-south", "north-south") in axes
    assert ("north-south", "east-west", "east-west", "north-south") in axes
