"""Flows in a switch of the run's own, and their changes, by `openflow_client.py`. Node functions.

Ids: MOD-05 the switch did not take the entries in time, MOD-06 the program has ended.
"""

from __future__ import annotations

import re
import sys
import time
from pathlib import Path

from bmwg.drivers.api.protocols import JsonValue
from bmwg.drivers.network import ovs_parts, ovs_tools, ovs_words
from bmwg.drivers.nodes import process
from bmwg.drivers.workload import daemons, openflow_client
from bmwg.methodology.errors import DriverError

_COUNTS = "changes"
_IDLE = "10.0.0.0/8"  # as the client has it
_READY_S = 45.0  # choice: 100,000 entries take some seconds
_LOOK_S = 0.02


def start(
    *, folder: str, entries: int, changes_per_s: int, matched: int, timeout_s: int = 0, renewed: bool = True
) -> JsonValue:
    """Node function: give the switch's one bridge idle flows and such as test frames match; change the idle.

    They stand on return. Those that test frames match are removed by the switch `timeout_s` after it got
    them (0: never), and where `renewed` it gets each again.

    Raises DriverError MOD-03 where the switch refuses them.
    """
    bridge = _bridge()
    counts = Path(folder) / _COUNTS
    target = str(ovs_tools.FOLDER / f"{bridge}.mgmt")
    numbers = (matched, timeout_s, int(renewed))
    words = [target, str(entries), str(changes_per_s), str(counts), *map(str, numbers)]
    argv = [sys.executable, str(Path(openflow_client.__file__).resolve()), *words]
    program = daemons.start(argv=argv, files={}, folder=folder, environment={}, user="root")
    assert isinstance(program, dict)
    own = {"pid": int(program["pid"]), "start_ticks": int(program["start_ticks"])}
    end_s = time.monotonic() + _READY_S
    while read(folder=folder, **own) is None:
        if time.monotonic() > end_s:
            daemons.stop(**own)
            raise DriverError(
                "MOD-05", f"{entries} flows of {bridge}", expected=f"within {_READY_S:g} s", found="not yet"
            )
        time.sleep(_LOOK_S)
    told: dict[str, JsonValue] = {"entries": entries, "changes_per_s": changes_per_s, "matched": matched}
    return {"program": program, **told, **({"timeout_s": timeout_s} if timeout_s else {})}


def read(*, folder: str, pid: int, start_ticks: int) -> dict[str, int] | None:
    """Node function: return how many changes are confirmed and how many entries expired.

    None before the entries stand.

    Raises DriverError MOD-06 where the program has ended: nothing changes then.
    """
    if not process.same(pid, start_ticks):
        said = "".join(one.read_text(errors="replace")[-300:] for one in Path(folder).glob("*.log"))
        raise DriverError(
            "MOD-06", "the control plane of the switch's flows", expected="to go on", found=said or "an end"
        )
    try:
        counts = (Path(folder) / _COUNTS).read_text().split()
    except FileNotFoundError:
        return None
    told = dict(zip(("flow_changes", "expired_flows"), map(int, counts), strict=False))
    return told if told and told["flow_changes"] >= 0 else None


def standing(*, matched: bool) -> dict[str, int]:
    """Node function: return how many flows of a kind the switch has, and how many frames met them."""
    target = f"unix:{ovs_tools.FOLDER}/{_bridge()}.mgmt"
    kind = "udp" if matched else f"ip,nw_dst={_IDLE}"
    said = ovs_tools.run([ovs_parts.require().flows, "dump-aggregate", target, kind])
    told = dict(re.findall(r"(\w+)=(\d+)", said))
    return {"flows": int(told["flow_count"]), "frames": int(told["packet_count"])}


def missed() -> int:
    """Node function: return how many frames met no entry but the one by which the bridge learns."""
    ovs_tools.ask("revalidator/wait")
    target = f"unix:{ovs_tools.FOLDER}/{_bridge()}.mgmt"
    said = ovs_tools.run([ovs_parts.require().flows, "dump-flows", target])
    (found,) = (line for line in said.splitlines() if "priority=0" in line)
    return int(re.search(r"n_packets=(\d+)", found)[1])  # type: ignore[index]


def purge() -> None:
    """Node function: have the switch's caches know no flow; each next frame of one is looked up anew."""
    ovs_tools.ask("revalidator/purge")


def upcalls() -> dict[str, int]:
    """Node function: return how many frames found no flow in a cache so far. Raises DriverError VSW-03."""
    said = ovs_tools.ask("dpif-netdev/pmd-stats-show")
    if (found := ovs_words.upcalls(said)) is None:
        raise DriverError("VSW-03", "dpif-netdev/pmd-stats-show", expected="upcalls", found=said[:200])
    return dict(zip(("upcalls", "failed_upcalls"), found, strict=True))


def _bridge() -> str:
    (bridge,) = ovs_tools.configure("list-br").split()
    return bridge
