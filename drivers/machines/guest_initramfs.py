"""The first root of a guest: a few modules, one shell and the script that goes on to the guest's own root.

That is the host's root over 9p or a disk image, read-only, below an overlay in the guest's memory: what the
guest writes is gone with it. Of the host's root it sees programs and this toolkit where they are; beside an
image the host's root lies at `TOOLKIT`, for the agent alone. A guest of another architecture has a root of
that one in place of the host's, and the toolkit by shares of its own. Ids: VM-03 no shell.
"""

from __future__ import annotations

import hashlib
import shlex
import shutil
import stat
from collections.abc import Iterable, Mapping
from pathlib import Path

from bmwg.drivers.api.protocols import Missing
from bmwg.drivers.machines.architecture import Architecture, own
from bmwg.drivers.machines.guest_kernel import CACHE, GuestKernel, write_once
from bmwg.drivers.machines.guest_root import NOTE
from bmwg.methodology.errors import TestbedError

SHELL_LINE = "apt-get install -y --no-install-recommends busybox-static"
ROOT_TAG = "bmwg-root"
MODULES_TAG = "bmwg-modules"
CHANNEL = "bmwg.agent"
SAY = "bmwg-guest:"  # how the script's lines begin on the console
MODULES = ("virtio_pci", "9pnet_virtio", "9p", "overlay", "virtio_console", "virtio_net", "e1000")
DISK_MODULES = ("virtio_blk", "crc32c_generic", "ext4")  # ext4 asks for crc32c without naming its module
TOOLKIT = "/run/bmwg-toolkit"
NO_ROOT = "no Linux root in the image"
_BUSYBOX = "/run/busybox.bmwg"  # it knows itself by the beginning of its name
_MOUNT_9P = "mount -t 9p -o trans=virtio,version=9p2000.L,msize=262144"

_INIT = """#!/bin/busybox sh
# Runs as the guest's first process; every step names itself, so that a guest that stops says where.
/bin/busybox mkdir -p /proc /sys /dev /lower /rw /new
export PATH=/bin
say() {{ echo "{say} $*" >/dev/console; }}
die() {{ say "failed: $*"; poweroff -f; }}
busybox mount -t devtmpfs dev /dev || busybox poweroff -f
/bin/busybox --install -s /bin
mount -t proc proc /proc && mount -t sysfs sys /sys || die proc
for module in {modules}; do insmod /modules/$module || die "insmod $module"; done
ip link set lo up
for word in $(cat /proc/cmdline); do
  case $word in bmwg.net=*)
    IFS=, read -r interface address gateway <<EOF
${{word#bmwg.net=}}
EOF
    ip addr add "$address" dev "$interface" && ip link set "$interface" up || die "network $interface"
    if [ -n "$gateway" ]; then ip route add default via "$gateway" || die "route $gateway"; fi ;;
  esac
done
{lower}
mount -t tmpfs -o size=50%,mode=755 rw /rw && mkdir -p /rw/upper /rw/work
mount -t overlay -o lowerdir=/lower,upperdir=/rw/upper,workdir=/rw/work root /new || die overlay
mkdir -p /new/proc /new/sys /new/dev /new/run /new/tmp /new/usr/lib/modules/{release}
{mount} -o ro,cache=loose {modules_tag} /new/usr/lib/modules/{release} || die "9p modules"
mount -t tmpfs -o mode=755 run /new/run
mount -t tmpfs -o mode=1777 tmp /new/tmp
mkdir -p /new/dev/pts /new/run/lock
{shares}
{toolkit}
mount --move /proc /new/proc; mount --move /sys /new/sys; mount --move /dev /new/dev
mkdir -p /new/dev/pts /new/dev/shm
mount -t devpts -o gid=5,mode=620,ptmxmode=666 pts /new/dev/pts
mount -t tmpfs -o mode=1777 shm /new/dev/shm
mount -t cgroup2 none /new/sys/fs/cgroup || die cgroup2
mount -t bpf bpf /new/sys/fs/bpf
cp /agent /new/run/bmwg-agent
say root
exec switch_root /new {shell} /run/bmwg-agent
die switch_root
"""

_HOST_ROOT = f'{_MOUNT_9P} -o ro,cache=loose {ROOT_TAG} /lower || die "9p root"'

# a disk without partitions, then its partitions by number; the first with programs is the root
_IMAGE_ROOT = f"""
for number in "" $(seq 1 127); do
  device=/dev/vda$number
  [ -b $device ] || continue
  seen="$seen ${{device##*/}}"
  mount -t ext4 -o ro $device /lower || continue
  if [ -d /lower/usr/bin ] && [ -d /lower/etc ]; then found=${{device##*/}}; break; fi
  umount /lower
done
[ -n "$found" ] || die "{NO_ROOT}; ext4 was looked for on:${{seen:- no disk}}"
"""

_IMAGE_TOOLKIT = f"""
echo "$found ext4" >/new{NOTE}
cp /bin/busybox /new{_BUSYBOX}
mkdir /new{TOOLKIT}
{_MOUNT_9P} -o ro,cache=loose {ROOT_TAG} /new{TOOLKIT} || die "9p toolkit"
for folder in proc dev; do mount --bind /$folder /new{TOOLKIT}/$folder || die "toolkit's $folder"; done
"""

_AGENT = """# The guest's first process from here on: it waits for the agent and ends the guest with it.
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8
for port in /sys/class/virtio-ports/*; do
  read -r name <$port/name
  if [ "$name" = {channel} ]; then channel=/dev/${{port##*/}}; fi
done
echo "{say} agent on $channel" >/dev/console
cd /
exec 3<>$channel  # a port can be open once only
{python} -u -c 'import sys;exec(eval(sys.stdin.readline()))' <&3 >&3 3>&- 2>/dev/console
echo "{say} agent ended ($?)" >/dev/console
echo o >/proc/sysrq-trigger
sleep 10
"""


def build(
    kernel: GuestKernel,
    *,
    python: str,
    shares: Mapping[str, str] | None = None,
    views: Mapping[str, str] | None = None,
    from_disk: bool = False,
    architecture: Architecture | None = None,
    python_path: str = "",
    cache: Path = CACHE,
) -> Path:
    """Write the archive for this kernel and these settings, once, and return it.

    `shares` maps a 9p tag to the folder in the guest where it is mounted for writing, `views` one for reading
    alone. The root is that of the guest's disk, or else that of its `architecture` (None: this host's).
    `python_path` is where the guest's `python` looks for the toolkit, where that is not its own place.
    Raises VM-03 without a static shell, VM-01 when the kernel lacks a module.
    """
    modules = kernel.modules_for((*MODULES, *DISK_MODULES) if from_disk else MODULES)
    script = _INIT.format(
        say=SAY,
        modules=" ".join(path.name for path in modules),
        mount=_MOUNT_9P,
        lower=_IMAGE_ROOT if from_disk else _HOST_ROOT,
        toolkit=_IMAGE_TOOLKIT if from_disk else "",
        shell=f"{_BUSYBOX} sh" if from_disk else "/bin/sh",
        modules_tag=MODULES_TAG,
        release=kernel.release,
        shares="\n".join(
            [_mounted(tag, path, "ro,cache=loose") for tag, path in sorted((views or {}).items())]
            + [_mounted(tag, path, "rw,cache=mmap") for tag, path in sorted((shares or {}).items())]
        ),
    )
    entering = f"PYTHONPATH={shlex.quote(python_path)} " if python_path else ""
    entering += f"{_BUSYBOX} chroot {TOOLKIT} " if from_disk else ""
    agent = _AGENT.format(say=SAY, channel=CHANNEL, python=entering + shlex.quote(python))
    shell = static_shell(architecture)
    entries = {**first_root(script, modules, shell), "agent": (stat.S_IFREG | 0o644, agent.encode())}
    return kept(entries, cache / "initramfs", most=16)  # choice: each set of shares makes one; 64 MiB


def _mounted(tag: str, path: str, options: str) -> str:
    """Return the script's lines that mount one folder of the host."""
    place = shlex.quote("/new" + path)
    return f"mkdir -p {place}\n{_MOUNT_9P} -o {options} {tag} {place} || die '9p share'"


def probe_shell(architecture: Architecture | None = None) -> Missing | None:
    """Return what is missing where there is no static shell for a guest (None: of the host's own)."""
    wanted = architecture or own()
    what, mend = "the guest's first shell", SHELL_LINE if wanted.native else wanted.root_line
    found = _shell(wanted)
    if found is None:
        place = "in PATH" if wanted.native else f"below {wanted.root}"
        return Missing(what=what, reason=f"no busybox {place}", mend=mend)
    # a dynamically linked program names its loader in its first page
    if b"ld-linux" in found.read_bytes()[:4096]:
        return Missing(what=what, reason="busybox is not static", mend=mend)
    return None


def static_shell(architecture: Architecture | None = None) -> Path:
    """Return the static shell of guests; TestbedError VM-03 without one."""
    lack = probe_shell(architecture)
    if lack is not None:
        raise TestbedError("VM-03", lack.what, found=lack.reason, hint=lack.mend)
    return Path(str(_shell(architecture or own())))


def _shell(architecture: Architecture) -> Path | None:
    if architecture.native:
        found = shutil.which("busybox")
        return Path(found) if found else None
    below = architecture.root / "usr" / "bin" / "busybox"
    return below if below.is_file() else None


def first_root(script: str, modules: Iterable[Path], shell: Path) -> dict[str, tuple[int, bytes]]:
    """Return what every first root holds: a static shell, the script that it runs first, modules."""
    folder, program = (stat.S_IFDIR | 0o755, b""), stat.S_IFREG | 0o755
    return {
        **dict.fromkeys(("bin", "modules", "dev"), folder),
        "bin/busybox": (program, shell.read_bytes()),
        "init": (program, script.encode()),
        **{f"modules/{path.name}": (stat.S_IFREG | 0o644, path.read_bytes()) for path in modules},
    }


def kept(entries: Mapping[str, tuple[int, bytes]], folder: Path, *, most: int) -> Path:
    """Pack an archive into a folder, once, and return it; of those that are there the newest stay."""
    archive = to_newc(entries)
    target = folder / f"{hashlib.sha256(archive).hexdigest()[:24]}.cpio"
    if not target.exists():
        write_once(target, archive)
        for old in sorted(folder.glob("*.cpio"), key=lambda path: path.stat().st_mtime)[:-most]:
            old.unlink(missing_ok=True)
    return target


def to_newc(entries: Mapping[str, tuple[int, bytes]]) -> bytes:
    """Pack an archive in the format that the kernel unpacks (cpio "newc")."""
    parts = []
    for number, (name, (mode, data)) in enumerate([*entries.items(), ("TRAILER!!!", (0, b""))], 1):
        path = name.encode() + b"\0"
        fields = (number, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(path), 0)
        header = b"070701" + b"".join(b"%08X" % field for field in fields) + path
        parts += [header, bytes(-len(header) % 4), data, bytes(-len(data) % 4)]
    return b"".join(parts)
