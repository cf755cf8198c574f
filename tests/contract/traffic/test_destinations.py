"""Real frames to 256 networks at random: addresses, checksums, counts, and what a router loses of them.

They are drawn and counted by the kernel's program or by the tester's own, the same for every device of DPDK:
that counts add up is shown by both, with AF_XDP for DPDK. What is on the wire is shown on each kind of port.
"""

import ipaddress
import socket
import struct
from dataclasses import replace

import pytest
import tester_bed as bed
from tests.contract.paths_support import open_socket
from tests.contract.traffic.test_traffic_counts import spec, undisturbed, whole_and_clean

from bmwg.drivers.paths.addresses import BEHIND, consecutive
from bmwg.methodology.errors import ConfigError
from bmwg.methodology.records import Direction, FrameFormat
from bmwg.methodology.trial import destinations

pytestmark = pytest.mark.quiet

NETWORKS = 256
_SO_RCVBUFFORCE = 33  # of Linux; Python has no name for it
SPREAD = spec(destination_networks=NETWORKS, duration_s=0.5)


def behind(ports):
    """The ports with networks behind each."""
    return tuple(
        replace(port, networks_ipv4=BEHIND[side][0], networks_ipv6=BEHIND[side][1])
        for side, port in enumerate(ports)
    )


def counts_agree(result):
    for stream in result.streams:
        assert len(stream.sent_by_network) == len(stream.received_by_network) == NETWORKS
        held = dict(result.auxiliary)["forward.held_frames"] if len(result.streams) == 1 else 0
        assert sum(stream.sent_by_network) == stream.sent_frames + held
        assert sum(stream.received_by_network) == stream.received_frames


by_each_program = pytest.mark.parametrize("io", ["xdp", "af_xdp"], indirect=True)


@pytest.fixture
def spread_wire(tester, io):
    with bed.direct(io) as ports:
        tester.attach(behind(ports))
        yield tester
        tester.detach()


@by_each_program
def test_counts_of_every_network_add_up_to_those_of_the_trial(spread_wire):
    tester = spread_wire
    tester.learn(SPREAD)
    result = undisturbed(tester, replace(SPREAD, direction=Direction.BOTH))
    whole_and_clean(result, 2)
    for stream in result.streams:
        assert stream.sent_by_network == stream.received_by_network
        assert sum(stream.sent_by_network) == stream.sent_frames
        assert min(stream.sent_by_network) > 0
        assert abs(destinations.deviations(stream.sent_by_network)) < destinations.MOST_DEVIATIONS
    again = undisturbed(tester, SPREAD)
    seeds = [dict(one.auxiliary)[destinations.SEED] for one in (result, again)]
    assert seeds[0] != seeds[1]
    assert again.streams[0].sent_by_network != result.streams[0].sent_by_network


@pytest.mark.parametrize(
    ("io", "octets", "vlan_id"),
    [
        ("xdp", 64, None),
        ("xdp", 512, 100),
        ("xdp", 1518, None),
        ("af_xdp", 64, 100),
        ("af_xdp", 512, None),
        ("af_xdp", 1518, 100),
        ("af_packet", 64, None),
        ("af_packet", 512, 100),
        ("af_packet", 1518, None),
    ],
    indirect=["io"],
)
def test_sizes_flows_tags_and_mixes_go_to_networks_as_well(spread_wire, octets, vlan_id):
    """Each size, and a tag or none, on each kind of port, and each size with and without a tag."""
    wanted = replace(SPREAD, frame_octets=octets, flows=16, vlan_id=vlan_id, duration_s=0.1)
    whole_and_clean(undisturbed(spread_wire, wanted))
    mixed = replace(wanted, frame_octets=1518, mix_octets=(64, 512, 1518))
    whole_and_clean(undisturbed(spread_wire, mixed))


def test_without_networks_behind_its_ports_such_a_trial_is_refused(wire, tester):
    with pytest.raises(ConfigError, match="TST-17"):
        tester.run(SPREAD)


@pytest.fixture
def routed(tester, io):
    """A router with a route for each network: yields tester, its namespace and the two ports."""
    with bed.forwarder(io, mode="route") as (left, right, dut):
        for side in (0, 1):
            for version, option in ((0, "-4"), (1, "-6")):
                gateway = (f"198.18.{side}.2", f"2001:2:0:{side}::2")[version]
                lines = [
                    f"route add {name} via {gateway}" for name in consecutive(BEHIND[side][version], NETWORKS)
                ]
                script = "\n".join(lines)
                bed.inside(dut, "sh", "-c", f"printf '%s\\n' '{script}' | ip {option} -batch -")
        ports = behind((left, right))
        tester.attach(ports)
        yield tester, dut, ports
        tester.detach()


def _sum(data):
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total


def _destination(frame):
    """The destination of a test frame, its checksums verified."""
    if frame[12:14] == b"\x08\x00":
        header, datagram = frame[14:34], frame[34 : 14 + struct.unpack("!H", frame[16:18])[0]]
        assert _sum(header) == 0xFFFF
        pseudo = header[12:20] + struct.pack("!HH", 17, len(datagram))
        address = ipaddress.IPv4Address(header[16:20])
    else:
        header, datagram = frame[14:54], frame[54 : 54 + struct.unpack("!H", frame[18:20])[0]]
        pseudo = header[8:40] + struct.pack("!IHBB", len(datagram), 0, 0, 17)
        address = ipaddress.IPv6Address(header[24:40])
    whole = pseudo + datagram
    assert _sum(whole.ljust(len(whole) + len(whole) % 2, b"\0")) == 0xFFFF
    return address


@pytest.mark.parametrize(
    ("io", "frame_format", "octets"),
    [
        ("xdp", FrameFormat.IPV4_UDP, 84),
        ("xdp", FrameFormat.IPV6_UDP, 301),
        ("af_xdp", FrameFormat.IPV4_UDP, 301),
        ("af_xdp", FrameFormat.IPV6_UDP, 84),
        ("af_packet", FrameFormat.IPV4_UDP, 84),
        ("af_packet", FrameFormat.IPV6_UDP, 301),
    ],
    indirect=["io"],
)
def test_frames_carry_these_addresses_and_right_checksums(routed, frame_format, octets):
    """Each two of kind of port, format and size; a size is even or odd, which a checksum must know."""
    tester, dut, _ = routed
    number = 0 if frame_format is FrameFormat.IPV4_UDP else 1
    ingress = bed.egress(dut)[:-1] + "0"
    wanted = spec(
        destination_networks=NETWORKS,
        frame_octets=octets,
        frame_format=frame_format,
        load_fps=4_000,
        duration_s=0.5,
        flows=3,
    )
    with open_socket(f"/run/netns/{dut}", ingress) as packets:
        packets.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, 16 << 20)
        packets.settimeout(0.2)
        for _ in range(10):
            result = undisturbed(tester, wanted)
            seen = _of_the_last_trial(packets, octets)
            if len(seen) == result.sent_frames:  # else the packet socket lost some
                break
    whole_and_clean(result)
    networks = [ipaddress.ip_network(name) for name in consecutive(BEHIND[1][number], NETWORKS)]
    by_network = [0] * NETWORKS
    for address in seen:
        assert int(address) & 0xF == 2
        by_network[next(place for place, network in enumerate(networks) if address in network)] += 1
    assert tuple(by_network) == result.streams[0].sent_by_network


def _of_the_last_trial(packets, octets):
    """Destinations of all frames that were caught of the last trial, by the number in their signature."""
    caught = {}
    while True:
        try:
            frame = packets.recv(2048)
        except TimeoutError:
            return caught[next(reversed(caught))]
        if len(frame) == octets - 4 and frame[12:14] in (b"\x08\x00", b"\x86\xdd"):
            payload = 42 if frame[12:14] == b"\x08\x00" else 62
            caught.setdefault(frame[payload + 2 : payload + 4], []).append(_destination(frame))


@by_each_program
def test_a_router_that_lacks_ten_of_256_routes_loses_just_their_frames(routed):
    tester, dut, _ = routed
    tester.learn(SPREAD)
    whole_and_clean(undisturbed(tester, SPREAD))
    gone = (0, 1, 17, 100, 128, 200, 201, 250, 254, 255)
    names = consecutive(BEHIND[1][0], NETWORKS)
    for place in gone:
        bed.inside(dut, "ip", "route", "del", names[place])
    for _ in range(20):
        result = undisturbed(tester, replace(SPREAD, load_fps=40_000, duration_s=1.0))
        (stream,) = result.streams
        counts_agree(result)
        expected = sum(stream.sent_by_network[place] for place in gone)
        if stream.lost_frames == expected:  # else the machine lost some more: the router's own CPU was away
            break
    assert all(stream.received_by_network[place] == 0 for place in gone)
    assert stream.lost_frames == expected
    there = [place for place in range(NETWORKS) if place not in gone]
    assert all(stream.received_by_network[n] == stream.sent_by_network[n] for n in there)
    share = expected / stream.sent_frames  # by the binomial law five deviations are 0.0049
    assert abs(share - len(gone) / NETWORKS) < 5 * (10 / 256 * 246 / 256 / stream.sent_frames) ** 0.5
