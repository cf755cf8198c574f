"""A disk image for servers of the embedded OpenStack: small, from Debian's packages, soon ready.

It does with the config drive what cloud-init does with it (addresses, host name, keys, user data) in one
small program, for cloud-init alone takes a translated guest over a minute. Kernel and initial file system
are images of their own, by Nova's `kernel_id` and `ramdisk_id`.

`python -m bmwg.drivers.openstack.image ROOT` makes it once (root, mmdebstrap; `setup/openstack.sh` calls it).
Ids: CLOUD-04 it was not made.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from bmwg.drivers.api.protocols import Missing
from bmwg.drivers.machines import guest_kernel
from bmwg.drivers.machines.guest_initramfs import first_root, probe_shell, static_shell, to_newc
from bmwg.drivers.nodes import process
from bmwg.drivers.openstack.template import CACHE, SETUP_LINE
from bmwg.methodology.errors import TestbedError

NAME = "bmwg-server"
PACKAGES = ("python3", "openssh-server", "squid", "iproute2", "busybox")
READY = "bmwg-server: ready"  # the console's line when the server can be commanded
_DISK_OCTETS = 640 << 20
_DEADLINE_S = 900.0
# what mmdebstrap mounts in its tree, this machine's /sys too, and what it runs go with it, however it ends
_ALONE = ("unshare", "--mount", "--pid", "--fork", "--kill-child=SIGKILL", "--mount-proc")
_MODULES = ("virtio_pci", "virtio_blk", "virtio_net", "e1000", "crc32c_generic", "ext4", "ata_piix", "sr_mod")
_MODULES_ALL = (*_MODULES, "isofs")

_INITRAMFS = """#!/bin/busybox sh
/bin/busybox mkdir -p /proc /sys /dev /new
export PATH=/bin
busybox mount -t devtmpfs dev /dev
/bin/busybox --install -s /bin
mount -t proc proc /proc; mount -t sysfs sys /sys
for module in {modules}; do insmod /modules/$module; done
for wait in 1 2 3 4 5 6 7 8 9 10; do [ -b /dev/vda ] && break; sleep 0.3; done
mount -t ext4 /dev/vda /new || {{ echo "bmwg-server: no disk" >/dev/console; poweroff -f; }}
for name in proc sys dev; do mount --move /$name /new/$name; done
exec switch_root /new /usr/sbin/bmwg-init
"""

_INIT = """#!/bin/sh
# The server's first process.
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8
say() { echo "bmwg-server: $*" >/dev/console; }
mkdir -p /dev/pts /dev/shm
mount -t devpts -o gid=5,mode=620,ptmxmode=666 pts /dev/pts
mount -t tmpfs -o mode=1777 shm /dev/shm
mount -t tmpfs -o mode=755 run /run
mkdir -p /run/sshd /run/lock /run/config /root/.ssh
mount -t iso9660 -o ro /dev/sr0 /run/config || say "no config drive"
ip link set lo up
python3 /usr/sbin/bmwg-settle || say "the config drive was not followed"
[ -e /etc/ssh/ssh_host_ed25519_key ] || ssh-keygen -q -t ed25519 -N '' -f /etc/ssh/ssh_host_ed25519_key
/usr/sbin/sshd -o HostKey=/etc/ssh/ssh_host_ed25519_key -o UsePAM=no -o UseDNS=no -o MaxStartups=100
data=/run/config/openstack/latest/user_data
if [ -s $data ] && [ "$(head -c 2 $data)" = '#!' ]; then cp $data /run/user_data && chmod 700 /run/user_data && /run/user_data >/dev/console 2>&1; fi
say ready
while :; do sleep 3600; done
"""  # noqa: E501 - the lines of a script

_SETTLE = """import ipaddress, json, os, subprocess
base = "/run/config/openstack/latest"
def read(name):
    with open(f"{base}/{name}") as file:
        return json.load(file)
meta, network = read("meta_data.json"), read("network_data.json")
open("/proc/sys/kernel/hostname", "w").write(meta["name"])
with open("/etc/hosts", "w") as file:
    file.write(f"127.0.0.1 localhost {meta['name']}\\n")
with open("/root/.ssh/authorized_keys", "w") as file:
    file.writelines(key.strip() + "\\n" for key in meta.get("public_keys", {}).values())
os.chmod("/root/.ssh", 0o700); os.chmod("/root/.ssh/authorized_keys", 0o600)
named = {}
for name in os.listdir("/sys/class/net"):
    named[open(f"/sys/class/net/{name}/address").read().strip()] = name
links = {link["id"]: link for link in network["links"]}
def ip(*words):
    subprocess.run(["ip", *words], check=True)
for link in links.values():
    ip("link", "set", named[link["ethernet_mac_address"]], "mtu", str(link.get("mtu") or 1500), "up")
for part in network["networks"]:
    if not part.get("ip_address"):
        continue
    interface = named[links[part["link"]]["ethernet_mac_address"]]
    address = ipaddress.ip_interface(f"{part['ip_address']}/{part['netmask']}")
    ip("addr", "add", str(address), "dev", interface)
    for route in part.get("routes", ()):
        to = ipaddress.ip_network(f"{route['network']}/{route['netmask']}")
        ip("route", "add", str(to), "via", route["gateway"], "dev", interface)
"""


@dataclass(frozen=True, slots=True)
class ServerImage:
    """The files of it, and the digest of what they were made from."""

    disk: Path
    kernel: Path
    initramfs: Path
    digest: str


def find(cache: Path = CACHE) -> ServerImage | Missing:
    """Return the image of this version, or what is missing."""
    digest = _digest()
    folder = cache / f"image-{digest}"
    made = ServerImage(folder / "root.qcow2", folder / "kernel", folder / "initramfs", digest)
    if made.disk.exists():
        return made
    return Missing(what="image for servers", reason=f"none of this version below {cache}", mend=SETUP_LINE)


def make(root: Path, cache: Path = CACHE) -> ServerImage:
    """Make the image; does nothing where it is there. `root` is the cloud's root, whose qemu-img is used.

    Raises TestbedError CLOUD-04, and what finding or fetching the guest's kernel raises.
    """
    found = find(cache)
    if isinstance(found, ServerImage):
        return found
    kernel = guest_kernel.fetch()
    target = cache / f"image-{_digest()}"
    work = Path(tempfile.mkdtemp(prefix=".imaging-", dir=cache))
    try:
        tree, made = work / "tree", work / "made"
        made.mkdir()
        _tree(tree)
        raw = work / "raw"
        _run("mke2fs", "-q", "-t", "ext4", "-L", "root", "-d", str(tree), str(raw), f"{_DISK_OCTETS >> 10}k")
        _run(*_of(root, "qemu-img"), "convert", "-O", "qcow2", str(raw), str(made / "root.qcow2"))
        shutil.copy(kernel.image, made / "kernel")
        (made / "initramfs").write_bytes(_initramfs(kernel))
        made.rename(target)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return find(cache)  # type: ignore[return-value]


def _tree(tree: Path) -> None:
    sources = Path("/etc/apt/sources.list.d/debian.sources")
    if not sources.exists():
        sources = Path("/etc/apt/sources.list")
    _run(
        *_ALONE,
        "mmdebstrap",
        "--mode=root",
        "--variant=minbase",
        '--aptopt=Acquire::Retries "3"',
        *(f"--dpkgopt=path-exclude=/usr/share/{name}/*" for name in ("man", "doc", "locale")),
        f"--include={','.join(PACKAGES)}",
        "bookworm",
        str(tree),
        str(sources),
    )
    for name, text in (("bmwg-init", _INIT), ("bmwg-settle", _SETTLE)):
        path = tree / "usr/sbin" / name
        path.write_text(text)
        path.chmod(0o755)
    shutil.rmtree(tree / "var/lib/apt/lists", ignore_errors=True)
    for key in (tree / "etc/ssh").glob("ssh_host_*"):  # each server makes its own
        key.unlink()


def _initramfs(kernel: guest_kernel.GuestKernel) -> bytes:
    modules = kernel.modules_for(_MODULES_ALL)
    script = _INITRAMFS.format(modules=" ".join(path.name for path in modules))
    return to_newc(first_root(script, modules, static_shell()))


def _of(root: Path, program: str) -> list[str]:
    """A program of the cloud's root, run here: this machine need not have it."""
    library = "x86_64-linux-gnu"
    loader = root / "lib" / library / "ld-linux-x86-64.so.2"
    path = f"{root}/lib/{library}:{root}/usr/lib/{library}"
    return [str(loader), "--library-path", path, str(root / "usr/bin" / program)]


def _run(*words: str) -> None:
    name = next(word for word in words if word not in _ALONE)
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=_DEADLINE_S, check=False)
    except subprocess.TimeoutExpired as error:
        raise _unmade(name, f"an end within {_DEADLINE_S:g} s", "none") from error
    if done.returncode:
        said = " | ".join(done.stderr.strip().splitlines()[-4:])
        raise _unmade(name, "exit status 0", f"{done.returncode}: {said}")


def _unmade(name: str, expected: str, found: str) -> TestbedError:
    return TestbedError("CLOUD-04", f"{name} for the image of servers", expected=expected, found=found)


def _digest() -> str:
    written = (PACKAGES, _INIT, _SETTLE, _INITRAMFS, _MODULES_ALL, _DISK_OCTETS)
    return hashlib.sha256(repr(written).encode()).hexdigest()[:12]


if __name__ == "__main__":
    if (lack := probe_shell()) is not None:
        sys.exit(str(lack))
    os.umask(0o077)
    process.end_in_order()
    print(make(Path(sys.argv[1])).disk)
