"""Pods at the ends of a path with programs in them, and what a cell of streams needs to be run on them."""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from dataclasses import replace

import pytest
from tests.contract.deploying import bed_in, embedded
from tests.needs import needs_cni, needs_crun, skip_for

from bmwg.drivers import registry
from bmwg.drivers.nodes import process
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
        needs_cni,
        needs_crun,
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


@pytest.fixture(scope="module")
def bed(tmp_path_factory):
    """Such a testbed for the tests of a module, of which nothing is left."""
    with bed_in(tmp_path_factory.mktemp("run"), embedded(io="af_xdp")) as made:
        yield made


def path_of(bed, path: str, network: str):
    """The path's driver; skipped by name where the machine lacks something."""
    cell = profile.cell_of(path, network, "tcp", spec())
    driver = registry.load(registry.PATH, path)(cell, bed)
    skip_for(driver.probe_pods())
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
