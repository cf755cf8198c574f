"""Kernel settings of the calling process' network namespace, by file, with the previous value returned."""

from __future__ import annotations

import contextlib
import difflib
import os
from pathlib import Path

from bmwg.methodology.errors import TestbedError

_ROOT = Path("/proc/sys")

# An interface that speaks on its own shows up at the tester as foreign frames.
QUIET_IPV6 = {
    "accept_dad": "0",
    "dad_transmits": "0",
    "accept_ra": "0",
    "autoconf": "0",
    "router_solicitations": "0",
    "addr_gen_mode": "1",  # no link-local address unless somebody asks for one
    # reports of joined groups leave within a millisecond of `up`, not seconds later in a trial
    "mldv1_unsolicited_report_interval": "1",
    "mldv2_unsolicited_report_interval": "1",
}


def _path(key: str) -> Path:
    path = _ROOT / (key if "/" in key else key.replace(".", "/"))
    if path.is_file():
        return path
    near = difflib.get_close_matches(path.name, os.listdir(path.parent), 3) if path.parent.is_dir() else []
    raise TestbedError(
        "SYSCTL-01",
        f"kernel setting {key}",
        expected=f"a file {path}",
        found="none" + (f"; near names: {', '.join(near)}" if near else ""),
    )


def read(*, key: str) -> str:
    """Node function: the present value. `key` is dotted, or has slashes where an interface name has a dot."""
    return _path(key).read_text().strip()


def write(*, key: str, value: str) -> str:
    """Node function: set and read back; returns the previous value, by which it is undone."""
    path = _path(key)
    previous = path.read_text().strip()
    try:
        path.write_text(value)
    except OSError as error:
        raise TestbedError("SYSCTL-02", f"kernel setting {key} = {value}", found=str(error)) from error
    if (now := path.read_text().strip()).split() != value.split():
        raise TestbedError("SYSCTL-02", f"kernel setting {key}", expected=value, found=now)
    return previous


def write_many(*, settings: dict[str, str]) -> dict[str, str]:
    """Node function: `write` in order; returns the previous values."""
    return {key: write(key=key, value=value) for key, value in settings.items()}


def quiet_defaults() -> None:
    """Keep interfaces that appear later in this network namespace (CNI bridges) from speaking unasked."""
    for scope in ("default", "all"):
        quiet_ipv6(interface=scope)
        for name in ("send_redirects", "rp_filter"):
            write(key=f"net.ipv4.conf.{scope}.{name}", value="0")


def quiet_ipv6(*, interface: str) -> None:
    """Node function: no DAD, RS, RA, automatic link-local address or late MLD report on this interface.

    A kernel without IPv6 has nothing to quiet.
    """
    folder = _ROOT / "net/ipv6/conf" / interface
    for name, value in QUIET_IPV6.items():
        if (folder / name).exists():
            with contextlib.suppress(OSError):  # `all` refuses some of them; the interface's own counts
                (folder / name).write_text(value)
