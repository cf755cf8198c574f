"""The client of transactions on its node: node functions that run the program of `src/transactions`.

Ids: TRANS-03 it did not end well.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
from typing import Any

from bmwg.drivers.api.protocols import JsonValue
from bmwg.drivers.workload import transactions_build
from bmwg.drivers.workload.tls_client import Trust
from bmwg.drivers.workload.transaction_load import INTERVAL_NS, Load
from bmwg.methodology.errors import DriverError, TestbedError

_MARGIN_S = 20.0  # choice: beside the load and its latest answers


def lack() -> dict[str, str] | None:
    """Node function: return what is missing to build the program (fields of `Missing`)."""
    try:
        transactions_build.ensure_built()
    except TestbedError as error:
        return {"what": "the client of transactions", "reason": error.found, "mend": error.hint or ""}
    return None


def described() -> dict[str, JsonValue]:
    """Node function: return the program with its digest."""
    program = transactions_build.ensure_built()
    return {"program": str(program), "sha256": hashlib.sha256(program.read_bytes()).hexdigest()}


def run(*, load: dict[str, JsonValue], trust: dict[str, JsonValue] | None) -> dict[str, JsonValue]:
    """Node function: offer a load (fields of `Load`), by TLS where `trust` has the fields of `Trust`.

    Returns the fields of a sustain phase (`sustain`), what was `unsent` (`why_unsent`), `took_ns`. Raises
    TestbedError TRANS-02, DriverError TRANS-03.
    """
    asked = Load(**load, trust=Trust(**trust) if trust else None)
    argv = [str(transactions_build.ensure_built()), *asked.words()]
    within_s = asked.ramp_s + asked.sustain_s + 2 * asked.timeout_s + _MARGIN_S
    authority = asked.trust.authority if asked.trust else ""
    try:
        done = subprocess.run(
            argv, input=authority, capture_output=True, text=True, timeout=within_s, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise _unwell(argv, f"still running after {within_s:g} s") from error
    if done.returncode:
        raise _unwell(argv, f"exit status {done.returncode}: {done.stderr.strip()[-500:]}")
    told: dict[str, Any] = json.loads(done.stdout)
    told["sustain"] |= {
        "interval_ns": INTERVAL_NS,
        "requests_per_connection": 1 if asked.held else asked.per_connection,
        "held_connections": asked.held,
    }
    return told


def _unwell(argv: list[str], found: str) -> DriverError:
    return DriverError("TRANS-03", " ".join(argv), expected="one line of counts", found=found)
