import lzma
import struct
import subprocess
from pathlib import Path

import pytest

from bmwg.drivers.api.machines import Redirected
from bmwg.drivers.api.protocols import Missing
from bmwg.drivers.machines import guest_initramfs, guest_kernel, qemu
from bmwg.drivers.machines.guest_kernel import GuestKernel
from bmwg.drivers.machines.qemu import Accelerator, MachineSpec, Nic, NicModel
from bmwg.methodology.errors import TestbedError

NEEDS = {"virtio": "", "virtio-pci": "virtio", "9pnet": "", "9pnet_virtio": "9pnet,virtio"}


def a_kernel(root: Path, release: str, image: bytes = b"image") -> GuestKernel:
    modules = root / "lib" / "modules" / release
    (modules / "kernel" / "fs" / "9p").mkdir(parents=True)
    for name, needed in NEEDS.items():
        (modules / "kernel" / f"{name}.ko").write_bytes(
            b"\x7fELF\0depends=" + needed.encode() + b"\0name=x\0"
        )
    (modules / "modules.builtin").write_text("kernel/drivers/char/virtio_console.ko\n")
    (root / "boot").mkdir(exist_ok=True)
    (root / "boot" / f"vmlinuz-{release}").write_bytes(image)
    found = guest_kernel.find((root,))
    assert isinstance(found, GuestKernel)
    return found


def test_a_module_comes_after_what_it_needs_and_a_built_in_not_at_all(tmp_path: Path) -> None:
    kernel = a_kernel(tmp_path, "6.1.0-1-amd64")
    ordered = [path.stem for path in kernel.modules_for(("9pnet_virtio", "virtio_pci", "virtio_console"))]
    assert ordered == ["9pnet", "virtio", "9pnet_virtio", "virtio-pci"]


def test_a_kernel_without_a_module_is_refused_with_the_line_that_mends_it(tmp_path: Path) -> None:
    kernel = a_kernel(tmp_path, "6.1.0-1-amd64")
    with pytest.raises(TestbedError, match=r"^VM-01 ") as caught:
        kernel.modules_for(("e1000",))
    assert guest_kernel.FETCH_LINE in str(caught.value)


def test_the_newest_kernel_is_taken_by_number_not_by_letter(tmp_path: Path) -> None:
    a_kernel(tmp_path / "a", "6.1.0-9-amd64")
    a_kernel(tmp_path / "b", "6.1.0-10-amd64")
    found = guest_kernel.find((tmp_path,))
    assert isinstance(found, GuestKernel)
    assert found.release == "6.1.0-10-amd64"


def test_no_kernel_is_missing_with_the_line_that_supplies_one(tmp_path: Path) -> None:
    (tmp_path / ".fetch-1" / "boot").mkdir(parents=True)  # half of a download is none
    found = guest_kernel.find((tmp_path,))
    assert isinstance(found, Missing)
    assert found.mend == guest_kernel.FETCH_LINE


def packed_modules(modules: Path) -> None:
    (modules / "kernel" / "fs" / "9p").mkdir(parents=True)
    (modules / "kernel" / "fs" / "9p" / "9p.ko.xz").write_bytes(lzma.compress(b"\x7fELF\0depends=\0"))


@pytest.mark.parametrize("library", ["lib", "usr/lib"])
def test_a_package_s_packed_modules_are_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, library: str
) -> None:
    def ran(program: str, *words: str, cwd: str = "") -> str:
        if program == "apt-get":
            Path(cwd, "linux-image.deb").touch()
        if program == "dpkg-deb":
            packed_modules(Path(cwd, words[-1], library, "modules", "6.12.1-amd64"))
            Path(cwd, words[-1], "boot").mkdir()
            Path(cwd, words[-1], "boot", "vmlinuz-6.12.1-amd64").touch()
        return ""

    monkeypatch.setattr(guest_kernel, "_run", ran)
    monkeypatch.setattr(guest_kernel, "_packages", lambda: ("linux-image-6.12.1-amd64",))
    (module,) = guest_kernel.fetch(tmp_path).modules_for(("9p",))
    assert module.name == "9p.ko"
    assert module.read_bytes() == b"\x7fELF\0depends=\0"


def test_a_host_s_kernel_with_packed_modules_is_none_for_guests(tmp_path: Path) -> None:
    packed_modules(tmp_path / "usr" / "lib" / "modules" / "6.12.1-amd64")
    (tmp_path / "boot").mkdir()
    (tmp_path / "boot" / "vmlinuz-6.12.1-amd64").touch()
    assert isinstance(guest_kernel.find((tmp_path,)), Missing)
    guest_kernel.unpack_modules(tmp_path / "usr" / "lib" / "modules")
    assert isinstance(guest_kernel.find((tmp_path,)), GuestKernel)


def packed_kernel(payload: bytes) -> bytes:
    head = bytearray(1024)
    head[0x1F1] = 1  # one setup sector, so that the payload begins at 1024
    head[0x202:0x206] = b"HdrS"
    struct.pack_into("<II", head, 0x248, 0, len(payload))
    return bytes(head) + payload


@pytest.mark.parametrize(
    ("payload", "unpacked"),
    [
        (lzma.compress(b"\x7fELF a kernel"), True),
        (b"another compression", False),
        (lzma.compress(b"no"), False),
    ],
)
def test_only_a_kernel_packed_by_xz_is_unpacked(tmp_path: Path, payload: bytes, unpacked: bool) -> None:
    kernel = a_kernel(tmp_path, "6.1.0-1-amd64", packed_kernel(payload))
    image = kernel.unpacked_image(tmp_path / "cache")
    assert (image != kernel.image) is unpacked
    named = "kernel (uncompressed by us)" if unpacked else "kernel"
    assert kernel.booted(tmp_path / "cache") == (named, image), "what is smaller packed is named as it is"
    if unpacked:
        assert image.read_bytes() == b"\x7fELF a kernel"
        assert kernel.unpacked_image(tmp_path / "cache") == image


@pytest.mark.skipif(guest_initramfs.probe_shell() is not None, reason="needs busybox-static")
def test_the_archive_is_one_that_another_program_reads(tmp_path: Path) -> None:
    archive = guest_initramfs.to_newc(
        {"bin": (0o040755, b""), "bin/x": (0o100755, b"12345"), "y": (0o100644, b"")}
    )
    listed = subprocess.run(
        ["busybox", "cpio", "-t"], input=archive, capture_output=True, check=True, timeout=10
    )
    assert listed.stdout.split() == [b"bin", b"bin/x", b"y"]
    subprocess.run(
        ["busybox", "cpio", "-i"], input=archive, cwd=tmp_path, capture_output=True, check=True, timeout=10
    )
    assert (tmp_path / "bin" / "x").read_bytes() == b"12345"


def a_command(**changes: object) -> list[str]:
    wanted: dict[str, object] = {
        "name": "g",
        "cpus": 2,
        "memory_octets": 1 << 30,
        "accelerator": Accelerator.TCG,
    }
    paths = {name: Path(f"/{name}") for name in ("kernel", "modules", "initramfs")}
    return qemu.command(MachineSpec(**(wanted | changes)), **paths, channel_fd=7, monitor_fd=8)  # type: ignore[arg-type]


def test_the_hosts_root_is_never_writable_and_a_share_is() -> None:
    shares = [word for word in a_command(shares={"/a,b": "tag"}) if word.startswith("local,")]
    assert [("readonly=on" in word) for word in shares] == [True, True, False]
    assert "path=/," in shares[0]
    assert "path=/a,,b," in shares[2]


@pytest.mark.parametrize(("model", "vhost"), [(NicModel.E1000, False), (NicModel.VIRTIO, True)])
def test_the_nic_is_the_one_that_was_asked_for(model: NicModel, vhost: bool) -> None:
    nic = Nic(
        tap="t0", mac="02:00:00:00:00:01", model=model, vhost=vhost, address="198.18.18.2/30", gateway="g"
    )
    words = " ".join(a_command(nics=(nic,)))
    assert f"{model},netdev=net0,mac=02:00:00:00:00:01" in words
    assert f"ifname=t0,script=no,downscript=no,vhost={'on' if vhost else 'off'}" in words
    assert "bmwg.net=eth0,198.18.18.2/30,g" in words


def test_a_nic_behind_redirected_ports_has_no_tap_and_each_port_twice() -> None:
    ways = Redirected(address="198.18.0.3", ports=(5201, 12865))
    nic = Nic(tap="", mac="02:00:00:00:00:01", redirected=ways)
    words = a_command(nics=(nic,))
    (backend,) = [word for word in words if word.startswith("user,")]
    for end in ("198.18.0.3:5201", "198.18.0.3:12865"):
        for way in ("tcp", "udp"):
            assert f"hostfwd={way}:{end}-{end}" in backend.split(",")
    assert backend.endswith(",id=net0")
    assert not [word for word in words if word.startswith("tap,")]


def test_kvm_is_never_chosen_where_the_cpu_has_no_virtualization() -> None:
    accelerator, why = qemu.probe_accelerator()
    flags = Path("/proc/cpuinfo").read_text()
    if " vmx" not in flags and " svm" not in flags:
        assert accelerator is Accelerator.TCG
    assert why


UBUNTU = """#!/bin/sh
case "$3" in
linux-image-generic) printf '%s\\n' linux-image-generic '  Depends: linux-image-6.8.0-151-generic' \\
    '  Depends: linux-modules-extra-6.8.0-151-generic' '  Depends: linux-firmware' ;;
linux-image-6*) printf '%s\\n' "$3" '  Depends: kmod' '  Depends: linux-modules-6.8.0-151-generic' ;;
*) echo "<$3>" ;;
esac
"""


def test_on_ubuntu_the_kernel_and_both_packages_of_its_modules_are_fetched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "apt-cache"
    program.write_text(UBUNTU)
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    image, extra, modules = guest_kernel._packages()
    assert image == "linux-image-6.8.0-151-generic"
    assert {extra, modules} == {"linux-modules-extra-6.8.0-151-generic", "linux-modules-6.8.0-151-generic"}
    program.write_text('#!/bin/sh\necho "<$3>"\n')
    with pytest.raises(TestbedError, match="linux-image-amd64 or linux-image-generic") as caught:
        guest_kernel._packages()
    assert caught.value.error_id == "VM-02"
