"""A sweep's part of the report: forms against native, document 004's table beside."""

from __future__ import annotations

import re
from dataclasses import replace
from html import unescape
from types import SimpleNamespace
from typing import Any

from bmwg.methodology.kinds.streams.curves import Beside
from bmwg.methodology.kinds.streams.kind import STREAMS
from bmwg.methodology.kinds.streams.profile import PROFILES
from bmwg.methodology.kinds.streams.records import Crossing, StreamsResult
from bmwg.methodology.records import BAREMETAL
from bmwg.reports.render.drawing import draw_plot
from bmwg.reports.repeated.answers import Answered
from bmwg.reports.streams import sweeps

PLAN = [one for one in PROFILES.load("quick").plan() if one.test_id == "SK-TCP-4"]
FASTER = {BAREMETAL: 1.0, "docker": 0.9, "podman": 0.8}


def answered(planned) -> Answered:
    tried, results = [], []
    for number in range(1, planned.asked.wanted + 1):
        octets = int(125_000_000 * FASTER[planned.cell.hosting] * (1 + number / 1000))
        result = StreamsResult(
            sent_octets=octets,
            received_octets=octets,
            elapsed_ns=1_000_000_000,
            process_ns=1_100_000_000,
            wall_ns=1_200_000_000,
            effective={"send_buffer_octets": 4608},
            crossings=(Crossing(at="dut1/nic0", octets=2 * octets, frames=octets // 1000),),
        )
        tried.append(STREAMS.tried(number, replace(planned.spec, number=number), result))
        results.append(result)
    return Answered(
        outcome=STREAMS.answered(planned, tried),
        planned=planned,
        results=tuple(results),
        deployment=planned.cell.hosting,
        by_number=dict(enumerate(results, 1)),
    )


def page() -> str:
    answers = [answered(one) for one in PLAN if one.cell.hosting in FASTER]
    assert all(one.measured for one in answers), [one.outcome for one in answers][:1]
    deployments = {form: {"native_programs": {"client": {}}} for form in FASTER}
    run = SimpleNamespace(platform={"deployments": deployments})
    return "\n".join(sweeps.lines(run, "socket_sizes", answers, lambda name: [])).replace("\\", "")


def rows(text: str) -> list[str]:
    """The rows of a list-table, each in one line."""
    return [" ".join(part.split()) for part in text.split("* - ")]


def test_the_page_holds_the_documents_table_beside_ours() -> None:
    text = page()
    assert "What the document did not see" in text
    table = rows(text[text.index("Ratios to native at 100 octets") :])
    assert any("docker" in row and "0.889" in row and "0.900" in row for row in table), table
    assert any("kvm" in row and "0.691" in row for row in table), table
    assert any("osv" in row and "1.120" in row for row in table), table


def drawn_words(svg: str) -> list[str]:
    return [unescape(one) for one in re.findall(r"<text[^>]*>([^<]*)</text>", svg)]


def test_the_chart_names_sizes_in_digits_with_room_between_them() -> None:
    sizes = (100, 1100, 8192, 65536, 119172, 131072)
    plot = sweeps._plot(
        "socket_sizes", {"docker": Beside(ratios=dict.fromkeys(sizes, 0.5), area=1.0, mean_excess=0.1)}
    )
    words = drawn_words(plot.svg)
    assert [one for one in words if "$" in one or "\\" in one] == []
    assert [one for one in words if one.replace(",", "").isdigit()] == [
        "100",
        "1,100",
        "8,192",
        "131,072",
    ]


def test_a_logarithmic_axis_that_nobody_named_has_digits_too() -> None:
    def draw(figure: Any) -> None:
        axes = figure.subplots()
        axes.plot([1, 20_000], [0.01, 5])
        axes.set(xscale="log", yscale="log")

    words = drawn_words(draw_plot("plain", "title", "description", (4, 3), draw).svg)
    assert {"1", "100", "10,000"} <= set(words)
    assert [one for one in words if "$" in one or "{" in one] == []
