"""Whether a machine is shown to be one of QEMU's that KVM runs: else QEMU may translate it (TCG)."""

from __future__ import annotations

from bmwg.drivers.platform_record.values import Source, text_or_none

_VENDOR = "/sys/class/dmi/id/sys_vendor"
_CLOCKS = "/sys/devices/system/clocksource/clocksource0/available_clocksource"


def clocks(source: Source) -> str:
    """Return the names of the clocks that the kernel can take; empty when it does not tell."""
    return text_or_none(source, _CLOCKS) or ""


def vendor(source: Source) -> str:
    """Return the machine's vendor as its firmware tells it; empty when it does not."""
    return text_or_none(source, _VENDOR) or ""


def maybe_translated(source: Source) -> bool:
    """Whether this is a machine of QEMU's that has no clock of KVM's: nothing then shows that KVM runs it."""
    return "QEMU" in vendor(source) and "kvm-clock" not in clocks(source)
