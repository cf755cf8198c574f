"""NFVbench (`nfvbench --json`): NDR and PDR of chains, with every iteration.

What its numbers are: the highest load whose drop share was at most a limit that is not zero (default 0.001
% for NDR), in trials of the configured duration without repeats. Rates are of all directions together. In
its iterations `drop_pct` is a count of packets, and `tx_pps` the rate that was asked for.
"""

from __future__ import annotations

from bmwg.methodology.records import Direction, Quantity, StreamCounts
from bmwg.reports.importers.node import Node, frame_size
from bmwg.reports.importers.records import FILE, KNOWN, ForeignFigure, ForeignTrial

DEFAULT_PERCENT = {"ndr": 0.001, "pdr": 0.1}  # of the tool's default configuration
_SAME = 1e-3  # share by which rates of a figure and of its trial may differ by rounding


def is_mine(node: Node) -> bool:
    """Whether the file has NFVbench's form."""
    return node.find("benchmarks", "network", "service_chain") is not None


def read(node: Node) -> tuple[str | None, tuple[ForeignFigure, ...], tuple[ForeignTrial, ...]]:
    """Return version, figures and trials."""
    version = node.find("nfvbench_version")
    duration = node.find("config", "duration_sec")
    duration_s = duration.number(least=0) if duration else None
    figures: list[ForeignFigure] = []
    trials: list[ForeignTrial] = []
    for chain, entry in node.at("benchmarks", "network", "service_chain").items():
        result = entry.child("result")
        both = result.find("bidirectional")
        direction = None if both is None else Direction.BOTH if both.flag() else Direction.FORWARD
        for size, analysis in result.child("result").items():
            if not isinstance(analysis.data, dict):
                continue  # a warning beside the sizes
            own = _trials(analysis, duration_s, len(trials))
            trials += own
            for tag in ("ndr", "pdr"):
                found = analysis.find(tag)
                if found is not None:
                    limit = node.find("config", "measurement", tag.upper())
                    figures.append(_figure(tag, chain, size, found, direction, limit, duration_s, own))
    return (version.text() if version else None, tuple(figures), tuple(trials))


def _figure(
    tag: str,
    chain: str,
    size: str,
    found: Node,
    direction: Direction | None,
    limit: Node | None,
    duration_s: float | None,
    own: list[ForeignTrial],
) -> ForeignFigure:
    allowed = (limit.number(least=0) if limit else DEFAULT_PERCENT[tag]) / 100
    load = found.child("rate_pps").number(least=0)
    octets, size_text = frame_size(size)
    seen = found.find("stats", "overall", "drop_percentage")
    seen_ratio = seen.number() / 100 if seen else None
    remarks = [f"chain {chain}"]
    irregular = ""
    if load == 0:
        irregular = "the search ended on its floor: no load met the limit"
    elif own and not any(_proves(trial, load, allowed) for trial in own):
        irregular = "no trial in the file met the limit at this load"
    latency = []
    for name in ("avg", "min", "max"):
        value = found.find("stats", "overall", f"{name}_delay_usec")
        if value is not None and value.number() > 0:
            latency.append(Quantity(metric=f"latency.{name}", number=value.number() * 1000, unit="ns"))
        elif value is not None and value.number() < 0:
            remarks.append(f"the {name} delay is negative and left out")
    return ForeignFigure(
        source_label=tag.upper(),
        metric="highest load within a loss limit, binary search, one trial a load",
        load_fps=None if irregular else load,
        scope="sum of directions" if direction is not Direction.FORWARD else "one direction",
        direction=direction,
        frame_octets=octets,
        frame_text=size_text,
        loss_ratio_allowed=allowed,
        loss_ratio_seen=seen_ratio,
        trial_duration_s=duration_s,
        sources=(("duration", FILE), ("loss limit", FILE if limit else KNOWN)),
        latency=tuple(latency),
        irregular=irregular,
        remarks=tuple(remarks),
    )


def _proves(trial: ForeignTrial, load_fps: float, allowed: float) -> bool:
    (stream,) = trial.streams
    near = trial.load_fps is not None and abs(trial.load_fps - load_fps) <= _SAME * load_fps
    return near and stream.sent_frames > 0 and stream.lost_frames <= allowed * stream.sent_frames * (1 + 1e-9)


def _trials(analysis: Node, duration_s: float | None, before: int) -> list[ForeignTrial]:
    listed = analysis.find("iteration_stats", "ndr_pdr")
    made = []
    for number, entry in enumerate(listed.entries() if listed else (), start=before + 1):
        load = entry.child("tx_pps").number(least=0)
        sent, received = entry.child("tx_pkts").count(), entry.child("rx_pkts").count()
        warning = entry.find("warning")
        remarks = [warning.text()] if warning else []
        if received > sent:
            remarks.append("more frames received than sent")
        intended = round(load * duration_s) if duration_s else sent
        if not duration_s:
            remarks.append("the file has no duration: intended frames are those sent")
        made.append(
            ForeignTrial(
                number=number,
                load_fps=load,
                duration_s=duration_s,
                streams=(StreamCounts(intended_frames=intended, sent_frames=sent, received_frames=received),),
                is_sum=True,
                remarks=tuple(remarks),
            )
        )
    return made
