"""A testbed's topology as text and as SVG: each place, port and link once, in documents that parse."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

from bmwg.drivers.testbed.file import load_testbed
from bmwg.resources.lab.sketch import as_svg, as_text

ROOT = Path(__file__).resolve().parents[3]
FILES = sorted((ROOT / "testbeds").glob("*.yaml"))
_SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_shipped_testbed_is_drawn_with_all_its_places_ports_and_links(file: Path) -> None:
    testbed = load_testbed(file)
    drawn = ElementTree.fromstring(as_svg(testbed))
    assert len(drawn.findall(f"{_SVG}rect")) == 1 + len(testbed.nodes)
    assert len(drawn.findall(f"{_SVG}path")) == len(testbed.links)
    words = [element.text or "" for element in drawn.iter(f"{_SVG}text")]
    for link in testbed.links:
        assert {link.a.interface, link.b.interface} <= set(words)
    text = as_text(testbed)
    assert text.count("---") == 2 * len(testbed.links)
    assert all(f"\n{node.name} (" in text for node in testbed.nodes)


def test_lines_end_at_the_ports_that_they_join() -> None:
    testbed = load_testbed(ROOT / "testbeds" / "guest-pci.yaml")
    text = as_text(testbed)
    assert "eth2             ---cable---  dut1/eth0" in text
    assert "eth4             ---cable---  tester/eth5" in text
    assert "1344000 bit/s" in text
