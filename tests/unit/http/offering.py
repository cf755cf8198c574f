"""Offers a load by the client of transactions itself, on loopback."""

from __future__ import annotations

from typing import Any

from tests.unit.http.phases import SECOND_NS

from bmwg.drivers.workload import transacting
from bmwg.methodology.kinds.requests.sustained import Sustained


def offered(port: int, **changes: Any) -> Sustained:
    """Offer a load to an origin; returns the sustain phase."""
    load = {"address": "127.0.0.1", "port": port, "objects": [(1000, "/")], "host": "o"}
    load |= {"ramp_s": 0.2, "sustain_s": 1.0, "timeout_s": 20.0, "late_ns": 60 * SECOND_NS}
    return Sustained.from_builtins(transacting.run(load={**load, **changes}, trust=None)["sustain"])
