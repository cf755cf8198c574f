"""A server in a machine without an agent: real QEMU, spoken to over the network alone, and nothing stays.

The machine is a double of a unikernel: a kernel whose first process is iperf3's server, and nothing of ours.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import stat
import subprocess
import time
from dataclasses import replace
from pathlib import Path

import pytest
from tests.contract.paths_support import traces
from tests.contract.streams_support import needs, offered, spec, udp
from tests.waiting import eventually

from bmwg.drivers import registry
from bmwg.drivers.api.protocols import Missing
from bmwg.drivers.machines import guest_initramfs, guest_kernel, qemu
from bmwg.drivers.nodes import process
from bmwg.drivers.paths.bed import open_bed
from bmwg.drivers.ports import interfaces as hosting_interfaces
from bmwg.drivers.testbed.file import load_testbed, with_settings
from bmwg.drivers.undo.ledger import Ledger
from bmwg.drivers.watch.liveness import Liveness
from bmwg.drivers.workload.iperf3 import Iperf3
from bmwg.methodology.errors import DriverError, TestbedError
from bmwg.methodology.kinds.streams import profile
from bmwg.methodology.kinds.streams.kind import STREAMS
from bmwg.methodology.record.booted import KEY, Booted, Counted
from bmwg.methodology.records import NOTHING, UNIKERNEL, Validity

LACK = qemu.probe_program() or guest_initramfs.probe_shell()
KERNEL = guest_kernel.find()
pytestmark = [
    *needs("iperf3"),
    pytest.mark.skipif(LACK is not None, reason=f"needs {LACK.what}: {LACK.mend}" if LACK else ""),
    pytest.mark.skipif(isinstance(KERNEL, Missing), reason="needs a guest kernel: sh setup/install.sh http"),
]
BETWEEN_CLIENTS = (
    "iperf3: control socket has closed unexpectedly"  # QEMU took the connection, the guest refused it
)
LIBRARY = re.compile(r"(?:=>\s+)?(/\S+)\s+\(0x")
INIT = """#!/bin/busybox sh
/bin/busybox mkdir -p /proc /sys /dev /tmp
/bin/busybox mount -t proc proc /proc
/bin/busybox mount -t devtmpfs dev /dev
for module in {modules}; do /bin/busybox insmod /modules/$module; done
for word in $(/bin/busybox cat /proc/cmdline); do
  case $word in net=*)
    /bin/busybox ip link set lo up
    /bin/busybox ip addr add ${{word#net=}} dev eth0
    /bin/busybox ip link set eth0 up ;;
  gateway=*)
    /bin/busybox ip route add default via ${{word#gateway=}} ;;
  dhcp)
    /bin/busybox ip link set eth0 up
    /bin/busybox udhcpc -i eth0 -n -q -s /dhcp ;;
  esac
done
echo "double: {server}" >/dev/console
exec {server}
"""


# what udhcpc calls with what it was given
DHCP = """#!/bin/busybox sh
[ "$1" = bound ] || exit 0
/bin/busybox ip addr add $ip/$mask dev $interface
/bin/busybox ip route add default via $router
"""


def initramfs(folder: Path, server: str) -> Path:
    """The first root of a machine whose only program is this server, with its libraries."""
    modules = KERNEL.modules_for(("virtio_pci", "virtio_net"))
    program = shutil.which(server.split()[0])
    told = subprocess.run(["ldd", program], check=True, capture_output=True, text=True).stdout
    libraries = set(LIBRARY.findall(told))
    script = INIT.format(modules=" ".join(one.name for one in modules), server=server)
    files = {program: Path(program), **{one: Path(one) for one in libraries}}
    files |= {f"/modules/{one.name}": one for one in modules}
    files["/bin/busybox"] = guest_initramfs.static_shell()
    entries = {"init": (stat.S_IFREG | 0o755, script.encode())}
    for name in sorted({str(parent) for one in files for parent in Path(one).parents} - {"/"}):
        entries[name.lstrip("/")] = (stat.S_IFDIR | 0o755, b"")
    entries["dhcp"] = (stat.S_IFREG | 0o755, DHCP.encode())
    entries |= {name.lstrip("/"): (stat.S_IFREG | 0o755, path.read_bytes()) for name, path in files.items()}
    target = folder / f"{server.split()[0].rpartition('/')[2]}.cpio"
    target.write_bytes(guest_initramfs.to_newc(entries))
    return target


@pytest.fixture(scope="module")
def booted(tmp_path_factory) -> dict[str, object]:
    """What the testbed file says of a machine that serves iperf3."""
    folder = tmp_path_factory.mktemp("double")
    return {
        "kernel": str(KERNEL.unpacked_image()),
        "initrd": str(initramfs(folder, f"{shutil.which('iperf3')} -s")),
        "command_line": "console=ttyS0 panic=-1 quiet no_timer_check net.ifnames=0 net=${address}/${prefix}",
        "serves": ["iperf3"],
        "memory": "256MiB",
        "boot_within_s": 120,
    }


@pytest.fixture
def bed_of(tmp_path):
    """A testbed with this unikernel, opened; all that was made is gone at its end."""
    opened = []

    def made(told):
        testbed = load_testbed()
        testbed = replace(testbed, tester=replace(testbed.tester, io="af_xdp"))
        testbed = with_settings(testbed, {("unikernel",): told}, "the test") if told else testbed
        ledger = Ledger(tmp_path / "ledger.jsonl", index_dir=tmp_path / "index")
        opened.append(open_bed(testbed, ledger, tmp_path))
        return opened[0].__enter__()

    yield made
    for one in opened:
        one.__exit__(None, None, None)


def path_in(bed):
    cell = profile.cell_of("client-server", NOTHING, "socket_sizes_twin", spec(), UNIKERNEL)
    return registry.load(registry.PATH, "client-server")(cell, bed)


def interfaces(bed) -> set[str]:
    return {one["name"] for one in bed.node("dut2").call(hosting_interfaces.listing)}


def test_a_stream_goes_to_a_machine_that_nobody_enters_and_nothing_stays(bed_of, booted):
    bed = bed_of(booted)
    path = path_in(bed)
    assert path.probe_pods() is None
    before = traces(bed.run_dir, bed.token), bed.undo.pending, interfaces(bed)
    with path.between_pods() as between:
        asked = spec(window_octets=20_000)
        found = offered(Iperf3([bed.node("dut1")]), between, asked)
        assert found.faults == ()
        assert STREAMS.assessed(asked, found).validity is Validity.VALID, found
        assert [one.at for one in found.crossings] == ["dut1/under0", "dut2/under0", "dut2/bmwg-uk0"]
        told = between.evidence["machine"]
        assert told["accelerator"] in ("tcg", "kvm")
        assert 0 < told["boot_s"] < 120
        assert told["memory_octets"] == 256 << 20
        assert told["resident_octets_after_boot"] > 16 << 20
        boots = told["boots"]
        assert boots["kernel"]["octets"] == Path(booted["kernel"]).stat().st_size
        assert len(boots["initrd"]["sha256"]) == 64
        size = Booted.from_builtins(told[KEY])
        files = [Path(booted[name]) for name in ("kernel", "initrd")]
        assert size.total(Counted.LENGTH) == sum(len(one.read_bytes()) for one in files)
        assert size.besides == "", "nothing of the host's is in it"
        assert "198.18.0.3/24" in boots["command_line"]
        assert booted["kernel"] not in str(told), "a folder says of a machine what no record needs"
        assert between.evidence["cpus"]["server"] == bed.testbed.pods.cpuset
        server = between.ends[1].pod
        with pytest.raises(DriverError, match="UNIK-02"):
            server.inside(process.start_ticks, pid=1)
        assert process.same(server.pid, server.start_ticks)
    assert not process.same(server.pid, server.start_ticks)
    assert (traces(bed.run_dir, bed.token), bed.undo.pending, interfaces(bed)) == before


def listened_to(workload, between, asked):
    """What was found; None where the server, which closes its port between clients, did not yet listen."""
    found = offered(workload, between, asked)
    workload.detach()
    return None if found.faults == (BETWEEN_CLIENTS,) else found


@pytest.mark.parametrize("taken", ["net=${address}/${prefix} gateway=${gateway}", "dhcp"])
def test_a_stream_goes_to_a_machine_behind_redirected_ports_and_nothing_stays(bed_of, booted, taken):
    line = booted["command_line"].replace("net=${address}/${prefix}", taken)
    bed = bed_of({**booted, "command_line": line, "redirected": True})
    path = path_in(bed)
    assert path.probe_pods() is None
    before = traces(bed.run_dir, bed.token), bed.undo.pending, interfaces(bed)
    with path.between_pods() as between:
        liveness = Liveness(bed)
        assert "bmwg-uk0" not in interfaces(bed), "nothing of it is an interface of its host"
        workload = Iperf3([bed.node("dut1")])
        for asked in (spec(window_octets=20_000), replace(udp(), load_bps=5_000_000)):
            found = eventually(lambda asked=asked: listened_to(workload, between, asked), 60.0)
            assert found.faults == ()
            assert STREAMS.assessed(asked, found).validity is Validity.VALID, found
            assert [one.at for one in found.crossings] == ["dut1/under0", "dut2/under0"]
            for one in found.crossings:
                assert one.octets >= found.received_octets > 0
        told = between.evidence["machine"]
        assert told["nics"][0]["backend"] == "user-mode network"
        assert 5201 in told["nics"][0]["redirected_ports"]
        # QEMU takes connections long before: this one was the machine's
        assert 1 < told["boot_s"] < 120
        assert told["boot_ends"].startswith("QEMU has a connection with its first server, tried each 1 s")
        assert ("10.0.2.15/24 gateway=10.0.2.2" in told["boots"]["command_line"]) == (taken != "dhcp")
        assert liveness.fault() is None
        server = between.ends[1].pod
        os.kill(server.pid, signal.SIGKILL)
        end_s = time.monotonic() + 5
        while liveness.fault() is None and time.monotonic() < end_s:
            time.sleep(0.1)
        assert "has ended" in liveness.fault()
    assert not process.same(server.pid, server.start_ticks)
    assert (traces(bed.run_dir, bed.token), bed.undo.pending, interfaces(bed)) == before


def test_one_behind_redirected_ports_that_does_not_serve_is_a_named_error(bed_of, booted, tmp_path):
    """QEMU takes each connection, so that alone is no answer of the machine."""
    idle = initramfs(tmp_path, f"{shutil.which('sleep')} 600")
    bed = bed_of({**booted, "initrd": str(idle), "redirected": True, "boot_within_s": 12})
    before = bed.undo.pending, interfaces(bed)
    with pytest.raises(TestbedError, match="UNIK-01") as caught, path_in(bed).between_pods():
        pass
    assert "10.0.2.15 port 5201" in str(caught.value)
    assert (bed.undo.pending, interfaces(bed)) == before


def test_a_machine_that_ends_is_told(bed_of, booted):
    bed = bed_of(booted)
    with path_in(bed).between_pods() as between:
        liveness = Liveness(bed)
        assert liveness.fault() is None
        os.kill(between.ends[1].pod.pid, signal.SIGKILL)
        end_s = time.monotonic() + 5
        while liveness.fault() is None and time.monotonic() < end_s:
            time.sleep(0.1)
        assert "bmwg-uk0" in liveness.fault()


def test_one_that_does_not_serve_is_a_named_error_and_nothing_stays(bed_of, booted, tmp_path):
    idle = initramfs(tmp_path, f"{shutil.which('sleep')} 600")
    bed = bed_of({**booted, "initrd": str(idle), "boot_within_s": 8})
    before = bed.undo.pending, interfaces(bed)
    with pytest.raises(TestbedError, match="UNIK-01") as caught, path_in(bed).between_pods():
        pass
    assert "port 5201" in str(caught.value)
    assert "within 8 s" in str(caught.value)
    assert (bed.undo.pending, interfaces(bed)) == before


def test_an_image_that_boots_nothing_is_a_named_error(bed_of, tmp_path):
    image = tmp_path / "nothing.raw"
    image.write_bytes(bytes(510) + b"\x55\xaa" + bytes(1 << 20))
    bed = bed_of({"image": str(image), "serves": ["netperf"], "memory": "64MiB", "boot_within_s": 3})
    with pytest.raises(TestbedError, match="UNIK-01"), path_in(bed).between_pods():
        pass
    assert image.read_bytes()[512:] == bytes(1 << 20), "what a machine writes does not reach its image"


def test_what_is_not_there_is_told_before_anything_is_made(bed_of, booted):
    missing = path_in(bed_of({**booted, "kernel": "/no/kernel"})).probe_pods()
    assert missing is not None
    assert "kernel" in missing.what


def test_a_workload_that_its_image_does_not_serve_is_told_by_name(bed_of, booted):
    path = path_in(bed_of(booted))
    assert path.unanswered("iperf3") is None
    assert "netperf" in path.unanswered("netperf").what


def test_a_testbed_without_one_says_where_it_is_named(bed_of):
    missing = path_in(bed_of(None)).probe_pods()
    assert missing is not None
    assert UNIKERNEL in missing.what
    assert "unikernel:" in missing.mend
