"""Links of kind `cable`: interfaces of a machine are borrowed, measured through, and given back. Real kernel.

The machine is a network namespace of the test's own, with three pairs of veth in place of NICs and cables.
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
CABLES = [("eth1", "eth3"), ("eth2", "eth4"), ("eth5", "eth6")]
NAMES = sorted(name for pair in CABLES for name in pair)

UNSHARE = ["unshare", "--net", "--mount", "--propagation", "private"]
IN_THE_MACHINE = """
import json, subprocess, sys
from contextlib import ExitStack
from pathlib import Path
from pyroute2 import IPRoute
from tests.contract.paths_support import PacketTester
from bmwg.drivers.ports import interfaces
from bmwg.drivers.undo.ledger import Ledger
from bmwg.drivers.testbed.medium import medium_of, with_medium
from bmwg.drivers.paths import path_driver
from bmwg.drivers.paths.bed import open_bed
from bmwg.drivers.testbed.file import load_testbed
from bmwg.drivers.traffic.embedded.driver import EmbeddedTraffic
from bmwg.methodology.errors import ToolkitError
from bmwg.methodology.records import Cell, Direction, TrialSpec

folder, pairs = Path(sys.argv[1]), json.loads(sys.argv[2])
subprocess.run(["mount", "-t", "sysfs", "sysfs", "/sys"], check=True)
interfaces.up(interface="lo")
with IPRoute() as kernel:
    for a, b in pairs:
        kernel.link("add", ifname=a, kind="veth", peer={"ifname": b})
for pair in pairs:
    for name in pair:
        interfaces.up(interface=name)

def listed():
    keys = ("name", "mac", "mtu_octets", "up")
    return sorted([one[key] for key in keys] for one in interfaces.listing() if one["name"] != "lo")

def trials(ports):
    "Sent and received frames of trials by the run's own tester, until all of one left and came."
    spec = TrialSpec(frame_octets=64, load_fps=2_000, duration_s=0.2, direction=Direction.BOTH)
    done = []
    with EmbeddedTraffic.for_testbed(testbed, folder, 0.1) as tester:
        tester.attach(ports)
        tester.learn(spec)
        while len(done) < 10 and done[-1:] != [[[spec.intended_frames] * 2] * 2]:
            streams = tester.run(spec).streams
            done.append([[one.sent_frames, one.received_frames] for one in streams])
        tester.detach()
    return done

told = {"before": listed()}
testbed = with_medium(load_testbed(folder / "testbed.yaml"))
told["line_rate_bps"] = medium_of(testbed).line_rate_bps
ledger = Ledger(folder / "ledger.jsonl", index_dir=folder / "index")
cells = [Cell(path="wire", hosting="none", function="none", network="none", frame_octets=64),
         Cell(path="node", hosting="baremetal", function="kernel-l3", network="none", frame_octets=64)]
try:
    with open_bed(testbed, ledger, folder) as bed:
        told["during"], told["kind"] = listed(), bed.port_kind.used
        told["links"] = bed.links
        for cell in cells:
            driver = path_driver(cell, bed)
            missing = driver.probe()
            told[cell.path] = missing.what if missing else ""
            if missing is None:
                with driver.deploy() as deployment:
                    told[cell.path] = True
                    if sys.argv[3]:
                        with PacketTester(deployment.ports) as tester:
                            told[cell.path] = all(
                                tester.carry(source, b"a cable", ipv6=ipv6) is not None
                                for source in (0, 1) for ipv6 in (False, True)
                            )
                        told[cell.path + " trials"] = trials(deployment.ports)
                    told[cell.path + " kinds"] = [port.io for port in deployment.ports]
                    told[cell.path + " macs"] = [port.mac for port in deployment.ports]
except ToolkitError as error:
    told["error"] = f"{error.error_id} {error.what}"
told["after"] = listed()
print(json.dumps(told))
"""


def write_testbed(
    folder: Path, *, loop: bool = True, tester: dict[str, object] | None = None, **changes: object
) -> None:
    data = yaml.safe_load(embedded_file().read_text())
    ends = [("tester/eth1", "dut1/eth3"), ("tester/eth2", "dut1/eth4"), ("tester/eth5", "tester/eth6")]
    data["links"] = [{"a": a, "b": b, "kind": "cable"} for a, b in ends[: 3 if loop else 2]]
    data |= {"name": "cabled", "nodes": {"dut1": {"kind": "namespace"}}, "networks": {}, **changes}
    data["tester"]["ports"] = ["tester/eth1", "tester/eth2"]
    data["lab_ports"] = NAMES
    data["tester"] |= tester or {}
    (folder / "testbed.yaml").write_text(yaml.safe_dump(data, sort_keys=False))


def machine(folder: Path, frames: str = "") -> dict[str, object]:
    """Run the test's program where the machine's interfaces are these three pairs."""
    program = folder / "program.py"
    program.write_text(IN_THE_MACHINE)
    done = subprocess.run(
        [*UNSHARE, sys.executable, str(program), str(folder), json.dumps(CABLES), frames],
        check=False,
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2])},
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, object] = json.loads(done.stdout.splitlines()[-1])
    return found


def test_cables_are_borrowed_and_the_machine_has_its_interfaces_back(tmp_path: Path) -> None:
    write_testbed(tmp_path)
    told = machine(tmp_path)
    assert "error" not in told, told
    assert told["wire"]
    assert told["node"]
    assert told["during"] == []  # all six are in the nodes
    assert told["after"] == told["before"]
    macs = {one[0]: one[1] for one in told["before"]}  # type: ignore[index]
    assert told["node macs"] == [macs["eth1"], macs["eth2"]]  # as the kernel has them, not computed
    assert told["wire macs"] == [macs["eth5"], macs["eth6"]]
    assert told["line_rate_bps"] is None  # whatever a veth tells
    assert {link["kind"] for link in told["links"]} == {"cable"}  # type: ignore[attr-defined]


@pytest.mark.quiet
@pytest.mark.parametrize("kinds", [[], ["af_xdp", "af_packet"]])
def test_cables_carry_frames(tmp_path: Path, kinds: list[str]) -> None:
    """Through the router and on the wire, both ways, by ports of one kind, and of a kind for each."""
    write_testbed(tmp_path, tester={"io": kinds} if kinds else None)
    told = machine(tmp_path, "frames")
    for path in ("wire", "node"):
        assert told[path] is True, told
        trials = told[f"{path} trials"]
        assert trials[-1] == [[400, 400], [400, 400]], told  # type: ignore[index]
        assert told[f"{path} kinds"] == (kinds or [told["kind"]] * 2)
    assert told["after"] == told["before"]


def test_without_a_loop_the_tester_of_cabled_ports_is_not_qualified_on_a_veth(tmp_path: Path) -> None:
    write_testbed(tmp_path, loop=False)
    told = machine(tmp_path)
    assert told["wire"] == "a wire for the qualification of the tester"
    assert told["after"] == told["before"]


def test_a_rate_of_pairs_is_refused(tmp_path: Path) -> None:
    write_testbed(tmp_path, medium={"kind": "ethernet", "line_rate_bps": 40_000_000_000})
    with pytest.raises(AssertionError, match="PORT-05"):
        machine(tmp_path)
