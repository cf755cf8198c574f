"""A named physical device beside numbers of functions and CPUs that carry the same, or the limit reached."""

from __future__ import annotations

from bmwg.methodology.factors import physical
from bmwg.reports.render import searches
from bmwg.reports.render.blocks import Block, paragraph, table, title
from bmwg.reports.render.facts import Facts, option
from bmwg.reports.render.text import unit

_HEAD = ("path and option", "what is counted", "tried", "what equals the device")
_CARRIES = {True: "carries it", False: "does not", None: "not decided"}


def section(facts: Facts) -> list[Block]:
    """Return the section; nothing for a profile that names no device. Native answers alone are held to it."""
    device = physical.device_of(facts.run.profile)
    if device is None:
        return []
    native, _ = facts.by_translation()
    found = physical.against(device, native.of_devices())
    figure = f"{unit(device.throughput_fps, 'frames/s')} per port and direction without loss"
    said = (
        f"The profile names a physical device: {device.name}, {figure} at "
        f"{unit(device.frame_octets, 'octets')}, as told by {device.source}. It was not measured here. A "
        "number carries it where its lower bound is as high, and does not where its upper bound is no "
        f"higher. {searches.conditions(one.outcome for series in found for one in series.tried)}"
    ).rstrip()
    lines = [*title("Beside a physical device"), *paragraph(said)]
    if not found:
        return [
            *lines,
            *paragraph(
                "No answer of this run varies functions beside each other, or CPUs of a pod, at that size."
            ),
        ]
    rows = [
        [
            option(series.alike),
            series.way,
            ", ".join(f"{each.number}: {_CARRIES[each.carries]}" for each in series.tried),
            _words(series),
        ]
        for series in found
    ]
    return [*lines, *table(_HEAD, rows, "Numbers that carry what the physical device does")]


def _words(one: physical.Series) -> str:
    undecided = f"; of {', '.join(map(str, one.open_below))} it is not decided" if one.open_below else ""
    if (smallest := one.smallest) is not None:
        return f"{smallest.number}{undecided}"
    most = one.most
    if most is None or most.outcome.lower is None:
        return f"none of those tried, and nothing was carried without loss{undecided}"
    seen = unit(most.outcome.lower.load_fps, "frames/s")
    return f"none of those tried: the limit reached is {seen}, with {most.number}{undecided}"
