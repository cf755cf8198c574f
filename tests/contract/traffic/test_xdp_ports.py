"""Ports inside the kernel: what they cannot be is refused by name, what they made ends with the process."""

import ctypes
import dataclasses
import fcntl
import os
import platform
import random
import shutil
import signal
import socket
import struct
import threading
import time
from pathlib import Path

import pytest
import tester_bed as bed
from pyroute2 import IPRoute, netns

from bmwg.drivers.api.protocols import Missing
from bmwg.drivers.platform_record import bpf
from bmwg.drivers.testbed import port_kind as kinds
from bmwg.drivers.testbed.file import load_testbed
from bmwg.drivers.traffic.embedded import xdp
from bmwg.drivers.traffic.embedded.build import SOURCE_FOLDER, ensure_built
from bmwg.drivers.traffic.embedded.driver import EmbeddedConfig, EmbeddedTraffic
from bmwg.drivers.traffic.embedded.protocol import RefusalError
from bmwg.methodology.errors import ConfigError, TestbedError
from bmwg.methodology.records import Direction, TrialSpec

pytestmark = pytest.mark.quiet

SPEC = TrialSpec(frame_octets=64, load_fps=10_000, duration_s=0.2)


@pytest.fixture(autouse=True)
def _kernel_has_it():
    missing = xdp.lacking()
    if missing is not None:
        pytest.skip(f"lacks {missing.what}: {missing.reason}")


@pytest.fixture
def ports():
    with bed.direct("xdp") as made:
        yield made


def test_a_trial_goes_on_where_the_kernel_ends_the_call(ports, tmp_path):
    """A call takes 2^32 passes of the program at most, some minutes; here it is made to take fewer."""
    source = tmp_path / "src"
    shutil.copytree(SOURCE_FOLDER, source)
    run_c = source / "xdp_run.c"
    run_c.write_text(run_c.read_text().replace("FRAMES_A_CALL UINT32_MAX", "FRAMES_A_CALL 50000u"))
    config = EmbeddedConfig(
        run_dir=tmp_path, watch_cpus=(0,), binary=ensure_built(source, cache=tmp_path / "cache")
    )
    with EmbeddedTraffic(config) as tester:
        tester.attach(ports)
        result = tester.run(TrialSpec(frame_octets=64, load_fps=1_000, duration_s=0.5))
        (counts,) = result.streams
        assert counts.sent_frames == counts.received_frames == 500
        assert dict(result.auxiliary)["loop_passes"] > 50_000  # more than one call of this tester takes
        tester.detach()


def programs():
    """Names of the XDP programs of this kernel that are ours, as it lists them (bpf(2))."""
    call, number = ctypes.CDLL(None, use_errno=True).syscall, bpf.SYSCALL[platform.machine()]
    next_id, descriptor_of, info_of = 11, 13, 15
    names, last = [], 0
    while True:
        asked = ctypes.create_string_buffer(struct.pack("=III", last, 0, 0), 12)
        if call(number, next_id, asked, 12) != 0:
            return [name for name in names if name in NAMES]
        (last,) = struct.unpack_from("=I", asked.raw, 4)
        asked = ctypes.create_string_buffer(struct.pack("=III", last, 0, 0), 12)
        if (descriptor := call(number, descriptor_of, asked, 12)) < 0:
            continue  # it ended meanwhile
        info = ctypes.create_string_buffer(80)  # struct bpf_prog_info as far as its name
        asked = ctypes.create_string_buffer(struct.pack("=IIQ", descriptor, 80, ctypes.addressof(info)), 16)
        assert call(number, info_of, asked, 16) == 0
        os.close(descriptor)
        names.append(info.raw[64:].partition(b"\0")[0].decode())


NAMES = {"send", "receive0", "receive1"}


def attached(port):
    """How an XDP program is attached at a port's interface, as rtnetlink has it: `xdp` is natively."""
    with IPRoute(netns=port.netns) as route:
        link = route.get_links(route.link_lookup(ifname=port.device)[0])[0]
        return dict(link.get("xdp")["attrs"]).get("IFLA_XDP_ATTACHED")


def refused(tester, two, error_id):
    with pytest.raises(TestbedError) as raised:
        tester.attach(two)
    assert raised.value.error_id == error_id, str(raised.value)
    assert raised.value.hint
    return str(raised.value)


def works(tester, two):
    """The tester is as good as before a refusal."""
    tester.attach(two)
    for _ in range(20):
        stream = tester.run(SPEC).streams[0]
        if stream.sent_frames == SPEC.intended_frames:
            break
    assert stream.received_frames == stream.sent_frames == SPEC.intended_frames
    tester.detach()


def test_attached_natively_and_gone_after_detach(tester, ports):
    tester.attach(ports)
    assert [attached(port) for port in ports] == ["xdp", "xdp"]
    tester.detach()
    assert [attached(port) for port in ports] == [None, None]


def test_a_program_of_somebody_else_is_never_replaced(run_dir, tester, ports):
    """Another tester's program stands for a stranger's: the second refuses, the first goes on."""
    with EmbeddedTraffic(EmbeddedConfig(run_dir=run_dir)) as stranger:
        stranger.attach(ports)
        before = [attached(port) for port in ports]
        assert "somebody else" in refused(tester, ports, "TST-43")
        assert [attached(port) for port in ports] == before
        assert stranger.run(SPEC).fault is None
        stranger.detach()
    works(tester, ports)


def test_a_peer_without_a_queue_is_named(tester, ports):
    with bed.namespace("c") as other:
        bed.veth((Path(ports[0].netns).name, "q0"), (other, "q1"))
        lonely = dataclasses.replace(ports[0], device="q0")
        assert "gro on" in refused(tester, (lonely, ports[1]), "TST-42")
    works(tester, ports)


def test_an_interface_without_native_xdp_is_named(tester, ports):
    space = Path(ports[0].netns).name
    bed.inside(space, "ip", "link", "add", "mv0", "link", "p0", "type", "macvlan", "mode", "bridge")
    bed.inside(space, "ip", "link", "set", "mv0", "up")
    message = refused(tester, (dataclasses.replace(ports[0], device="mv0"), ports[1]), "TST-42")
    assert "af_xdp" in message
    bed.inside(space, "ip", "link", "del", "mv0")
    works(tester, ports)


def test_more_than_one_queue_is_named(tester, ports):
    space = Path(ports[0].netns).name
    bed.inside(space, "ip", "link", "add", "d0", "numrxqueues", "2", "numtxqueues", "2", "type", "veth",
               "peer", "name", "d1", "numrxqueues", "2", "numtxqueues", "2")  # fmt: skip
    for name in ("d0", "d1"):
        bed.inside(space, "ip", "link", "set", name, "up")
    refused(tester, (dataclasses.replace(ports[0], device="d0"), ports[1]), "TST-42")
    works(tester, ports)


def test_an_mtu_beyond_one_page_is_named(tester):
    with bed.direct("xdp", mtu=3507) as ports:
        refused(tester, ports, "TST-42")
    with bed.direct("xdp", mtu=3506) as ports:
        assert tester.attach(ports).max_frame_octets == 3412
        for octets in (3411, 3412):
            for _ in range(20):
                stream = tester.run(dataclasses.replace(SPEC, frame_octets=octets)).streams[0]
                if stream.sent_frames == SPEC.intended_frames:
                    break
            assert stream.received_frames == stream.sent_frames == SPEC.intended_frames
        with pytest.raises(ConfigError, match="TST-16"):
            tester.run(dataclasses.replace(SPEC, frame_octets=3413))
        tester.detach()


def test_kinds_that_do_not_go_together_are_named(tester, ports):
    refused(tester, (ports[0], dataclasses.replace(ports[1], io="af_xdp")), "TST-44")
    works(tester, ports)


@pytest.mark.parametrize("code", sorted(xdp.REASONS))
def test_every_reason_of_the_tester_has_an_id_and_a_mend(ports, code):
    error = xdp.refused(RefusalError(code, "why"), ports)
    assert error is not None
    assert error.error_id.startswith("TST-4")
    assert error.hint
    assert error.expected


def test_other_reasons_are_left_alone(ports):
    assert xdp.refused(RefusalError("device", "no"), ports) is None


def test_nothing_is_left_after_the_process_was_killed(run_dir, ports):
    """Programs, maps and links belong to the process and are pinned nowhere."""
    before = len(programs())
    with EmbeddedTraffic(EmbeddedConfig(run_dir=run_dir)) as tester:
        settings = [bed.inside(Path(port.netns).name, "ethtool", "-k", port.device) for port in ports]
        tester.attach(ports)
        assert len(programs()) == before + 3
        threading.Timer(0.5, os.kill, (tester.pid, signal.SIGKILL)).start()
        result = tester.run(dataclasses.replace(SPEC, load_fps=500_000, duration_s=5.0))
        assert "SIGKILL" in result.fault
    end_s = time.monotonic() + 10
    while len(programs()) > before:
        assert time.monotonic() < end_s, "programs outlived their process"
        time.sleep(0.05)
    assert [attached(port) for port in ports] == [None, None]
    assert settings == [bed.inside(Path(port.netns).name, "ethtool", "-k", port.device) for port in ports]


def test_a_master_that_speaks_ends_the_trial(run_dir, ports):
    """The long call inside the kernel ends at once when the channel closes."""
    with EmbeddedTraffic(EmbeddedConfig(run_dir=run_dir)) as tester:
        tester.attach(ports)
        pid = tester.pid
        threading.Timer(0.5, tester._process._channel._socket.shutdown, (socket.SHUT_RDWR,)).start()
        began_s = time.monotonic()
        assert tester.run(dataclasses.replace(SPEC, duration_s=20.0)).fault is not None
        assert time.monotonic() - began_s < 10
    assert not Path(f"/proc/{pid}").exists()


def test_garbage_in_the_channel_is_refused_and_the_tester_lives(run_dir, ports):
    """As for the ports of DPDK: lines that are no command, and commands whose fields are nonsense."""
    chosen = random.Random(21)
    codes = set()
    with EmbeddedTraffic(EmbeddedConfig(run_dir=run_dir)) as tester:
        tester.attach(ports)
        order = tester._order(SPEC, 100, 100_000.0, Direction.FORWARD) | {"drain_quiet_s": 0.01}
        for _ in range(150):  # what is no nonsense is a trial of a millisecond
            broken = dict(order)
            key = chosen.choice(sorted(broken))
            broken[key] = chosen.choice([None, -1, 2**63 - 1, 0, "x", [], {}, 1e308, True, [64] * 65])
            if broken["intended"] == 2**63 - 1 or broken["drain_limit_s"] == 1e308:
                continue  # a trial of centuries is one
            try:
                tester._process.request("trial", broken, deadline_s=30.0)
            except RefusalError as refusal:
                codes.add(refusal.code)
        assert codes <= {"protocol", "frame", "address", "state"}
        assert "protocol" in codes
        works(tester, ports)


def test_frames_of_the_second_direction_keep_their_counts_apart(tester, ports):
    tester.attach(ports)
    for _ in range(20):
        result = tester.run(dataclasses.replace(SPEC, direction=Direction.BOTH, load_fps=50_000))
        if all(stream.sent_frames == stream.intended_frames for stream in result.streams):
            break
    assert [stream.received_frames for stream in result.streams] == [10_000, 10_000]
    counters = dict(result.auxiliary)
    assert counters[f"{ports[0].name}.unassigned_frames"] == 0
    tester.detach()


def test_counters_of_both_ends_and_of_the_accounting_agree(tester):
    """Loss comes with its place: what the device queue dropped is what never came."""
    with bed.forwarder("xdp", cpu=(os.cpu_count() or 1) - 1) as (left, right, _):
        tester.attach((left, right))
        tester.learn(SPEC)
        result = tester.run(dataclasses.replace(SPEC, load_fps=2_500_000, duration_s=0.3))
        stream, counted = result.streams[0], dict(result.auxiliary)
        tester.detach()
    assert stream.lost_frames > 0
    dropped = counted["tester/p0.tx_dropped"]
    queued = counted["forward.queued_frames"]
    assert counted["tester/p0.tx_packets"] + dropped + queued == stream.sent_frames
    assert dropped <= stream.lost_frames
    assert stream.duplicate_frames == stream.corrupt_frames == 0


@pytest.mark.parametrize("io", ["xdp", "af_xdp"])
def test_a_broadcast_follows_every_so_many_frames_the_last_ones_too(tester, io):
    spec = dataclasses.replace(SPEC, load_fps=5_000, broadcast_every=100)  # 1,000 frames, ten broadcasts
    with bed.direct(io) as ports:
        tester.attach(ports)
        for _ in range(20):
            result = tester.run(spec)
            if result.streams[0].sent_frames == spec.intended_frames:
                break
        tester.detach()
    counted = dict(result.auxiliary)
    assert counted["forward.broadcast_sent_frames"] == counted["forward.broadcast_received_frames"] == 10
    assert result.streams[0].received_frames == 1_000
    assert result.streams[0].foreign_frames == 0


@pytest.mark.parametrize("tag", [b"", b"\x81\x00\x00\x64"], ids=["plain", "tagged"])
@pytest.mark.parametrize("io", ["xdp", "af_xdp"])
def test_questions_for_the_ports_address_are_answered_as_they_were_asked(tester, io, tag):
    """The kernel takes a tag off before a packet socket sees the frame; the answer has it again."""
    with bed.namespace("a") as left, bed.namespace("m") as space, bed.namespace("b") as right:
        bed.veth((left, "p0"), (space, "m0"))
        bed.veth((right, "p1"), (space, "m1"))
        for device in ("m0", "m1"):
            bed.inside(space, "ethtool", "-K", device, "gro", "on")
        tester.attach((bed.port(0, left, "p0", io), bed.port(1, right, "p1", io)))
        netns.pushns(space)
        try:
            asker = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
            asker.bind(("m0", 3))
            asker.setsockopt(263, 8, 1)  # SOL_PACKET, PACKET_AUXDATA
            asker.settimeout(0.2)
        finally:
            netns.popns()
        mac = b"\x02\x00\x00\x00\x00\x99"
        question = b"\x00\x01\x08\x00\x06\x04\x00\x01" + mac + bytes((198, 18, 0, 1)) + bytes(6)
        question += bytes((198, 18, 0, 2))
        frame = (b"\xff" * 6 + mac + tag + b"\x08\x06" + question).ljust(60, b"\0")
        answers = []
        for _ in range(20):
            asker.send(frame)
            try:
                octets, beside, _, _ = asker.recvmsg(2048, 256)
            except TimeoutError:
                continue
            arp = octets.find(b"\x00\x01\x08\x00\x06\x04\x00\x02")
            if octets[:6] == mac and arp > 0:
                tci = struct.unpack_from("=3I4H", beside[0][2])[5] if beside else 0
                answers.append(
                    tci or struct.unpack_from("!H", octets, 14)[0] * (octets[12:14] == b"\x81\x00")
                )
                break
        asker.close()
        tester.detach()
    assert answers == [0x64 if tag else 0]


TUNSETIFF, IFF_TAP, IFF_NO_PI = 0x400454CA, 0x0002, 0x1000


def test_taps_carry_frames_between_them(tester):
    """The device of a virtual machine: a reader that passes frames from one tap to the other, in Python."""
    with bed.namespace("t") as space:
        netns.pushns(space)
        try:
            ends = []
            for name in ("tap0", "tap1"):
                end = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
                fcntl.ioctl(end, TUNSETIFF, struct.pack("16sH22x", name.encode(), IFF_TAP | IFF_NO_PI))
                ends.append(end)
        finally:
            netns.popns()
        for name in ("tap0", "tap1"):
            bed.inside(space, "ip", "link", "set", name, "up")
        stop = threading.Event()

        def carry():
            while not stop.is_set():
                quiet = True
                for source, target in (ends, ends[::-1]):
                    try:
                        os.write(target, os.read(source, 4096))
                        quiet = False
                    except BlockingIOError:
                        pass
                if quiet:
                    time.sleep(0.0002)

        thread = threading.Thread(target=carry)
        thread.start()
        two = (bed.port(0, space, "tap0", "xdp"), bed.port(1, space, "tap1", "xdp"))
        try:
            tester.attach(two)
            for _ in range(20):
                spec = dataclasses.replace(SPEC, load_fps=1_000, duration_s=0.3)
                stream = tester.run(spec).streams[0]
                if stream.sent_frames == stream.received_frames == spec.intended_frames:
                    break
            assert stream.received_frames == spec.intended_frames
            tester.detach()
        finally:
            stop.set()
            thread.join(10)
            for end in ends:
                os.close(end)


def test_auto_is_xdp_here_and_says_why_not_elsewhere(monkeypatch):
    testbed = load_testbed()
    assert testbed.tester.io == "auto"
    assert kinds.port_kind(testbed).used == "xdp"
    inline = dataclasses.replace(testbed, dut=dataclasses.replace(testbed.dut, device_queue="inline"))
    assert kinds.port_kind(inline).used == "af_xdp"
    assert "device_queue" in kinds.port_kind(inline).reason
    monkeypatch.setattr(xdp, "lacking", lambda: Missing(what="it", reason="Linux 5.10", mend="newer"))
    assert kinds.port_kind(testbed).used == "af_xdp"
    assert "Linux 5.10" in kinds.port_kind(testbed).reason
    named = dataclasses.replace(testbed, tester=dataclasses.replace(testbed.tester, io="xdp"))
    assert kinds.port_kind(named).used == "xdp"
