"""Drivers and beds that the traffic contract runs over; needs root, crosses only namespaces made here."""

import os
import shutil
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[3] / "benchmarks"))

import tester_bed as bed

from bmwg.drivers.traffic.embedded.driver import EmbeddedConfig, EmbeddedTraffic
from bmwg.drivers.traffic.embedded.lanes import DESCRIPTORS, memory_for


def _lacking() -> str:
    if os.geteuid() != 0:
        return "root"
    return "" if shutil.which("ip") else "iproute2"


@pytest.fixture(autouse=True)
def _machine_fits():
    if _lacking():
        pytest.skip(f"lacks {_lacking()}: network namespaces cannot be made")


@pytest.fixture(scope="session")
def run_dir(tmp_path_factory):
    return tmp_path_factory.mktemp("tester")


@pytest.fixture(scope="module")
def tester(run_dir):
    """One tester process for the tests of a module, as a run has one."""
    if _lacking():
        pytest.skip(f"lacks {_lacking()}: network namespaces cannot be made")
    last = (os.cpu_count() or 1) - 1
    config = EmbeddedConfig(run_dir=run_dir, watch_cpus=(last,), drain_quiet_s=0.2)
    with EmbeddedTraffic(config) as running:
        yield running


@pytest.fixture(scope="module")
def two_lanes(run_dir):
    """One tester process of two lanes for the tests of a module."""
    if _lacking():
        pytest.skip(f"lacks {_lacking()}: network namespaces cannot be made")
    if (os.cpu_count() or 1) < 2:
        pytest.skip("lacks a second CPU: two lanes cannot be had")
    config = EmbeddedConfig(
        run_dir=run_dir, cpus=(0, 1), memory_mib=memory_for(2, DESCRIPTORS), drain_quiet_s=0.2
    )
    with EmbeddedTraffic(config) as running:
        yield running


@pytest.fixture(params=["xdp", "af_xdp", "af_packet"])
def io(request):
    return request.param


@pytest.fixture
def wire(tester, io):
    """The tester attached to both ends of one veth pair."""
    with bed.direct(io) as ports:
        tester.attach(ports)
        yield ports
        tester.detach()
