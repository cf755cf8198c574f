"""A NAT64 that requests cross: tayga on a tunnel device gives clients of IPv6 an origin of IPv4.

tayga keeps no state of connections: each client's address has an address of IPv4 of its own for a while.
"""

from __future__ import annotations

import ipaddress
from typing import ClassVar

from bmwg.drivers.api.instance import FOLDER, Crossing, Program
from bmwg.drivers.function import request_rules, tun
from bmwg.drivers.workload.crossed import CarriedByProgram, CrossedFunction, Step
from bmwg.drivers.workload.row_addresses import RowAddresses
from bmwg.methodology.kinds.requests import ip

DEVICE = "nat64"
PREFIX = "2001:2:0:6464::/96"  # rfc6052-2.2: the last 32 bits are those of IPv4; of the benchmark range
POOL = "198.18.3.0/24"  # choice: of the range for benchmarks, and nobody's in a row
OWN = "198.18.3.1"  # by which tayga itself sends errors
_STARTS_S = 10.0
_CONFIG = f"""\
tun-device {DEVICE}
ipv4-addr {OWN}
prefix {PREFIX}
dynamic-pool {POOL}
data-dir {FOLDER}
"""


class Nat64:
    """tayga between clients of IPv6 and an origin of IPv4."""

    name: ClassVar[str] = "nat64"
    ips: ClassVar[frozenset[str]] = frozenset({ip.V6_V4})
    executable: ClassVar[str] = "tayga"
    packages: ClassVar[tuple[str, ...]] = ("tayga",)
    mend: ClassVar[str] = "sh setup/install.sh http"

    def asked_for(self, origin: str) -> str:
        """Return the address of IPv6 that stands for the origin's."""
        first = ipaddress.ip_network(PREFIX).network_address
        return str(first + int(ipaddress.IPv4Address(origin)))

    def networks(self, addresses: RowAddresses) -> tuple[str, str]:
        """Return the prefix that stands for all of IPv4, and the addresses that clients get."""
        return PREFIX, POOL

    def program(self, place: Crossing) -> Program:
        """Return tayga as it is started in a place."""
        return Program(
            name=self.executable,
            command=(self.executable, "-d", "-c", f"{FOLDER}/tayga.conf"),
            port=0,
            files={"tayga.conf": _CONFIG},
            packages=self.packages,
        )

    def carries(self, place: Crossing) -> Step:
        """Return what has packets of both versions reach it."""
        return Step(
            run=tun.raise_device,
            arguments={"interface": DEVICE, "networks": [PREFIX, POOL], "within_s": _STARTS_S},
            words=f"routes of {PREFIX} and {POOL} into {DEVICE}",
        )

    def counts(self, folder: str) -> None:
        """Nothing: tayga tells none."""

    def table(self, place: Crossing, origin: str, ports: list[int]) -> Step:
        """Return counters of what it has translated, between its device and the origin."""
        return Step(
            run=request_rules.load_counted,
            arguments={"origin": origin, "sides": [DEVICE, place.sides[1]]},
            words=f"tayga, without state of connections: {PREFIX} stands for IPv4, clients have addresses of"
            f" {POOL}; counted where its packets of IPv4 leave it and come to it",
        )


_: type[CrossedFunction] = Nat64
_by_program: type[CarriedByProgram] = Nat64
