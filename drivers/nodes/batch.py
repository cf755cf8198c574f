"""Several node functions in one call: entering a pod's namespace costs a process each time."""

from __future__ import annotations

from collections.abc import Callable

from bmwg.drivers.api.calls import P, name_of
from bmwg.drivers.api.protocols import JsonValue
from bmwg.drivers.nodes.agent import resolve


def step(function: Callable[P, object], /, *_: P.args, **arguments: P.kwargs) -> dict[str, JsonValue]:
    """Describe one call for `run`."""
    return {"function": name_of(function), "arguments": arguments}


def run(*, steps: list[dict[str, JsonValue]]) -> list[JsonValue]:
    """Node function: run the steps in order and return their results; the first error ends it."""
    return [resolve(item["function"])(**item["arguments"]) for item in steps]
