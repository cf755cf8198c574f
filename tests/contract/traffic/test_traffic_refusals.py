"""Ports that test traffic must not use are refused before any frame; faults never end as counts."""

import dataclasses
import os
import signal
import threading
import time
from pathlib import Path

import pytest
import tester_bed as bed
from pyroute2 import IPRoute
from tests.waiting import eventually

from bmwg.drivers.nodes import process
from bmwg.drivers.traffic.embedded.driver import EmbeddedConfig, EmbeddedTraffic
from bmwg.drivers.traffic.embedded.ports import device_arguments, ring_for
from bmwg.methodology.errors import ConfigError, DriverError, TestbedError
from bmwg.methodology.records import TrialSpec

SPEC = TrialSpec(frame_octets=64, load_fps=10_000, duration_s=0.1)


def sent_frames(ports):
    total = 0
    for port in ports:
        with IPRoute(netns=port.netns) as route:
            link = route.get_links(route.link_lookup(ifname=port.device)[0])[0]
            total += link.get("stats64")["tx_packets"]
    return total


def refused(tester, ports, error, error_id):
    with pytest.raises(error) as raised:
        tester.attach(ports)
    assert raised.value.error_id == error_id
    return str(raised.value)


@pytest.fixture(params=["xdp", "af_xdp"])
def ports(request):
    with bed.direct(request.param) as made:
        yield made


def test_missing_interface(tester, ports):
    message = refused(tester, (dataclasses.replace(ports[0], device="p00"), ports[1]), TestbedError, "TST-04")
    assert "did you mean p0?" in message


def test_missing_namespace(tester, ports):
    refused(
        tester, (dataclasses.replace(ports[0], netns="/run/netns/none"), ports[1]), TestbedError, "TST-04"
    )


def test_ports_of_one_name(tester, ports):
    twins = (ports[0], dataclasses.replace(ports[1], name=ports[0].name))
    assert "tester/p0 twice" in refused(tester, twins, ConfigError, "TST-24")


def test_default_route(tester, ports):
    with IPRoute(netns=ports[1].netns) as route:
        index = route.link_lookup(ifname="p1")[0]
        route.addr("add", index=index, address="198.18.1.9", prefixlen=24)
        route.route("add", dst="default", gateway="198.18.1.1", oif=index)
    refused(tester, ports, TestbedError, "TST-05")
    assert sent_frames(ports) == 0


@pytest.mark.parametrize("address", ["10.0.0.1", "192.168.1.1", "198.20.0.1"])
def test_interface_with_a_foreign_address(tester, ports, address):
    with IPRoute(netns=ports[0].netns) as route:
        route.addr("add", index=route.link_lookup(ifname="p0")[0], address=address, prefixlen=24)
    refused(tester, ports, TestbedError, "TST-06")
    assert sent_frames(ports) == 0


@pytest.mark.parametrize("address", ["10.0.0.1/24", "2001:db8::1/64"])
def test_own_address_outside_the_benchmark_ranges(tester, ports, address):
    family = "ipv6" if ":" in address else "ipv4"
    refused(tester, (dataclasses.replace(ports[0], **{family: address}), ports[1]), TestbedError, "TST-06")


def test_initial_namespace_undeclared(tester, ports):
    for netns in (None, "/proc/self/ns/net"):
        message = refused(
            tester,
            (dataclasses.replace(ports[0], device="lo", netns=netns), ports[1]),
            TestbedError,
            "TST-07",
        )
        assert "lab_ports" in message


def test_interface_down(tester, ports):
    with IPRoute(netns=ports[0].netns) as route:
        route.link("set", index=route.link_lookup(ifname="p0")[0], state="down")
    refused(tester, ports, TestbedError, "TST-08")


@pytest.mark.quiet
def test_silent_gateway_is_named(run_dir, ports):
    with EmbeddedTraffic(EmbeddedConfig(run_dir=run_dir, resolve_deadline_s=0.4)) as tester:
        asking = dataclasses.replace(ports[0], gateway_ipv4="198.18.0.1")
        began_s = time.monotonic()
        message = refused(tester, (asking, ports[1]), TestbedError, "TST-09")
        assert "198.18.0.1" in message
        assert "p0" in message
        assert time.monotonic() - began_s < 5
        tester.attach(ports)  # and the tester still works
        assert tester.run(SPEC).fault is None


def test_unknown_io_and_device(tester, ports):
    message = refused(tester, (dataclasses.replace(ports[0], io="afxdp"), ports[1]), ConfigError, "TST-20")
    assert "did you mean af_xdp?" in message
    refused(tester, (dataclasses.replace(ports[0], device="p0,x=1"), ports[1]), ConfigError, "TST-21")


def test_device_that_dpdk_cannot_open(tester, ports):
    broken = dataclasses.replace(ports[0], io="virtio_user", device="/nonexistent/vhost.sock")
    refused(tester, (broken, dataclasses.replace(ports[1], io="af_xdp")), TestbedError, "TST-11")


@pytest.mark.quiet
def test_router_resolved_over_arp_and_nd(tester, io):
    with bed.forwarder(io, mode="route") as (left, right, _):
        tester.attach((left, right))
        tester.learn(SPEC)
        for _ in range(20):
            result = tester.run(SPEC)
            if result.streams[0].received_frames == SPEC.intended_frames:
                break
        assert result.streams[0].received_frames == SPEC.intended_frames
        tester.detach()


def test_interface_is_as_before_after_detach(tester, ports):
    def features():
        found = []
        for port in ports:
            space = Path(port.netns).name
            found += bed.inside(space, "ethtool", "-k", port.device).splitlines()
            found.append(str("PROMISC" in bed.inside(space, "ip", "link", "show", port.device)))
        return found

    before = features()
    tester.attach(ports)
    assert features() != before
    tester.detach()
    assert features() == before


@pytest.mark.quiet
def test_killed_mid_trial_is_a_fault(run_dir, ports):
    with EmbeddedTraffic(EmbeddedConfig(run_dir=run_dir)) as tester:
        tester.attach(ports)
        threading.Timer(0.5, os.kill, (tester.pid, signal.SIGKILL)).start()
        result = tester.run(TrialSpec(frame_octets=64, load_fps=10_000, duration_s=5.0))
        assert result.fault is not None
        assert "SIGKILL" in result.fault
        assert result.received_frames == 0
        assert result.wall_time_ns < 3_000_000_000
        with pytest.raises(DriverError, match="TST-12"):
            tester.learn(SPEC)


@pytest.mark.quiet
def test_stopped_tester_meets_its_deadline(run_dir, ports, monkeypatch):
    monkeypatch.setattr("bmwg.drivers.traffic.embedded.driver.TRIAL_MARGIN_S", 0.5)
    with EmbeddedTraffic(EmbeddedConfig(run_dir=run_dir, drain_limit_s=0.5)) as tester:
        tester.attach(ports)
        os.kill(tester.pid, signal.SIGSTOP)
        result = tester.run(SPEC)
        assert "no answer" in result.fault


def test_dies_with_its_parent(run_dir):
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        tester = EmbeddedTraffic(EmbeddedConfig(run_dir=run_dir)).__enter__()
        os.write(writer, str(tester.pid).encode())
        os.kill(os.getpid(), signal.SIGKILL)
    os.close(writer)
    os.waitpid(child, 0)
    pid = int(os.read(reader, 100))
    os.close(reader)
    assert eventually(lambda: process.state(pid) in ("", "Z")), "the tester outlived its parent"


@pytest.mark.quiet
def test_memory_stays_flat_over_attachments_and_trials(run_dir):
    def resident_kib(pid):
        status = Path(f"/proc/{pid}/status").read_text()
        return int(status.split("VmRSS:")[1].split()[0])

    with EmbeddedTraffic(EmbeddedConfig(run_dir=run_dir, drain_quiet_s=0.01)) as tester:
        sizes = []
        for turn in range(12):
            with bed.direct(("af_packet", "af_xdp", "xdp")[turn % 3]) as ports:
                for _ in range(2):
                    tester.attach(ports)
                    assert tester.run(SPEC).fault is None
                    tester.detach()
            sizes.append(resident_kib(tester.pid))
        assert max(sizes[4:]) - sizes[3] < 2_048, sizes
        assert max(sizes) < 200 * 1024


@pytest.mark.quiet
@pytest.mark.parametrize("io", ["xdp", "af_xdp"])
def test_nothing_is_left_behind(run_dir, io):
    def leftovers():
        return {path.name for path in Path("/var/run/dpdk").glob("*")}, bed.quiet_namespaces()

    before = leftovers()
    with EmbeddedTraffic(EmbeddedConfig(run_dir=run_dir)) as tester, bed.direct(io) as ports:
        tester.attach(ports)
        pid = tester.pid
        tester.run(SPEC)
    assert not Path(f"/proc/{pid}").exists()
    assert leftovers() == before


def test_cpu_that_is_not_there(run_dir):
    with pytest.raises(ConfigError, match="TST-23"):
        EmbeddedConfig(run_dir=run_dir, cpus=(4096,))
    for cpus in ((), (0, 0)):  # none, and one for two lanes
        with pytest.raises(ConfigError, match="TST-23"):
            EmbeddedConfig(run_dir=run_dir, cpus=cpus)


def test_doors_of_the_other_devices():
    ring = ring_for(64)
    port = bed.port(0, "none", "/run/x.sock", "virtio_user")
    assert device_arguments(port, 3, ring) == "virtio_user3,path=/run/x.sock,server=0,queue_size=1024"
    memif = dataclasses.replace(port, io="memif_server")
    assert device_arguments(memif, 4, ring).startswith("net_memif4,role=server,socket=/run/x.sock")
    pci = dataclasses.replace(port, io="pci", device="0000:00:05.0")
    assert device_arguments(pci, 5, ring) == "0000:00:05.0"
