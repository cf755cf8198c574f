"""A first testbed file of a lab: ports that a person names, joined as probe frames find them cabled.

Only named ports send (RFC 6815), and only those that nothing uses. Ids: LAB-04 the ports are not cabled so
that a testbed can be made of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import Any

import yaml

from bmwg.drivers.nodes import probe
from bmwg.drivers.nodes.here import HERE
from bmwg.drivers.nodes.hosts import open_hosts
from bmwg.drivers.ports import cabling, lab_port
from bmwg.drivers.testbed.file import TESTER, embedded_file
from bmwg.drivers.testbed.hosts import HostSpec
from bmwg.drivers.undo.locks import claims_here, reserve_claims
from bmwg.methodology.errors import TestbedError
from bmwg.resources.lab.check import Machine, up

DUT, GENERATOR = "dut1", "gen"  # the nodes of the file that are hosts
Cable = tuple[str, str]  # its ends, as `node/interface`


def first_file(name: str, ports: Sequence[str], host: HostSpec | None, tester: HostSpec | None = None) -> str:
    """Return a testbed file as text: the tester's `ports`, and those of a device host (None: all are here).

    `tester` is the host of the tester's ports (None: this machine), with a device host beside it.

    Ports are up while frames are sent, and then as they were. Raises TestbedError LAB-04, PORT-01, and what
    reaching a host raises.
    """
    with ExitStack() as stack:
        stack.enter_context(reserve_claims(claims_here((), () if tester else sorted(ports))))
        hosts = stack.enter_context(open_hosts([one for one in (host, tester) if one is not None]))
        there: Machine | None = hosts.get(DUT)
        mine_at: Machine = hosts.get(TESTER, HERE)
        places: list[tuple[Machine, dict[str, str]]] = [
            (mine_at, {port: f"{TESTER}/{port}" for port in ports}),
            *([(there, {port: f"{DUT}/{port}" for port in host.ports})] if there and host else []),
        ]
        devices: list[tuple[Machine, str]] = []
        for machine, mine in places:
            for port in mine:
                found = machine.call(lab_port.require_bare, interface=port)
                devices += [(machine, port)] if found["kind"] == "device" else []
            stack.enter_context(up(machine, sorted(mine)))
        cables = joined(cabling.heard(places))
        # what a virtual interface tells is no rate
        rates = [machine.call(lab_port.line_rate_bps, interface=port) for machine, port in devices]
        cpus = (there or HERE).call(probe.online_cpus)
        here = mine_at.call(probe.online_cpus)
    return yaml.safe_dump(written(name, cables, rates, here, cpus, host, tester), sort_keys=False, width=110)


def joined(arrived: Mapping[str, Sequence[str]]) -> list[Cable]:
    """Return the cables that frames tell of: two ends that hear each other and nobody else."""
    found = []
    for end, where in arrived.items():
        if len(where) == 1 and list(arrived.get(where[0], ())) == [end] and end < where[0]:
            found.append((end, where[0]))
    return sorted(found)


def written(
    name: str,
    cables: Sequence[Cable],
    rates: Sequence[int | None],
    here: Sequence[int],
    there: Sequence[int],
    host: HostSpec | None,
    tester: HostSpec | None = None,
) -> dict[str, Any]:
    """Return the file as data; the device's ends on this machine are those that are not the tester's.

    Without a host, cables join ports of this machine: the first two go to the device, a third is the wire.
    """
    across = sorted(tuple(sorted(cable, key=lambda end: not end.startswith(TESTER))) for cable in cables)
    to_device = [cable for cable in across if not cable[1].startswith(TESTER)] if host else across[:2]
    loops = [cable for cable in across if cable not in to_device]
    if len(to_device) < 2:
        seen = ", ".join(f"{a} - {b}" for a, b in cables) or "none"
        raise TestbedError(
            "LAB-04",
            "ports of a lab; no file was written",
            expected="two cables between ports of the tester and of the device, heard at both ends",
            found=seen,
            hint="look at links and cables; name more ports",
        )
    links = [{"a": a, "b": f"{DUT}/{b.partition('/')[2]}", "kind": "cable"} for a, b in to_device[:2]]
    links += [{"a": a, "b": b, "kind": "cable"} for a, b in loops[:1]]
    ends = [end for link in links for end in (link["a"], link["b"])]
    own = [end.partition("/")[2] for end in ends if host is None or end.startswith(f"{TESTER}/")]
    data: dict[str, Any] = yaml.safe_load(embedded_file().read_text())
    rate = min((one for one in rates if one), default=None)
    data |= {
        "name": name,
        "nodes": {
            DUT: _node(host) if host else {"kind": "namespace"},
            **({GENERATOR: _node(tester)} if tester else {}),
        },
        "links": links,
        "dut": {**data["dut"], "cpus": [there[-1]]},
        "pods": {**data["pods"], "cpus": str(there[-1])},
        "lab_ports": own,
        "medium": {"kind": "ethernet", "line_rate_bps": rate} if rate else {"kind": "veth"},
    }
    data["tester"] |= {"ports": [links[0]["a"], links[1]["a"]], "cpus": [here[-1] if host else here[0]]}
    if tester:
        data["tester"]["host"] = GENERATOR
    return data


def _node(host: HostSpec) -> dict[str, str]:
    return {"kind": "ssh", "ssh": host.ssh, "python": host.python}
