"""The functions of chains as a deployment tells them: by name, with pod and cgroup, and how long all took."""

from __future__ import annotations

from collections.abc import Sequence

from bmwg.drivers.api import Attached, JsonValue, Pod
from bmwg.drivers.paths.bed import Bed
from bmwg.drivers.paths.pods import described


def told(
    bed: Bed, names: Sequence[str], pods: Sequence[Pod], functions: Sequence[dict[str, JsonValue]]
) -> list[JsonValue]:
    """Return each function by its name, with its pod and what the kernel has of it."""
    return [
        {
            "name": name,
            "pod": pod.pod_id,
            "function": function,
            "cgroup": described(bed, pod, works=True),
        }
        for name, pod, function in zip(names, pods, functions, strict=True)
    ]


def activation(activation_s: float, attached: Sequence[Attached]) -> dict[str, JsonValue]:
    """Return how long it took until all functions forwarded, and how long of it a vSwitch took to start."""
    started = [float(item.evidence.get("vswitch_start_s", 0.0)) for item in attached]
    return {"activation_s": activation_s, "vswitch_start_s": max(started)}
