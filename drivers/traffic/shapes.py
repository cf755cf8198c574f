"""What a trial may ask beyond a constant load of equal frames, and who refuses it by name."""

from __future__ import annotations

from bmwg.methodology.records import TrialSpec


def beyond_constant_load(spec: TrialSpec) -> str:
    """Name what a trial asks beyond a constant load of equal frames; empty when it asks nothing more."""
    asked = {
        "a second load that follows at once": spec.then_load_fps is not None,
        "times of losses": spec.loss_times,
        "broadcast frames": spec.broadcast_every is not None,
        "latency of single frames": spec.tag_after_s is not None,
        "frames of several sizes in turn": bool(spec.mix_octets),
    }
    return ", ".join(name for name, wanted in asked.items() if wanted)
