"""FD.io CSIT `*.info.json`: NDR and PDR bounds of MLRsearch, or the received rates of an MRR test.

What they are: rates are the sum of both directions. NDR allows no loss and PDR a ratio of 0.005, each in
sums of trials of one second of which half may exceed the limit; frames that were not sent count as lost.
MRR has no loss criterion: it is what arrived at the maximum load. The file names neither duration nor
exceed ratio.
"""

from __future__ import annotations

from collections.abc import Iterator

from bmwg.methodology.records import Direction, Quantity
from bmwg.reports.importers.node import Node, frame_size
from bmwg.reports.importers.records import FILE, KNOWN, ForeignFigure, ForeignTrial

ALLOWED = {"ndr": 0.0, "pdr": 0.005}
TRIAL_S = 1.0
_SETTINGS = "at most half of 21 s of such trials may exceed the limit (known setting of the tool)"


def is_mine(node: Node) -> bool:
    """Whether the file has the form of a CSIT test case."""
    return node.find("dut_type") is not None and node.find("result", "type") is not None


def read(node: Node) -> tuple[str | None, tuple[ForeignFigure, ...], tuple[ForeignTrial, ...]]:
    """Return the model's version and the figures; CSIT keeps no trials."""
    version = node.find("version")
    kind = node.at("result", "type").text()
    figures: tuple[ForeignFigure, ...]
    if kind == "ndrpdr":
        figures = tuple(_bound(node, tag) for tag in ALLOWED)
    elif kind == "mrr":
        figures = tuple(_received(node))
    else:
        figures = ()
    return (f"model {version.text()}" if version else None, figures, ())


def _frames(node: Node) -> tuple[int | None, str]:
    tags = [entry.text() for entry in node.child("tags").entries()]
    sizes = [tag for tag in tags if tag.upper().startswith("IMIX") or (tag[:-1].isdigit() and tag[-1] == "B")]
    return frame_size(sizes[0]) if len(sizes) == 1 else (None, "not in the file")


def _direction(node: Node) -> Direction | None:
    if node.find("result", "latency_reverse"):
        return Direction.BOTH
    return Direction.FORWARD if node.find("result", "latency_forward") else None


def _irregular(node: Node, unit: str) -> str:
    passed = node.find("passed")
    if passed is not None and not passed.flag():
        return "the test case failed"
    return "" if unit == "pps" else f"a rate in {unit} is no frame rate"


def _bound(node: Node, tag: str) -> ForeignFigure:
    lower = node.at("result", tag, "lower", "rate")
    upper = node.find("result", tag, "upper", "rate", "value")
    irregular = _irregular(node, lower.child("unit").text())
    octets, text = _frames(node)
    remarks = [_SETTINGS, "frames that were not sent count as lost"]
    if upper is not None:
        remarks.append(f"upper bound {upper.number(least=0):.0f} frames/s")
    return ForeignFigure(
        source_label=tag.upper(),
        metric="lower bound of a search with a loss limit, MLRsearch",
        load_fps=None if irregular else lower.child("value").number(least=0),
        scope="sum of directions",
        direction=_direction(node),
        frame_octets=octets,
        frame_text=text,
        loss_ratio_allowed=ALLOWED[tag],
        loss_ratio_seen=None,
        trial_duration_s=TRIAL_S,
        sources=(("duration", KNOWN), ("loss limit", KNOWN)),
        latency=tuple(_latency(node)) if tag == "pdr" else (),
        irregular=irregular,
        remarks=tuple(remarks),
    )


def _latency(node: Node) -> Iterator[Quantity]:
    for way in ("forward", "reverse"):
        found = node.find("result", f"latency_{way}")
        for load, entry in found.items() if found else ():
            unit = entry.find("unit")
            if unit is None or unit.text() != "us":
                continue
            for name in ("min", "avg", "max"):
                value = entry.child(name).number(least=0)
                yield Quantity(metric=f"latency.{way}.{load[:20]}.{name}", number=value * 1000, unit="ns")


def _received(node: Node) -> Iterator[ForeignFigure]:
    rate = node.at("result", "receive_rate", "rate")
    irregular = _irregular(node, rate.child("unit").text())
    octets, text = _frames(node)
    values = [entry.number(least=0) for entry in rate.child("values").entries()]
    if not values:
        return
    low, high = min(values), max(values)
    yield ForeignFigure(
        source_label="MRR",
        metric="received rate at the maximum load, mean of trials",
        load_fps=None if irregular else sum(values) / len(values),
        scope="sum of directions",
        direction=None,
        frame_octets=octets,
        frame_text=text,
        loss_ratio_allowed=None,
        loss_ratio_seen=None,
        trial_duration_s=TRIAL_S,
        sources=(("duration", KNOWN), ("loss limit", FILE)),
        irregular=irregular,
        remarks=(
            f"{len(values)} trials, {low:.0f} to {high:.0f} frames/s",
            "no loss criterion: not a throughput",
        ),
    )
