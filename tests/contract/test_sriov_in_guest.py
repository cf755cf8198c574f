"""Virtual functions inside a guest: QEMU's igb makes them, pods get them, and test frames pass."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from bmwg.drivers.hosting import guest_initramfs, guest_kernel, qemu
from bmwg.drivers.hosting.guest_kernel import GuestKernel

ROOT = Path(__file__).parents[2]
_LACK = qemu.probe_program(with_functions=True) or guest_initramfs.probe_shell()


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root: namespaces")
@pytest.mark.skipif(_LACK is not None, reason=f"needs {_LACK}")
@pytest.mark.skipif(
    not isinstance(guest_kernel.find(), GuestKernel),
    reason=f"needs a guest kernel: {guest_kernel.FETCH_LINE}",
)
def test_a_pod_forwards_between_two_virtual_functions_and_the_report_says_so(tmp_path: Path) -> None:
    done = subprocess.run(
        [
            *(sys.executable, "-m", "bmwg", "run", "--in-guest"),
            str(ROOT / "testcases" / "containerized" / "8__sriov_model.robot"),
            *("--testbed", str(ROOT / "testbeds" / "guest-sriov.yaml"), "--profile", "guest-sriov"),
            *("--results", str(tmp_path)),
        ],
        capture_output=True,
        text=True,
        timeout=3000,
        check=False,
    )
    (record,) = tmp_path.glob("*/run.json")
    run = json.loads(record.read_text())
    outcomes = {outcome["id"]: outcome for outcome in run["outcomes"]}
    outcome = outcomes["CN-TPUT-8.1:pvp/pod/kernel-l3/sr-iov/64/forward"]
    assert outcome["type"] in ("measured", "unstable", "at_floor", "at_ceiling", "tester_limited"), (
        outcome,
        done.stdout[-2000:],
    )
    platform = json.loads((record.parent / "platform.json").read_text())
    (told,) = (one for name, one in platform["deployments"].items() if "sr-iov" in name)
    functions = [one["virtual_function"] for one in told["attachments"]]
    assert [one["driver"] for one in functions] == ["igbvf", "igbvf"]
    assert len({one["address"] for one in functions}) == 2
