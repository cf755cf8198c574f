"""An answer of the HTTP suites as the operator reads it."""

from __future__ import annotations

from bmwg.methodology.http.records import HttpOutcome, Workload
from bmwg.methodology.records import OutcomeType


def line_of(outcome: HttpOutcome) -> str:
    """Say an outcome in one line."""
    if outcome.rate_rps is not None:
        return f"measured  {outcome.rate_rps} requests/s"
    if outcome.type is not OutcomeType.MEASURED or outcome.time is None:
        return f"{outcome.type.value}  {outcome.reason}"
    half = outcome.time.half_width
    spread = f" +/- {half / 1e6:.3f}" if half is not None else ""
    what = "until it serves" if outcome.cell.workload is Workload.START else "a request"
    return f"measured  {outcome.time.mean / 1e6:.3f}{spread} ms {what} (n = {outcome.time.count})"
