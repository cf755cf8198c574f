"""What the first frame of a flow costs on Open vSwitch's user-space datapath: the upcall (CINF08-5.1.1-03).

The switch forwards between two vhost-user ports by one OpenFlow rule each way. A trial is one frame, so its
latency is that of this frame and of no other. Before a trial of one kind the datapath's flows are purged (the
rules stay): the frame misses, is classified by the rules and gives the datapath its flow. Before one of the
other kind none is. They take turns at going first, and the switch's own count of upcalls must say one and
none, else the trial does not count. Prints JSON, nanoseconds; each difference is of two trials that follow
each other.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import statistics
import tempfile
import time
from pathlib import Path

import tester_bed as bed
from ending import end_in_order
from holding import keep_awake
from ovs_dpdk import CONTROL, FRAME_OCTETS, PARTS, Switch, switch

from bmwg.drivers.api.protocols import TesterPort
from bmwg.drivers.traffic.embedded.driver import EmbeddedConfig, EmbeddedTraffic
from bmwg.methodology.answers.latency import summarize
from bmwg.methodology.records import TrialSpec

LOAD_FPS = 1_000
SPEC = TrialSpec(frame_octets=FRAME_OCTETS, load_fps=LOAD_FPS, duration_s=1 / LOAD_FPS)  # one frame
SURE = 0.95  # choice
KINDS = {"purged": 1, "kept": 0}  # with the upcalls that a trial must have had
_UPCALLS = re.compile(r"miss with success upcall: (\d+)")


def ask(ovs: Switch, *words: str) -> str:
    """Ask the running switch."""
    return ovs.run(PARTS.ask, f"--target={ovs.folder / CONTROL}", *words)


def upcalls(ovs: Switch) -> int:
    """Return how many upcalls the polling threads have handled so far."""
    return sum(map(int, _UPCALLS.findall(ask(ovs, "dpif-netdev/pmd-stats-show"))))


def trial(ovs: Switch, tester: EmbeddedTraffic, kind: str) -> tuple[int, int] | None:
    """Send one frame; return its latency and how many upcalls there were, None when it did not arrive."""
    if kind == "purged":
        ask(ovs, "revalidator/purge")  # deleting them from the datapath alone makes the upcall fail
    before = upcalls(ovs)
    stream = tester.run(SPEC).streams[0]
    if stream.received_frames != 1:
        return None
    return summarize(stream.latency).max_ns, upcalls(ovs) - before


def measure(runs: int) -> dict[str, object]:
    """Take so many pairs of trials, one of each kind."""
    pairs: list[dict[str, int]] = []
    left_out = 0
    last = (os.cpu_count() or 1) - 1
    with (
        tempfile.TemporaryDirectory(prefix="bmwg-ovs-") as name,
        bed.namespace("o") as space,
        switch(Path(name), last, space) as ovs,
        EmbeddedTraffic(EmbeddedConfig(run_dir=Path(name))) as tester,
    ):
        ports = tuple(
            TesterPort(
                name=f"tester/v{side}",
                io="virtio_user",
                device=str(Path(name) / f"vu{side}"),
                mac=f"02:00:00:00:00:0{side}",
                ipv4=f"198.18.{side}.2/24",
            )
            for side in (0, 1)
        )
        tester.attach((ports[0], ports[1]))
        time.sleep(1.0)
        tester.learn(SPEC)
        poller_first(ovs)
        for number in range(runs):
            order = list(KINDS)[:: -1 if number % 2 else 1]
            told = {kind: trial(ovs, tester, kind) for kind in order}
            good = {kind: one[0] for kind, one in told.items() if one and one[1] == KINDS[kind]}
            if len(good) == len(KINDS):
                pairs.append(good)
            else:
                left_out += 1
    costs = [pair["purged"] - pair["kept"] for pair in pairs]
    return {
        "first_frame_ns": {kind: spread([pair[kind] for pair in pairs]) for kind in KINDS},
        "upcall_costs_ns": spread(costs),
        "upcall_median_ns": median_interval(costs),
        "pairs_left_out": left_out,
    }


def poller_first(ovs: Switch) -> None:
    """Have the polling thread go before other programs: a frame that waits for it is no upcall."""
    pid = ovs.processes[-1].pid
    Path(f"/proc/{pid}/autogroup").write_text("-20")
    for thread in Path(f"/proc/{pid}/task").iterdir():
        os.setpriority(os.PRIO_PROCESS, int(thread.name), -20)


def median_interval(values: list[int]) -> dict[str, float]:
    """An interval for the median by the ranks of a fair coin, and how sure it is."""
    ordered, many = sorted(values), len(values)
    below = 0
    while 2 * tail(many, below) <= 1 - SURE:
        below += 1
    if not below:
        return {"least": ordered[0], "most": ordered[-1], "sure": 1 - 2 * 0.5**many}
    return {"least": ordered[below - 1], "most": ordered[many - below], "sure": 1 - 2 * tail(many, below - 1)}


def tail(many: int, most: int) -> float:
    """Chance of at most so many heads."""
    return sum(math.comb(many, heads) for heads in range(most + 1)) / 2**many


def spread(values: list[int]) -> dict[str, float]:
    """Median, quartiles and extremes."""
    low, middle, high = statistics.quantiles(values, n=4)
    return {
        "median": middle,
        "quartile_1": low,
        "quartile_3": high,
        "least": min(values),
        "most": max(values),
        "trials": len(values),
    }


def main() -> None:
    """Measure and print."""
    held = keep_awake()
    end_in_order()
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--runs", type=int, default=50)
    found = measure(options.parse_args().runs)
    print(json.dumps({"benchmark": "first_frame", "kept_awake": held, **found}, indent=1))


if __name__ == "__main__":
    main()
