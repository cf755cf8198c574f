"""Port kinds beside veth: each opened once, for what it can do; what it cannot is refused by name."""

import os
import re
from dataclasses import replace
from pathlib import Path

import pytest
import tester_bed as bed

from bmwg.drivers.api.protocols import TesterPort
from bmwg.drivers.traffic.embedded.driver import EmbeddedConfig, EmbeddedTraffic
from bmwg.methodology.errors import ConfigError, TestbedError
from bmwg.methodology.records import Direction, TrialSpec
from bmwg.methodology.trial.capabilities import Capability

pytestmark = pytest.mark.quiet

SPEC = TrialSpec(frame_octets=64, load_fps=2_000, duration_s=0.1)


def port(number, io, device, **other):
    return TesterPort(
        name=f"p{number}",
        io=io,
        device=str(device),
        mac=f"02:00:00:00:00:0{number + 1}",
        ipv4=f"198.18.{number}.2/24",
        peer_mac=f"02:00:00:00:00:0{2 - number}",
        **other,
    )


def test_two_memif_ports_carry_frames_between_them(run_dir):
    """Shared memory rings: server and client within one tester, as with a switch that offers memif."""
    socket = run_dir / "memif.sock"
    with EmbeddedTraffic(EmbeddedConfig(run_dir=run_dir, drain_quiet_s=0.2)) as tester:
        limits = tester.attach((port(0, "memif_server", socket), port(1, "memif", socket)))
        assert Capability.IPV4_UDP in limits.capabilities
        for _ in range(20):  # the two ends shake hands over their socket first
            result = tester.run(SPEC)
            stream = result.streams[0]
            if stream.sent_frames == stream.received_frames == SPEC.intended_frames:
                break
        tester.detach()
    assert stream.received_frames == SPEC.intended_frames
    assert stream.corrupt_frames == stream.foreign_frames == 0


def test_two_ends_of_a_vhost_user_socket_are_a_wire(run_dir):
    """Both ends within one tester: each frame crosses a virtqueue and is counted at both ends of it."""
    socket = run_dir / "vhost.sock"
    spec = TrialSpec(frame_octets=64, load_fps=20_000, duration_s=0.1, direction=Direction.BOTH)
    with EmbeddedTraffic(EmbeddedConfig(run_dir=run_dir, drain_quiet_s=0.2)) as tester:
        for _ in range(2):  # the socket is free again after the first time
            limits = tester.attach((port(0, "vhost", socket), port(1, "virtio_user", socket)))
            assert limits.max_frame_octets == 1518
            tester.learn(spec)
            result = tester.run(spec)
            tester.detach()
            assert not socket.exists()
            for stream in result.streams:
                assert stream.sent_frames == stream.received_frames
                assert stream.sent_frames + stream.unsent_frames == spec.intended_frames
                assert stream.corrupt_frames == stream.foreign_frames == 0
            counted = dict(result.auxiliary)
            for name, sent, got in (("p0", *result.streams), ("p1", *reversed(result.streams))):
                assert counted[f"{name}.tx_packets"] == sent.sent_frames
                assert counted[f"{name}.rx_packets"] == got.received_frames
                assert counted[f"{name}.rx_dropped"] == 0
        broken = (port(0, "virtio_user", run_dir / "nobody"), port(1, "virtio_user", run_dir / "nobody"))
        with pytest.raises(TestbedError, match="TST-11"):
            tester.attach(broken)
        assert tester.pid is not None


def test_a_vhost_user_port_stands_beside_an_interface(run_dir):
    """One process has both kinds; frames come by the one that they were sent to."""
    socket = run_dir / "beside.sock"
    with (
        EmbeddedTraffic(EmbeddedConfig(run_dir=run_dir, drain_quiet_s=0.1)) as tester,
        bed.direct("af_packet") as pair,
    ):
        first = replace(pair[0], peer_mac="02:00:00:00:00:09")
        tester.attach((first, port(1, "vhost", socket)))
        result = tester.run(replace(SPEC, direction=Direction.BOTH))
        tester.detach()
    out, back = result.streams
    assert out.sent_frames == SPEC.intended_frames  # into the veth pair
    assert back.sent_frames < SPEC.intended_frames  # nobody is at the socket
    assert dict(result.auxiliary)[f"{first.name}.tx_packets"] >= out.sent_frames


def test_the_path_of_a_socket_has_a_length_that_the_kernel_takes(run_dir):
    with EmbeddedTraffic(EmbeddedConfig(run_dir=run_dir)) as tester:
        with pytest.raises(ConfigError, match="TST-21") as raised:
            tester.attach((port(0, "vhost", "/run/" + "x" * 103), port(1, "virtio_user", "/run/x")))
        assert "108 octets" in str(raised.value)


def test_pcap_ports_write_what_was_sent_and_receive_nothing(run_dir):
    """A file takes every frame and gives none back: its trials lose all, which is its limit, not a DUT's."""
    written = run_dir / "sent.pcap"
    ports = (
        port(0, "pcap", f"tx_pcap={written},infinite_rx=0"),
        port(1, "pcap", f"tx_pcap={run_dir / 'other.pcap'},infinite_rx=0"),
    )
    with EmbeddedTraffic(EmbeddedConfig(run_dir=run_dir, drain_quiet_s=0.05)) as tester:
        limits = tester.attach(ports)
        assert Capability.IPV4_UDP in limits.capabilities
        result = tester.run(SPEC)
        tester.detach()
    sent = result.streams[0].sent_frames
    assert 0 < sent <= SPEC.intended_frames
    assert result.streams[0].received_frames == 0
    assert written.stat().st_size == 24 + sent * (16 + 60)  # file header, then record header and frame


def test_a_pci_device_is_used_only_where_it_is_declared(run_dir):
    addresses = sorted(path.name for path in Path("/sys/bus/pci/devices").glob("*"))
    network = [
        name
        for name in addresses
        if Path(f"/sys/bus/pci/devices/{name}/class").read_text().startswith("0x02")
    ]
    device = network[0] if network else "0000:00:1f.7"
    assert re.fullmatch(r"[0-9a-f:.]+", device)
    with EmbeddedTraffic(EmbeddedConfig(run_dir=run_dir)) as tester:
        with pytest.raises(TestbedError, match="TST-07") as raised:
            tester.attach((port(0, "pci", device), port(1, "pci", device)))
        assert device in str(raised.value)
        assert raised.value.hint
    if not network:
        pytest.skip("no network device on a PCI bus here: refused by name only, not opened")
    if os.readlink(f"/sys/bus/pci/devices/{device}/driver").rpartition("/")[2] != "vfio-pci":
        pytest.skip(f"{device} is bound to a kernel driver: refused by name only, not opened")
