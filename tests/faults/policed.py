"""The bed of a known truth: a policer of 1,000 frames/s behind a pod, and a search that noise cannot move.

The search's loads follow from its goal alone: 12,000, 750 and 3,000 frames/s, the truth between the last two.
All 225 frames of a trial at the lower load fit into the queue of a device (256 frames) and into what the
policer holds and queues (300): a DUT that does not run at all for the whole trial loses none of them. At the
upper load 237 or more of 837 or more are too many. A busy machine repeats trials and changes no bound.
"""

import subprocess

import yaml
from tests.faults.support import ROOT, write_profile, write_testbed

from bmwg.drivers.paths.bed import Bed
from bmwg.drivers.testbed.file import SIMULATED
from bmwg.methodology.plan import planning
from bmwg.methodology.profiles.reading import parse_profile
from bmwg.resources.run import narrowing

TRUTH_FPS = 1_000
WIRE_MAX_FPS = 12_000  # the tester is qualified up to here, far below what it can
_OCTETS = 60  # no Linux queue counts the FCS
_HELD = ["burst", str(150 * _OCTETS), "limit", str(150 * _OCTETS)]

PROFILE = {
    "trial": {
        "duration_s": 0.3,
        "min_sent_ratio": 0.93,
        "max_stall_ns": 50_000_000,
        "max_host_stall_ns": 50_000_000,
        "max_steal_ns": 250_000_000,
        "max_repeats": 60,
        "restabilize_s": 0.01,
        "drain_s": 0.3,  # a trial ends when nothing has come for that long
    },
    "search": {
        "min_load_fps": 47,
        "relative_width": 0.8,
        "short_limit": 10,
        "verification_trials": 3,
        "max_reopenings": 6,
    },
}


def write_bed(folder):
    """Write profile and testbed of the known truth; returns their paths."""
    embedded = yaml.safe_load((ROOT / "testbeds" / "embedded.yaml").read_text())
    testbed = write_testbed(
        folder,
        "embedded",
        nodes={"dut1": embedded["nodes"]["dut1"]},
        links=[link for link in embedded["links"] if "dut2" not in str(link)],
        networks={"bridge": embedded["networks"]["bridge"]},
    )
    return write_profile(folder, **PROFILE), testbed


def police(bed):
    """Put the policer on the DUT's way out; it lives and dies with the node's namespace."""
    inside = ["nsenter", "-t", str(bed.node("dut1").pid), "-n"]
    policer = ["root", "tbf", "rate", f"{TRUTH_FPS * _OCTETS * 8}bit", *_HELD]
    subprocess.run(
        [*inside, "tc", "qdisc", "add", "dev", "nic1", *policer],
        check=True,
        capture_output=True,
        timeout=10,
    )


def install(profile):
    """Have runs of this process take the profile from a file and police each bed that they open."""
    assert narrowing.load_profile
    narrowing.load_profile = lambda name, **_: parse_profile(
        profile.read_text(encoding="utf-8"), source=str(profile)
    )
    assert planning.QUALIFICATION_MAX_FPS
    planning.QUALIFICATION_MAX_FPS = WIRE_MAX_FPS
    plain = Bed.open

    def opened(bed, stack):
        plain(bed, stack)
        if bed.testbed.tester.driver != SIMULATED:
            police(bed)

    Bed.open = opened
