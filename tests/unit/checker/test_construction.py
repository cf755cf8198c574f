"""What holds by construction: the code can do no other, and here it is shown."""

from __future__ import annotations

from pathlib import Path

import runs

from bmwg.methodology.benchmarks import frame_loss
from bmwg.methodology.requirements.rows import requirement
from bmwg.reports.checker.table import RULES
from bmwg.reports.render.facts import facts
from bmwg.reports.render.plots.frame_loss_plot import frame_loss_plot
from bmwg.reports.store import read_run
from bmwg.schemas import load


def test_no_rule_rests_on_appendix_a():
    for one in RULES:
        row = requirement(one.requirement)
        assert row.document != "RFC2544" or row.section == "A" or not row.section.startswith("A")


def test_a_testbed_has_two_tester_ports_or_more():
    ports = load("testbed")["properties"]["tester"]["properties"]["ports"]
    assert (ports["minItems"], ports["maxItems"]) == (2, 8)


def test_the_curve_has_the_axes_of_section_26_3(monkeypatch):
    drawn = []
    monkeypatch.setattr(
        "bmwg.reports.render.plots.frame_loss_plot.draw_plot", lambda *a: drawn.append((a[2], a[4])) or None
    )
    for medium, x in (({}, frame_loss.OF_HIGHEST.x), (runs.MEDIUM, frame_loss.OF_THEORETICAL.x)):
        evidence = runs.run(runs.LOSS, testbed=medium)()
        frame_loss_plot(facts(read_run(Path(evidence.files.where))))
        said = {}
        _, draw = drawn[-1]
        draw(_Figure(said))
        assert said["xlabel"] == x
        assert said["ylabel"] == "frames lost, %"
        assert said["xlim"] == said["ylim"] == (0, 100)


class _Axes:
    """Takes what a plot says of its axes."""

    def __init__(self, said):
        self._said = said

    def set(self, **said):
        self._said.update(said)

    def __getattr__(self, name):
        return lambda *a, **k: None


class _Figure:
    def __init__(self, said):
        self._said = said

    def subplots(self):
        return _Axes(self._said)
