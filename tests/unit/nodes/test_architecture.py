"""Guests of another architecture than their host's: how they boot, and what is refused by name without."""

from __future__ import annotations

import platform
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from bmwg.drivers.machines import (
    architecture,
    guest_initramfs,
    guest_kernel,
    guest_views,
    libvirt_domain,
    qemu,
    qemu_place,
)
from bmwg.drivers.machines.architecture import AMD64, ARM64, named, own
from bmwg.drivers.machines.guest_kernel import GuestKernel
from bmwg.drivers.machines.qemu import Accelerator, MachineSpec
from bmwg.drivers.machines.qemu_machine import Machine
from bmwg.methodology.errors import TestbedError

SPEC = MachineSpec(name="g", cpus=2, memory_octets=1 << 30, accelerator=Accelerator.TCG, architecture=ARM64)
FILES = {name: Path(f"/{name}") for name in ("kernel", "modules", "initramfs")}


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A host of amd64, whatever this one is, with roots of guests and programs in folders of the test's."""
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(architecture, "ROOTS", tmp_path / "roots")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setattr(qemu, "UNPACKED", tmp_path / "unpacked")
    (tmp_path / "bin").mkdir()
    return tmp_path


def put(file: Path, content: bytes = b"\x7fELF") -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content)
    file.chmod(0o755)


def test_the_machine_console_and_cpu_are_those_of_its_architecture(host: Path) -> None:
    argv = qemu.command(SPEC, **FILES, channel_fd=3, monitor_fd=4)
    assert argv[0] == "qemu-system-aarch64"
    assert argv[argv.index("-machine") + 1] == "virt,accel=tcg"
    assert argv[argv.index("-cpu") + 1] == "cortex-a72"
    words = argv[argv.index("-append") + 1].split()
    assert words[0] == "console=ttyAMA0"
    assert not {"tsc=nowatchdog", "no_timer_check"} & set(words), "words of x86"
    assert any(f"path={host}/roots/arm64," in word for word in argv), "its root, and not the host's"
    assert not any("path=/," in word for word in argv)
    assert qemu.describe(SPEC)["architecture"] == "arm64"
    assert "architecture" not in qemu.describe(replace(SPEC, architecture=AMD64))


def test_it_is_translated_and_one_of_its_hosts_own_may_not_be(
    host: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert qemu.probe_accelerator(ARM64) == (Accelerator.TCG, "the guest is aarch64, this host x86_64")
    assert "aarch64" not in qemu.probe_accelerator()[1]
    assert (own(), named(""), named("arm64")) == (AMD64, AMD64, ARM64)
    monkeypatch.setattr(platform, "machine", lambda: "aarch64")
    assert own() is ARM64
    assert "x86_64" in qemu.probe_accelerator(AMD64)[1]
    monkeypatch.setattr(platform, "machine", lambda: "riscv64")
    assert own() is AMD64, "with a root of its own, since the host's would not run in it"
    assert own().root == host / "roots" / "amd64"


def test_what_it_lacks_is_named_one_after_the_other_with_the_line_that_supplies_it(host: Path) -> None:
    def lack() -> tuple[str, str]:
        found = qemu_place.probe(architecture="arm64")
        assert found is not None
        assert found["mend"] == "sh setup/guest.sh arm64"
        return found["what"], found["reason"]

    root = host / "roots" / "arm64"
    assert lack() == ("QEMU", "no qemu-system-aarch64 in PATH")
    put(host / "bin" / "qemu-system-aarch64")
    if qemu.probe_program(ARM64) is not None:
        pytest.skip("needs /dev/net/tun")
    assert lack() == ("root of arm64 for guests", f"no folder {root}")
    root.mkdir(parents=True)
    assert lack()[0] == "guest kernel"
    release = "6.1.0-1-arm64"
    (root / "lib" / "modules" / release / "kernel" / "fs" / "9p").mkdir(parents=True)
    put(root / "boot" / f"vmlinuz-{release}")
    assert lack() == ("the guest's first shell", f"no busybox below {root}")
    put(root / "usr" / "bin" / "busybox", b"\x7fELF /lib/ld-linux-aarch64.so.1")
    assert lack() == ("the guest's first shell", "busybox is not static")
    put(root / "usr" / "bin" / "busybox")
    assert qemu_place.probe(architecture="arm64") is None
    assert guest_kernel.of(ARM64) == GuestKernel(
        release=release,
        image=root / "boot" / f"vmlinuz-{release}",
        modules=root / "lib" / "modules" / release,
    )


def test_its_kernel_is_not_unpacked_as_one_of_x86_would_be(tmp_path: Path) -> None:
    put(tmp_path / "vmlinuz", b"MZ" + bytes(54) + b"ARMd" + bytes(2048))
    kernel = GuestKernel(release="1", image=tmp_path / "vmlinuz", modules=tmp_path)
    assert kernel.unpacked_image(tmp_path / "cache") == kernel.image


def test_its_agent_runs_in_its_own_python_with_the_hosts_toolkit(
    host: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(host / "roots" / "arm64" / "usr" / "bin" / "busybox", b"\x7fELF of arm64")
    kernel = GuestKernel(release="1", image=host / "k", modules=host)
    monkeypatch.setattr(GuestKernel, "modules_for", lambda self, wanted: ())
    path = guest_views.python_path()
    archive = guest_initramfs.build(
        kernel, python=architecture.PYTHON, python_path=path, architecture=ARM64, cache=host
    ).read_bytes()
    assert b"ELF of arm64" in archive
    assert f"PYTHONPATH={path} /usr/bin/python3 -u -c".encode() in archive
    viewed = guest_views.toolkit()
    assert all(any(Path(part).is_relative_to(one) for one in viewed) for part in path.split(":"))


def test_a_machine_of_another_architecture_than_was_asked_for_is_refused() -> None:
    machine = Machine(SPEC)
    told = {
        "query-kvm": {"enabled": False, "present": True},
        "query-version": {"qemu": {"major": 7, "minor": 2, "micro": 0}},
        "query-target": {"arch": "x86_64"},
    }
    machine._monitor = SimpleNamespace(execute=lambda command, _: told[command])  # type: ignore[assignment]
    with pytest.raises(TestbedError, match="VM-04") as caught:
        machine._observe()
    assert (caught.value.expected, caught.value.found) == ("aarch64", "x86_64")
    told["query-target"] = {"arch": "aarch64"}
    assert machine._observe()["accelerator"] == "tcg"


def test_libvirt_is_told_the_same_machine(tmp_path: Path) -> None:
    written = libvirt_domain.write(
        SPEC, uuid="u", owner="", **FILES, emulator="/e", channel=tmp_path / "a", console=tmp_path / "c"
    )
    assert 'arch="aarch64" machine="virt"' in written
