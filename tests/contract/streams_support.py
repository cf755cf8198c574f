"""Pods at the ends of a path with programs in them, and what a cell of streams needs to be run on them."""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from bmwg.drivers import registry
from bmwg.drivers.nodes import process
from bmwg.drivers.paths.bed import open_bed
from bmwg.drivers.testbed.file import load_testbed
from bmwg.drivers.undo.ledger import Ledger
from bmwg.methodology.kinds.streams import profile
from bmwg.methodology.kinds.streams.records import Exchange, StreamsSpec, Transport, Way
from bmwg.methodology.records import NOTHING, POD, Cell
from bmwg.resources.kinds.streams import crossings

WAYS = [
    ("p2p", "bridge"),
    ("p2p", "ptp"),
    ("p2p", "macvlan"),
    ("p2p-underlay", "bridge"),
    ("p2p-vxlan", "bridge"),
]


def needs(program: str) -> list:
    """What a test with real pods and a real program needs; skipped by name without it."""
    return [
        pytest.mark.root,
        pytest.mark.skipif(os.geteuid() != 0, reason="needs root (network namespaces)"),
        pytest.mark.skipif(
            not Path("/usr/lib/cni/bridge").exists(),
            reason="needs apt-get install containernetworking-plugins",
        ),
        pytest.mark.skipif(shutil.which("crun") is None, reason="needs apt-get install crun"),
        pytest.mark.skipif(
            shutil.which(program) is None, reason=f"needs {program}: sh setup/install.sh workloads"
        ),
    ]


def spec(**changes) -> StreamsSpec:
    """A second of TCP."""
    told = {
        "workload": "iperf3",
        "transport": Transport.TCP,
        "exchange": Exchange.BULK,
        "way": Way.FORWARD,
        "parallel": 1,
        "message_octets": 131072,
        "window_octets": 0,
        "load_bps": 0,
        "duration_s": 1.0,
        "omit_s": 0,
        "number": 1,
    }
    return StreamsSpec(**{**told, **changes})


def udp(**changes) -> StreamsSpec:
    """A second of datagrams at a rate that every machine carries."""
    return spec(transport=Transport.UDP, message_octets=1400, load_bps=20_000_000, **changes)


def opened(run_dir: Path):
    """The embedded testbed, as a run opens it."""
    ledger = Ledger(run_dir / "ledger.jsonl", index_dir=run_dir / "index")
    testbed = load_testbed()
    return open_bed(replace(testbed, tester=replace(testbed.tester, io="af_xdp")), ledger, run_dir)


@pytest.fixture(scope="module")
def bed(tmp_path_factory):
    """Such a testbed for the tests of a module, of which nothing is left."""
    with opened(tmp_path_factory.mktemp("run")) as made:
        yield made
    assert made.undo.pending == ()


def path_of(bed, path: str, network: str):
    """The path's driver; skipped by name where the machine lacks something."""
    cell = profile.cell_of(path, network, "tcp", spec())
    driver = registry.load(registry.PATH, path)(cell, bed)
    if missing := driver.probe_pods():
        pytest.skip(f"{missing.what}: {missing.reason}; {missing.mend}")
    return driver


def cell_of(path: str, network: str) -> Cell:
    """A cell of frames on the same way."""
    return Cell(path=path, hosting=POD, function=NOTHING, network=network, frame_octets=64)


def offered(workload, between, asked: StreamsSpec):
    """Run a spec between two looks at the interfaces, as the bench does."""
    workload.attach(between.ends)
    first = crossings.look(between.crossed)
    result = workload.run(asked)
    last = crossings.look(between.crossed)
    went = crossings.between(between.crossed, asked.payload_ways, first, last)
    return replace(result, wall_ns=1, crossings=went)


def programs_of(between) -> list[tuple[int, list[bytes]]]:
    """The processes in the network of these ends' pods, with their words: no other test's is among them."""
    spaces = {os.readlink(f"/proc/{end.pod.pid}/ns/net") for end in (*between.ends, *between.more)}
    found = []
    for pid, words in process.each("cmdline"):
        with suppress(OSError):  # it ended meanwhile
            if os.readlink(f"/proc/{pid}/ns/net") in spaces:
                found.append((pid, words))
    return found
