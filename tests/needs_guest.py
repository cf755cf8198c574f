"""What tests that boot a guest need of this machine: QEMU, a shell for the guest's archive, its kernel."""

from __future__ import annotations

import pytest

from bmwg.drivers.machines import guest_initramfs, guest_kernel, qemu


def booting(*, with_functions: bool = False) -> pytest.MarkDecorator:
    """Skip where no guest can be booted, or none whose NIC has virtual functions."""
    lack = qemu.probe_program(with_functions=with_functions) or guest_initramfs.probe_shell()
    if lack is None and not isinstance(guest_kernel.find(), guest_kernel.GuestKernel):
        lack = f"a guest kernel: {guest_kernel.FETCH_LINE}"
    return pytest.mark.skipif(lack is not None, reason=f"needs {lack}")
