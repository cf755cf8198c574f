"""What the first frame of a flow costs on Open vSwitch's user-space datapath: the upcall (CINF08-5.1.1-03).

The switch forwards between two vhost-user ports by one OpenFlow rule each way; the tester sends 20 frames at
1,000 frames/s. Before a trial of one kind the datapath's flows are flushed (the rules stay), so its first
frame misses, is classified by the rules and gives the datapath its flow; before one of the other kind none
is flushed. They take turns. The latency of the slowest frame is compared, and the switch's own count of
upcalls says that there was one. Prints JSON, nanoseconds.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import tempfile
import time
from pathlib import Path

import tester_bed as bed
from ending import end_in_order
from holding import keep_awake
from ovs_dpdk import FRAME_OCTETS, PARTS, Switch, switch

from bmwg.drivers.api import TesterPort
from bmwg.drivers.traffic.embedded.driver import EmbeddedConfig, EmbeddedTraffic
from bmwg.methodology.latency import summarize
from bmwg.methodology.records import TrialSpec

FRAMES, LOAD_FPS = 20, 1_000
SPEC = TrialSpec(frame_octets=FRAME_OCTETS, load_fps=LOAD_FPS, duration_s=FRAMES / LOAD_FPS)
_UPCALLS = re.compile(r"miss with success upcall: (\d+)")


def ask(ovs: Switch, *words: str) -> str:
    """Ask the running switch."""
    (socket,) = ovs.folder.glob("ovs-vswitchd.*.ctl")
    return ovs.run(PARTS.ask, f"--target={socket}", *words)


def upcalls(ovs: Switch) -> int:
    """Return how many upcalls the polling threads have handled so far."""
    return sum(map(int, _UPCALLS.findall(ask(ovs, "dpif-netdev/pmd-stats-show"))))


def measure(runs: int) -> dict[str, object]:
    """Take so many trials of each kind, in turn."""
    slowest: dict[str, list[int]] = {"flushed": [], "kept": []}
    others: list[int] = []
    counted: dict[str, list[int]] = {"flushed": [], "kept": []}
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
        for _ in range(runs):
            for kind in slowest:
                if kind == "flushed":
                    ask(ovs, "dpctl/del-flows", "netdev@ovs-netdev")
                before = upcalls(ovs)
                stream = tester.run(SPEC).streams[0]
                counted[kind].append(upcalls(ovs) - before)
                if stream.received_frames == stream.sent_frames == FRAMES:
                    told = summarize(stream.latency)
                    slowest[kind].append(told.max_ns)
                    others.append(told.p50_ns)
    return {
        "slowest_of_20_ns": {kind: spread(values) for kind, values in slowest.items()},
        "median_frame_ns": spread(others),
        "upcalls_a_trial": {kind: sorted(set(values)) for kind, values in counted.items()},
        "upcall_costs_ns": round(statistics.median(slowest["flushed"]) - statistics.median(slowest["kept"])),
    }


def spread(values: list[int]) -> dict[str, float]:
    """Median and quartiles."""
    low, middle, high = statistics.quantiles(values, n=4)
    return {"median": middle, "quartile_1": low, "quartile_3": high, "trials": len(values)}


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
