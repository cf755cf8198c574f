"""bench-trafficgen `binary-search.json`: every trial of a search with a separate final validation.

What its number is: the sent rate of the last validation trial that passed, with a loss of at most
`max_loss_pct` (default 0.002 %) in `runtime` seconds, in one or both directions.
"""

from __future__ import annotations

from bmwg.methodology.records import Direction, Quantity, StreamCounts
from bmwg.reports.importers.node import Node, frame_size
from bmwg.reports.importers.records import FILE, ForeignFigure, ForeignTrial

_DIRECTIONS = {
    "bidirectional": Direction.BOTH,
    "unidirectional": Direction.FORWARD,
    "revunidirectional": Direction.REVERSE,
}
_ARROWS = ("->", "<-")  # forward first
_ROUNDED = 1e-9  # of a limit told in percent


def is_mine(node: Node) -> bool:
    """Whether the file has bench-trafficgen's form."""
    listed = node.find("trials")
    if listed is None or not isinstance(listed.data, list):
        return False
    return not listed.data or next(listed.entries()).find("trial_params") is not None


def read(node: Node) -> tuple[str | None, tuple[ForeignFigure, ...], tuple[ForeignTrial, ...]]:
    """Return the figure of the final validation and all trials; the file has no version."""
    entries = list(node.child("trials").entries())
    trials = tuple(_trial(entry) for entry in entries)
    final = [
        (entry, trial)
        for entry, trial in zip(entries, trials, strict=True)
        if entry.at("trial_params", "trial_mode").text() == "validation"
        and entry.child("result").text() == "pass"
    ]
    if not entries:
        return None, (), ()
    entry, trial = final[-1] if final else (entries[-1], trials[-1])
    return None, (_figure(entry, trial, "" if final else "no validation trial passed"),), trials


def _figure(entry: Node, trial: ForeignTrial, irregular: str) -> ForeignFigure:
    params = entry.child("trial_params")
    octets, text = _frames(params)
    sent = sum(stream.sent_frames for stream in trial.streams)
    received = sum(stream.received_frames for stream in trial.streams)
    runtime = params.child("runtime").number(least=0)
    direction = _direction(params)
    generator = params.find("traffic_generator")
    remarks = [f"generator {generator.text()}"] if generator else []
    remarks.append("the load is what was sent, not what was asked for")
    allowed = params.child("max_loss_pct").number(least=0) / 100
    seen = (sent - received) / sent if sent else None
    if not sent or not runtime:
        irregular = irregular or "nothing was sent"
    elif seen is not None and not 0 <= seen <= allowed * (1 + _ROUNDED):
        irregular = irregular or f"a loss of {seen:.5%} is not within the limit of {allowed:.5%}"
    return ForeignFigure(
        source_label=f"binary-search, max_loss_pct {params.child('max_loss_pct').number(least=0):g}",
        metric="sent rate of the last passing validation trial, binary search",
        load_fps=None if irregular else sent / runtime,
        scope="sum of directions" if direction is Direction.BOTH else "one direction",
        direction=direction,
        frame_octets=octets,
        frame_text=text,
        loss_ratio_allowed=allowed,
        loss_ratio_seen=seen,
        trial_duration_s=runtime,
        sources=(("duration", FILE), ("loss limit", FILE)),
        latency=_latency(entry),
        irregular=irregular,
        remarks=tuple(remarks),
    )


def _frames(params: Node) -> tuple[int | None, str]:
    size = params.find("frame_size")
    if size is None:
        return None, "not in the file"
    return frame_size(size.text() if isinstance(size.data, str) else f"{size.number():g}")


def _direction(params: Node) -> Direction | None:
    found = params.find("traffic_direction")
    return _DIRECTIONS.get(found.text()) if found else None


def _trial(entry: Node) -> ForeignTrial:
    params = entry.child("trial_params")
    runtime = params.child("runtime").number(least=0)
    streams = []
    remarks = [f"{params.child('trial_mode').text()}: {entry.child('result').text()}"]
    for arrow in _ARROWS:
        found = entry.find("stats", "directional", arrow)
        if found is None or not found.child("active").flag():
            continue
        sent, received = found.child("tx_packets").count(), found.child("rx_packets").count()
        if received > sent:
            remarks.append("more frames received than sent")
        streams.append(StreamCounts(intended_frames=sent, sent_frames=sent, received_frames=received))
    remarks.append("intended frames are not in the file: those sent stand for them")
    rate, unit = entry.child("rate").number(), entry.child("rate_unit").text()
    remarks.append(f"asked for {rate:g} {unit}")
    total = sum(stream.sent_frames for stream in streams)
    return ForeignTrial(
        number=entry.child("trial").count(),
        load_fps=total / runtime if runtime else None,
        duration_s=runtime,
        streams=tuple(streams),
        is_sum=False,
        remarks=tuple(remarks),
    )


def _latency(entry: Node) -> tuple[Quantity, ...]:
    stats = entry.find("stats")
    made = []
    for port, found in stats.items() if stats else ():
        for ours, theirs in (("avg", "average"), ("min", "minimum"), ("max", "maximum")):
            value = found.find(f"rx_latency_{theirs}")
            if value is not None and value.number() > 0:
                metric = f"latency.port_{port[:20]}.{ours}"
                made.append(Quantity(metric=metric, number=value.number() * 1000, unit="ns"))
    return tuple(made)
