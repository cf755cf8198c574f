"""Restarts the run's own Open vSwitch amid traffic, in good order or by a kill. Node functions.

In good order is as `ovs-ctl restart` does it: the flows of all bridges are saved, the switch is asked to
exit, the next one forwards nothing before it has these flows again. A kill is SIGKILL; whoever watches the
switch starts the next one at once, with what stands in the database: bridges, ports and settings, and no
flows. Ids: those of `ovs_switch`.
"""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

from bmwg.drivers.api.protocols import JsonValue
from bmwg.drivers.network import ovs_flows, ovs_parts, ovs_switch, ovs_tools
from bmwg.drivers.nodes import process, programs
from bmwg.methodology.errors import DriverError

_WAITING = "flow-restore-wait"  # of the Open_vSwitch table: until it is removed nothing is forwarded


def restart(*, graceful: bool) -> dict[str, JsonValue]:
    """Node function: end the switch and start it anew; returns when that began and ended (ns).

    `absent_ns` is how long nothing can have been forwarded: from the end of the one until the next was begun,
    in good order until that had its flows. `flows_before` and `flows_after` are those of all bridges.
    Raises DriverError VSW-02, VSW-03.
    """
    state = ovs_switch.recorded()
    if not state:
        raise DriverError("VSW-02", "a vSwitch to restart", expected="one of the run's own", found="none")
    bridges = ovs_tools.configure("list-br").split()
    flows = {bridge: ovs_flows.standing(bridge) for bridge in bridges}
    began_ns = time.monotonic_ns()
    if graceful:
        ovs_tools.configure("set", "Open_vSwitch", ".", f"other_config:{_WAITING}=true")
        ovs_tools.ask("exit")
    else:
        os.kill(state["switch"]["pid"], signal.SIGKILL)
    _gone(state)
    gone_ns = time.monotonic_ns()
    forwards_ns = time.monotonic_ns()
    _start_again(state)
    if graceful:
        for bridge, lines in flows.items():
            _restore(bridge, lines)
        forwards_ns = time.monotonic_ns()
        ovs_tools.configure("remove", "Open_vSwitch", ".", "other_config", _WAITING)
    ended_ns = time.monotonic_ns()
    return {
        "began_ns": began_ns,
        "ended_ns": ended_ns,
        "beginning_ns": gone_ns - began_ns,
        "ending_ns": ended_ns - gone_ns,
        "absent_ns": forwards_ns - gone_ns,
        "flows_before": sum(map(len, flows.values())),
        "flows_after": sum(len(ovs_flows.standing(bridge)) for bridge in bridges),
    }


def _gone(state: dict[str, Any]) -> None:
    ovs_switch.ended(**state["switch"])
    if process.same(state["switch"]["pid"], state["switch"]["start_ticks"]):
        raise DriverError("VSW-02", "the vSwitch's end", expected="within the deadline", found="it runs")


def _start_again(state: dict[str, Any]) -> None:
    """Start a switch in place of one that has ended, with what the database holds."""
    folder = Path(ovs_tools.FOLDER)
    programs.stop(folder=str(folder / "switch"), **state["switch"])
    (folder / "switch").mkdir()
    (folder / "switch.ctl").unlink(missing_ok=True)  # of one that was killed
    ovs_switch.start(state)


def _restore(bridge: str, lines: list[str]) -> None:
    """Give a bridge these flows and no others."""
    file = Path(ovs_tools.FOLDER) / f"{bridge}.flows"
    file.write_text("\n".join(lines) + "\n")
    try:
        target = f"unix:{ovs_tools.FOLDER}/{bridge}.mgmt"
        ovs_tools.run([ovs_parts.require().flows, "replace-flows", target, str(file)])
    finally:
        file.unlink()
