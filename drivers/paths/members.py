"""The functions of chains as a deployment tells them: by name, with pod and cgroup, and how long all took."""

from __future__ import annotations

from collections.abc import Sequence

from bmwg.drivers.api.protocols import JsonValue
from bmwg.drivers.paths.bed import Bed
from bmwg.drivers.paths.forwarding_pods import Standing
from bmwg.drivers.paths.pods import described


def told(bed: Bed, names: Sequence[str], standing: Standing) -> list[JsonValue]:
    """Return each function by its name, with its pod and what the kernel has of it."""
    return [
        {
            "name": name,
            "pod": pod.pod_id,
            "function": function,
            "cgroup": described(bed, pod, works=True),
        }
        for name, pod, function in zip(names, standing.pods, standing.functions, strict=True)
    ]


def activation(standing: Standing) -> dict[str, JsonValue]:
    """Return how long it took until all functions forwarded, and how long of it a vSwitch took to start."""
    started = [float(item.evidence.get("vswitch_start_s", 0.0)) for item in standing.attached.values()]
    return {"activation_s": standing.activation_s, "vswitch_start_s": max(started)}
