"""Ports of kind xdp: what the kernel lacks for them, asked once a process, and each refusal with its mend.

Ids: TST-40 the kernel lacks what they need, TST-41 permission or memory, TST-42 an interface that cannot be
one, TST-43 a program of somebody else on it, TST-44 port kinds that do not go together.
"""

from __future__ import annotations

import functools
import json
import subprocess
from typing import Any

from bmwg.drivers.api.protocols import Missing, TesterPort
from bmwg.drivers.traffic.embedded.build import ensure_built
from bmwg.drivers.traffic.embedded.protocol import RefusalError
from bmwg.methodology.errors import TestbedError, ToolkitError

PROBE_DEADLINE_S = 20.0  # a busy machine waits for several grace periods of the kernel
_OTHER = "or `io: af_xdp` in the testbed file"
# The tester's kind of reason: what was expected, how it is mended.
_WORDS = {
    "xdp_kernel": (
        "Linux 5.18 or later, whose BPF_PROG_TEST_RUN sends live frames",
        f"a newer kernel, {_OTHER}",
    ),
    "xdp_jit": ("net.core.bpf_jit_enable = 1", f"sysctl net.core.bpf_jit_enable=1, {_OTHER}"),
    "xdp_lockdown": (
        "a kernel that lets root load programs",
        f"boot without lockdown=integrity or confidentiality, {_OTHER}",
    ),
    "xdp_permission": (
        "CAP_BPF and CAP_NET_ADMIN",
        "run it as root; within a container, a privileged one (docs/privileges.md)",
    ),
    "xdp_memory": (
        "memory for the maps",
        "raise the memory limit of the control group (memory.max) or the limit of locked memory (ulimit -l)",
    ),
    "xdp_native": (
        "a driver that runs XDP programs itself and sends redirected frames (veth, tun, many NICs)",
        f"another interface, {_OTHER}",
    ),
    "xdp_peer": (
        "an interface that sends redirected frames; a veth end does while its peer has a device queue",
        f"ethtool -K PEER gro on (dut.device_queue: threaded does it), {_OTHER}",
    ),
    "xdp_mtu": (
        "an MTU whose frames one page holds (3506 octets on Linux 6)",
        f"a smaller MTU of the pair, {_OTHER}",
    ),
    "xdp_queues": ("one receive queue", f"ethtool -L INTERFACE combined 1, {_OTHER}"),
    "xdp_attach": ("an interface that takes an XDP program", f"see the kernel's log, {_OTHER}"),
    "xdp_foreign": (
        "an interface without an XDP program",
        "a program of somebody else is never replaced: end what holds it (`bpftool net` names it)",
    ),
    "xdp_mixed": ("xdp on both ports, or on none", "give both ports the same io"),
}
REASONS = frozenset(_WORDS)


def refused(refusal: RefusalError, ports: tuple[TesterPort, ...]) -> TestbedError | None:
    """Return the error that stands for a refusal of the tester; None if it has nothing to do with xdp."""
    if refusal.code not in _WORDS:
        return None
    expected, hint = _WORDS[refusal.code]
    names, found = ", ".join(port.name for port in ports), refusal.text
    match refusal.code:
        case "xdp_kernel" | "xdp_jit" | "xdp_lockdown":
            return TestbedError(
                "TST-40",
                f"the kernel for tester ports {names} as xdp; no traffic was sent",
                expected=expected,
                found=found,
                hint=hint,
            )
        case "xdp_permission" | "xdp_memory":
            return TestbedError(
                "TST-41",
                f"permission or memory for tester ports {names} as xdp; no traffic was sent",
                expected=expected,
                found=found,
                hint=hint,
            )
        case "xdp_foreign":
            return TestbedError(
                "TST-43",
                f"tester ports {names} as xdp; no traffic was sent",
                expected=expected,
                found=found,
                hint=hint,
            )
        case "xdp_mixed":
            return TestbedError(
                "TST-44",
                f"tester ports {names} as xdp; no traffic was sent",
                expected=expected,
                found=found,
                hint=hint,
            )
        case _:
            return TestbedError(
                "TST-42",
                f"tester ports {names} as xdp; no traffic was sent",
                expected=expected,
                found=found,
                hint=hint,
            )


@functools.cache
def lacking() -> Missing | None:
    """Return what this machine lacks for ports of kind xdp, or None. Builds the tester if it is not built.

    It loads the programs and runs one frame that is dropped; no interface is touched. Asked once a process.
    """
    try:
        done = subprocess.run(
            [str(ensure_built()), "probe-xdp"],
            capture_output=True,
            text=True,
            timeout=PROBE_DEADLINE_S,
            check=True,
        )
        said: Any = json.loads(done.stdout)
    except ToolkitError as error:
        return _missing(str(error.what), error.hint or "see `sh setup/install.sh`")
    except (subprocess.SubprocessError, OSError, ValueError) as error:
        return _missing(f"the tester gives no answer: {error}", "sh setup/install.sh")
    if not isinstance(said, dict) or "code" not in said:
        return None
    _, mend = _WORDS.get(str(said["code"]), ("", "see the kernel's log"))
    return _missing(str(said.get("text")), mend)


def lacks() -> str:
    """Node function: why this machine has no ports of kind xdp; empty where it has them."""
    missing = lacking()
    return missing.reason if missing else ""


def _missing(reason: str, mend: str) -> Missing:
    return Missing(what="tester ports inside the kernel (io: xdp)", reason=reason, mend=mend)
