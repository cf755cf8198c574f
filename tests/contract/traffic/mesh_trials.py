"""Patterns between four ports, their trials, and what the kernel must have counted of one."""

from bmwg.methodology.records import TrialSpec
from bmwg.methodology.trial.pattern import Pattern, between, full_mesh

MESH = full_mesh(4)
ONE_TO_MANY = Pattern(to=between([0], [1, 2, 3], ports=4))
MANY_TO_ONE = Pattern(to=between([0, 1, 2], [3], ports=4))
PARTIAL = Pattern(to=((2, 3), (2, 3), (0, 1), (0, 1)))
BLOCKING = Pattern(to=((2, 3), (3,), (), ()))  # rfc2889-5.5: half of one port's load goes where two go
BROADCAST = Pattern(to=((1, 2, 3), (), (), ()), broadcast=True)
PATTERNS = {
    "mesh": MESH,
    "one to many": ONE_TO_MANY,
    "many to one": MANY_TO_ONE,
    "partial": PARTIAL,
    "blocking": BLOCKING,
    "broadcast": BROADCAST,
}
TRIES = 5  # where a machine may hold the tester up


def trial(pattern, load_fps=20_000, duration_s=0.2, frame_octets=64, **other):
    return TrialSpec(
        frame_octets=frame_octets, load_fps=load_fps, duration_s=duration_s, pattern=pattern, **other
    )


def agrees(result, ports):
    """Hold a trial against what the kernel counted at each port: nothing more, nothing less."""
    told = dict(result.auxiliary)
    for port, stream in zip(ports, result.streams, strict=True):
        came = (
            stream.received_frames + stream.duplicate_frames + stream.corrupt_frames + stream.foreign_frames
        )
        came += (
            stream.flooded_frames + told[f"{port.name}.returned_frames"] + told[f"{port.name}.stale_frames"]
        )
        assert told[f"{port.name}.rx_packets"] == came + told.get(f"{port.name}.queue_rx_dropped", 0)
        assert told[f"{port.name}.tx_packets"] == told[f"{port.name}.sent_frames"]
    return told


def first(run, wanted):
    """Return the first of some trials that is as wanted; None where none is, and the machine is to blame."""
    results = (run() for _ in range(TRIES))
    return next((result for result in results if result is not None and wanted(result)), None)
