"""What every benchmark that measures holds: CPUs that do not halt, as in a run (docs/adr/0230)."""

from __future__ import annotations

import atexit
import os
from contextlib import ExitStack
from typing import Any

from bmwg.drivers.watch.awake import kept_awake
from bmwg.methodology.trial.keep_awake import KeepAwake


def keep_awake() -> dict[str, Any]:
    """Hold the request until this process ends; return what came of it, for the benchmark's document."""
    stack = ExitStack()
    held = stack.enter_context(kept_awake(KeepAwake.PM_QOS, os.sched_getaffinity(0)))
    atexit.register(stack.close)
    return held.as_json()
