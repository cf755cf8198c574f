"""Suricata inline, which requests cross: an IPS with a small rule set of ours.

The kernel gives it each packet that crosses (NFQUEUE), and it lets it through or drops it. It reads what is
not encrypted: requests and bodies of HTTP/1.1, and of TLS the handshakes alone.
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import ClassVar

from bmwg.drivers.api.instance import FOLDER, Crossing, Program
from bmwg.drivers.function import packet_queue, request_rules
from bmwg.drivers.workload.crossed import CarriedByProgram, CrossedFunction, OfOneVersion, Step
from bmwg.methodology.errors import DriverError
from bmwg.methodology.kinds.requests import ip

FORBIDDEN, MARKED = "/bmwg-forbidden", "/bmwg-marked"  # in a target: is dropped, is told of
_EVENTS, _CONFIG_FILE, _RULES_FILE = "eve.json", "suricata.yaml", "ours.rules"
_STARTS_S = 60.0
_TELLS_S, _LOOK_S, _FURTHER = 15.0, 0.1, 2  # choice: on a busy machine its seconds are longer
_STATS = b'"event_type":"stats"'
# choice: one drops, one tells, and others match nothing but have it look at targets, heads and bodies
RULES = f"""\
drop http any any -> any any (msg:"bmwg: forbidden target"; flow:to_server,established; http.uri; content:"{FORBIDDEN}"; sid:9411001; rev:1;)
alert http any any -> any any (msg:"bmwg: marked target"; flow:to_server,established; http.uri; content:"{MARKED}"; sid:9411002; rev:1;)
alert http any any -> any any (msg:"bmwg: agent"; flow:to_server,established; http.user_agent; content:"bmwg-no-such-agent"; sid:9411003; rev:1;)
alert http any any -> any any (msg:"bmwg: header"; flow:to_client,established; http.header; content:"bmwg-no-such-header"; sid:9411004; rev:1;)
alert http any any -> any any (msg:"bmwg: body"; flow:to_client,established; file.data; content:"bmwg-no-such-body"; sid:9411005; rev:1;)
alert tls any any -> any any (msg:"bmwg: name"; flow:to_server; tls.sni; content:"bmwg-no-such-name"; sid:9411006; rev:1;)
"""  # noqa: E501  (a rule is a line)
_CONFIG = f"""\
%YAML 1.1
---
default-log-dir: {FOLDER}
default-rule-path: {FOLDER}
rule-files:
  - {_RULES_FILE}
stats:
  enabled: yes
  interval: 1
outputs:
  - eve-log:
      enabled: yes
      filetype: regular
      filename: {_EVENTS}
      types:
        - stats:
            totals: yes
            threads: no
logging:
  default-log-level: notice
  outputs:
    - console:
        enabled: yes
nfq:
  mode: accept
  fail-open: no
stream:
  memcap: 256mb
  checksum-validation: no
  inline: auto
  reassembly:
    memcap: 512mb
    depth: 1mb
app-layer:
  protocols:
    http:
      enabled: yes
    tls:
      enabled: yes
      detection-ports:
        dp: 443, 8443
"""
_COUNTERS = {  # what is told of its statistics, by our names
    "suricata_packets": ("decoder", "pkts"),
    "suricata_accepted": ("ips", "accepted"),
    "suricata_blocked": ("ips", "blocked"),
    "suricata_alerts": ("detect", "alert"),
    "suricata_http_requests": ("app_layer", "tx", "http"),
    "suricata_http_flows": ("app_layer", "flow", "http"),
    "suricata_tls_flows": ("app_layer", "flow", "tls"),
}


class Suricata(OfOneVersion):
    """Suricata between clients and origin."""

    name: ClassVar[str] = "suricata"
    ips: ClassVar[frozenset[str]] = frozenset({ip.V4, ip.V6})
    executable: ClassVar[str] = "suricata"
    packages: ClassVar[tuple[str, ...]] = ("suricata",)
    mend: ClassVar[str] = "sh setup/suricata.sh"

    def program(self, place: Crossing) -> Program:
        """Return it as it is started in a place."""
        config = f"{FOLDER}/{_CONFIG_FILE}"
        return Program(
            name=self.name,
            command=(self.executable, "-c", config, "-q", str(packet_queue.NUMBER), "-l", FOLDER),
            port=0,
            files={_CONFIG_FILE: _CONFIG, _RULES_FILE: RULES},
            packages=self.packages,
        )

    def carries(self, place: Crossing) -> Step:
        """Return what leads packets into its queue, and out of it again."""
        of = {"sides": list(place.sides), "ipv6": ":" in place.addresses[0]}
        return Step(
            run=packet_queue.lead,
            arguments={**of, "within_s": _STARTS_S},
            words=f"NFQUEUE {packet_queue.NUMBER}, each packet both ways; without a verdict it is dropped",
            undo=packet_queue.leave,
            undo_arguments=of,
        )

    def table(self, place: Crossing, origin: str, ports: list[int]) -> Step:
        """Return counters of what it let through."""
        return Step(
            run=request_rules.load_counted,
            arguments={"origin": origin, "sides": list(place.sides)},
            words=f"Suricata inline with {len(RULES.splitlines())} rules; counted behind it",
        )

    def counts(self, folder: str) -> Step:
        """Return what reads its own statistics."""
        return Step(
            run=last_counts, arguments={"folder": folder}, words="its statistics, a second old at most"
        )


def last_counts(*, folder: str) -> dict[str, int]:
    """Node function: what Suricata tells now of packets, verdicts, alerts and requests since its start.

    It tells once a second what its threads had counted a second before that at most, so two further lines are
    waited for. Raises DriverError COUNT-01 where they do not come.
    """
    file, found, end_s = Path(folder, _EVENTS), b"", time.monotonic() + _TELLS_S
    from_octet = file.stat().st_size if file.exists() else 0
    while found.count(_STATS) < _FURTHER or not found.endswith(b"\n"):
        if time.monotonic() > end_s:
            raise DriverError(
                "COUNT-01",
                "suricata: its statistics",
                expected=f"{_FURTHER} further lines in {_EVENTS} within {_TELLS_S:g} s",
                found=f"{found.count(_STATS)} lines",
            )
        time.sleep(_LOOK_S)
        if file.exists():
            with file.open("rb") as events:
                events.seek(from_octet)
                found = events.read()
    last = [line for line in found.splitlines() if _STATS in line][-1]
    stats = json.loads(last)["stats"]
    return {name: _at(stats, path) for name, path in _COUNTERS.items()}


def _at(stats: object, path: tuple[str, ...]) -> int:
    """Return a counter; one of a protocol or an act that has not occurred is not told, and is 0."""
    for name in path:
        if not isinstance(stats, dict) or name not in stats:
            return 0
        stats = stats[name]
    return stats if isinstance(stats, int) else 0


_: type[CrossedFunction] = Suricata
_by_program: type[CarriedByProgram] = Suricata
