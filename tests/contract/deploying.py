"""Beds of tests, cells of frames on them, and everything that a deployment of one may leave."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.contract.paths_support import traces

from bmwg.drivers.network import datapath
from bmwg.drivers.paths.bed import Bed, open_bed
from bmwg.drivers.platform_record import netlink
from bmwg.drivers.testbed.file import Testbed, load_testbed
from bmwg.drivers.traffic.embedded.driver import EmbeddedConfig, EmbeddedTraffic
from bmwg.drivers.traffic.embedded.lanes import DESCRIPTORS, memory_for
from bmwg.drivers.undo.ledger import Ledger
from bmwg.methodology.records import Cell


def embedded(file: str | Path | None = None, **tester: Any) -> Testbed:
    """Return a testbed, by default the embedded one, with other settings of its tester."""
    testbed = load_testbed(file)
    return replace(testbed, tester=replace(testbed.tester, **tester))


@contextmanager
def bed_in(folder: Path, testbed: Testbed | None = None, **options: Any) -> Iterator[Bed]:
    """Open a testbed, by default the embedded one, its ledger in the folder; nothing is left at the end."""
    ledger = Ledger(folder / "ledger.jsonl", index_dir=folder / "index")
    with open_bed(testbed or load_testbed(), ledger, folder, **options) as opened:
        yield opened
    assert ledger.pending == ()


def four_port_tester(folder: Path) -> EmbeddedTraffic:
    """Return a tester with memory for four ports, not begun yet."""
    memory_mib = memory_for(1, DESCRIPTORS, 4)
    return EmbeddedTraffic(EmbeddedConfig(run_dir=folder, memory_mib=memory_mib, drain_quiet_s=0.2))


def cell_on(
    path: str, network: str = "none", function: str = "kernel-l3", frame_octets: int = 64, **axes: Any
) -> Cell:
    """Return a cell of frames on a path of the embedded testbed."""
    return Cell(
        path=path,
        hosting={"wire": "none", "node": "baremetal"}.get(path, "pod"),
        function="none" if path.startswith(("wire", "p2p")) else function,
        network=network,
        frame_octets=frame_octets,
        axes=tuple(axes.items()),
    )


def all_seen(bed: Bed) -> dict[str, Any]:
    """Return everything that a deployment may leave: on the machine and in every node."""
    nodes = {}
    for name in bed.nodes:
        view = bed.node(name).call(datapath.observe)
        nodes[name] = {
            "interfaces": sorted(
                (item["name"], item["master"], tuple(item["addresses"])) for item in view["interfaces"]
            ),
            "routes": view["routes"],
            "rules": view["rules"],
            "taken": sorted(  # as a program in user space takes an interface
                (link["name"], link["promiscuous"], link["xdp"]["mode"], link["qdisc"])
                for link in bed.node(name).call(netlink.dump, what="links")
            ),
        }
    return {"machine": traces(bed.run_dir, bed.token), "nodes": nodes, "pending": bed.undo.pending}
