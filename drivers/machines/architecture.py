"""The architectures that a guest can have, by Debian's words, and what QEMU and Linux call their parts.

A guest of its host's architecture has the host's root. One of another has a root of that architecture's
packages below `ROOTS`, unpacked and never set up: kernel, programs, and a Python for our agent. Nothing of it
runs on the host.
"""

from __future__ import annotations

import platform
from dataclasses import dataclass
from pathlib import Path

ROOTS = Path("/var/cache/bmwg/guest/roots")
PYTHON = "/usr/bin/python3"  # of such a root


@dataclass(frozen=True, slots=True, kw_only=True)
class Architecture:
    """One architecture: `name` is Debian's word, `kernel` what `uname -m` says and QEMU's programs end with.

    `model` and `features` are the CPU of a translated guest, `translated_words` what its kernel is told.
    """

    name: str
    kernel: str
    package: str
    machine: str
    model: str
    features: tuple[str, ...] = ()
    console: str
    kernel_words: tuple[str, ...] = ()
    translated_words: tuple[str, ...] = ()

    @property
    def program(self) -> str:
        """The name of QEMU's program."""
        return f"qemu-system-{self.kernel}"

    @property
    def native(self) -> bool:
        """Whether it is this host's own."""
        return self.kernel == platform.machine()

    @property
    def root(self) -> Path:
        """The folder that a guest has as its root."""
        return Path("/") if self.native else ROOTS / self.name

    @property
    def root_line(self) -> str:
        """The line that makes such a root here, and installs its emulator."""
        return f"sh setup/guest.sh {self.name}"

    @property
    def emulator_line(self) -> str:
        """The line that installs its emulator."""
        if self.native:
            return f"apt-get install -y --no-install-recommends {self.package}"
        return self.root_line


AMD64 = Architecture(
    name="amd64",
    kernel="x86_64",
    package="qemu-system-x86",
    machine="pc",
    # choice: what DPDK and the distribution need and no more; `max` costs half as much again to boot by TCG
    model="Nehalem",
    features=("rdrand",),
    console="ttyS0",
    # a guest whose host takes CPUs away must not judge its timer by counting ticks at boot
    kernel_words=("no_timer_check",),
    # a translated guest stands still for so long that its kernel takes the clock for unstable, and another
    # clock amid a run is another platform; the guest's clock is held against its host's all the same
    translated_words=("tsc=nowatchdog",),
)
ARM64 = Architecture(
    name="arm64",
    kernel="aarch64",
    package="qemu-system-arm",
    machine="virt",
    model="cortex-a72",  # choice: what Debian's programs need; pointer authentication of `max` is slow by TCG
    console="ttyAMA0",
)
_KNOWN = (AMD64, ARM64)


def own() -> Architecture:
    """Return this host's; on a host of none of these guests are amd64, with a root of their own."""
    return next((one for one in _KNOWN if one.native), AMD64)


def named(name: str) -> Architecture:
    """Return the architecture of this name, this host's for an empty one. Raises KeyError."""
    return {one.name: one for one in _KNOWN}[name] if name else own()
