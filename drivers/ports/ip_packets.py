"""Node function: packets of each version of IP that a network namespace sent and received, by its kernel."""

from __future__ import annotations

from pathlib import Path

IPV4, IPV6 = "ipv4", "ipv6"
_V4, _V6 = Path("/proc/self/net/snmp"), Path("/proc/self/net/snmp6")


def counts() -> dict[str, int]:
    """Node function: packets since the namespace stands, sent and received together, those of loopback too.

    Raises LookupError, ValueError where the kernel tells them in another form.
    """
    lines = [line.split() for line in _V4.read_text().splitlines() if line.startswith("Ip: ")]
    four = dict(zip(lines[0][1:], map(int, lines[1][1:]), strict=True))
    found = {IPV4: four["InReceives"] + four["OutRequests"], IPV6: 0}
    if _V6.exists():  # a kernel without IPv6 has none
        six = dict(line.split() for line in _V6.read_text().splitlines())
        found[IPV6] = int(six["Ip6InReceives"]) + int(six["Ip6OutRequests"])
    return found
