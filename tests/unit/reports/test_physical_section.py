"""The report on a physical device beside numbers of functions: the number that equals it, or the limit."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from made_parts import PROFILE, Maker, cell, header

from bmwg.reports.render.page.report import write_report
from bmwg.reports.store import RunStore

DEVICE = {"name": "router A", "source": "its data sheet, page 3", "frame_octets": 64}


def told(results: Path, name: str, **device: Any) -> str:
    profile = {**PROFILE, **({"physical_device": {**DEVICE, **device}} if device else {})}
    with RunStore.create(results, name, header(profile=profile)) as store:
        maker = Maker(store)
        maker.measured(cell("pvp", "ptp"), 150_000, 1_400_000)
        maker.measured(cell("parallel", "ptp", axes=(("chains", "a+b"),)), 320_000, 1_400_000)
    page = write_report(store.folder).read_text(encoding="utf-8")
    title = "<h2>Beside a physical device</h2>"
    if title not in page:
        return ""
    section = re.sub(r"<[^>]+>", " ", page[page.index(title) + len(title) :].split("<h2>", 1)[0])
    return re.sub(r"\s+", " ", section)


def test_the_number_that_equals_the_device_stands_there(tmp_path: Path) -> None:
    section = told(tmp_path, "one", throughput_fps=300_000)
    assert "router A, 300,000 frames/s per port and direction without loss at 64 octets" in section
    assert "It was not measured here" in section
    assert "functions beside each other 1: does not, 2: carries it 2" in section


def test_the_limit_stands_there_where_none_does(tmp_path: Path) -> None:
    section = told(tmp_path, "two", throughput_fps=900_000)
    assert re.search(r"the limit reached is 3[0-2]\d,\d{3} frames/s, with 2", section), section


def test_a_profile_that_names_none_has_no_section(tmp_path: Path) -> None:
    assert told(tmp_path, "none") == ""
