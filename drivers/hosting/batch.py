"""Several node functions in one call: entering a pod's namespace costs a process each time."""

from __future__ import annotations

from bmwg.drivers.api import JsonValue
from bmwg.drivers.hosting.agent import resolve


def step(function: str, **arguments: JsonValue) -> dict[str, JsonValue]:
    """Describe one call for `run`."""
    return {"function": function, "arguments": arguments}


def run(*, steps: list[dict[str, JsonValue]]) -> list[JsonValue]:
    """Node function: run the steps in order and return their results; the first error ends it."""
    return [resolve(item["function"])(**item["arguments"]) for item in steps]
