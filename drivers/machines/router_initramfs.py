"""The whole system of a guest that only routes: a shell, the modules of its NICs and one script, in memory.

It has no disk and no folder of the host (QEMU moves no guest that has one by 9p), so all of it moves with its
memory. Ids: VM-01 the kernel lacks a module, VM-03 no static shell.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bmwg.drivers.machines.guest_initramfs import first_root, kept, static_shell
from bmwg.drivers.machines.guest_kernel import CACHE, GuestKernel

MODULES = ("virtio_pci", "virtio_net", "virtio_balloon")
SAY = "bmwg-router:"  # how the script's lines begin on the console
HAS_CPUS = "has CPUs"  # what it says before their list
BOOT = "boot"  # what it says before the id of its kernel's boot
_KEPT = 4  # choice: archives of several kernels, some MiB each

_INIT = """#!/bin/busybox sh
/bin/busybox mkdir -p /proc /sys /dev /tmp
export PATH=/bin
busybox mount -t devtmpfs dev /dev || busybox poweroff -f
/bin/busybox --install -s /bin
say() {{ echo "{say} $*" >/dev/console; }}
die() {{ say "failed: $*"; poweroff -f; }}
mount -t proc proc /proc && mount -t sysfs sys /sys || die proc
for module in {modules}; do insmod /modules/$module || die "insmod $module"; done
echo 0 > /proc/sys/net/ipv4/conf/all/rp_filter
for word in $(cat /proc/cmdline); do
  case $word in
  bmwg.route=*)
    IFS=, read -r interface address far mac <<EOF
${{word#bmwg.route=}}
EOF
    echo 1 > /proc/sys/net/ipv6/conf/$interface/disable_ipv6
    echo 0 > /proc/sys/net/ipv4/conf/$interface/rp_filter
    # of a gratuitous ARP or a move the kernel tells the switches itself (virtio_net's announcement)
    echo 1 > /proc/sys/net/ipv4/conf/$interface/arp_notify
    ip addr add "$address" dev "$interface" && ip link set "$interface" up || die "network $interface"
    arp -i "$interface" -s "$far" "$mac" || die "neighbour $far" ;;
  bmwg.holds=*)
    mebioctets=${{word#bmwg.holds=}} ;;
  bmwg.writes)
    writes=yes ;;
  bmwg.cpus)
    cpus=yes ;;
  bmwg.boot)
    boot=yes ;;
  esac
done
echo 1 > /proc/sys/net/ipv4/ip_forward
if [ -n "$boot" ]; then
  # the id stays while this kernel runs, wherever that is; a kernel that has booted anew has another one
  read -r id </proc/sys/kernel/random/boot_id
  while :; do say "{boot} $id"; sleep 1; done &
fi
if [ -n "$mebioctets" ]; then
  # twice so much is held, whether it is written again or not: the guests differ by the writing alone
  mount -t tmpfs -o size=$((mebioctets * 3))m written /tmp || die tmpfs
  # pages of zeros would be moved as a few octets each
  dd if=/dev/urandom of=/tmp/seed bs=1M count=$mebioctets 2>/dev/null || die seed
  cp /tmp/seed /tmp/written || die written
fi
if [ -n "$writes" ]; then
  say "routes, and writes $mebioctets MiB again and again"
  while :; do dd if=/tmp/seed of=/tmp/written bs=1M conv=notrunc 2>/dev/null || die written; done
fi
say routes
if [ -n "$cpus" ]; then
  # a CPU that is plugged in is off until somebody has it on; which are on is told when it changes
  while :; do
    for file in /sys/devices/system/cpu/cpu[1-9]*/online; do
      if read -r on <$file && [ "$on" = 0 ]; then echo 1 >$file; fi 2>/dev/null
    done
    read -r now </sys/devices/system/cpu/online
    [ "$now" = "$told" ] || say "{has} $now"
    told=$now
    sleep 0.1
  done
fi
while :; do sleep 1000; done
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Leg:
    """One interface of the guest: its own address in prefix notation, and its only neighbour's."""

    address: str
    far: str
    far_mac: str


def words(
    legs: Sequence[Leg],
    *,
    holds_mebioctets: int,
    writes: bool,
    tells_cpus: bool = False,
    tells_boot: bool = False,
) -> str:
    """Return what the guest reads of its kernel's command line.

    It holds so much twice, and with `writes` copies the one over the other all the time. With `tells_cpus`
    it has every CPU on, and says on its console which are. With `tells_boot` it says each second by which
    id its kernel's boot is known.
    """
    told = [f"bmwg.route=eth{n},{leg.address},{leg.far},{leg.far_mac}" for n, leg in enumerate(legs)]
    told += [f"bmwg.holds={holds_mebioctets}", *(["bmwg.writes"] if writes else [])]
    told += [*(["bmwg.cpus"] if tells_cpus else []), *(["bmwg.boot"] if tells_boot else [])]
    return " ".join(told)


def build(kernel: GuestKernel, *, cache: Path = CACHE) -> Path:
    """Write the archive for this kernel, once, and return it. Raises TestbedError VM-01, VM-03."""
    modules = kernel.modules_for(MODULES)
    script = _INIT.format(say=SAY, has=HAS_CPUS, boot=BOOT, modules=" ".join(path.name for path in modules))
    return kept(first_root(script, modules, static_shell()), cache / "router", most=_KEPT)
