"""Answers through translated machines have figures of their own: none stands beside a native one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from made_parts import TESTBED, THROUGHPUT, Maker, cell, header

from bmwg.methodology.records import VM
from bmwg.reports.render.facts import facts
from bmwg.reports.render.forms.rst import restructured
from bmwg.reports.render.page.report import write_report
from bmwg.reports.render.plots.drawing import TRANSLATED, Plot
from bmwg.reports.render.plots.plots import plots
from bmwg.reports.render.sections.factor_section import section
from bmwg.reports.store import RunStore, read_run

SIZES = (64, 1518)


def mixed(results: Path, accelerator: str, **changes: object) -> Path:
    """A run with the wire, a node and a pod natively, and with a machine that forwards."""
    with RunStore.create(results, "mixed", header(testbed=TESTBED, **changes)) as store:
        maker = Maker(store)
        for octets in SIZES:
            for one, capacity in (
                (cell("wire", octets=octets), 1_400_000),
                (cell("node", octets=octets), 600_000),
                (cell("pvp", "bridge", octets=octets), 400_000),
                (cell("pvp-vm", octets=octets, function="kernel-l3", hosting=VM), 4_000),
            ):
                maker.measured(one, capacity, 1_600_000, 900)
        store.add_deployment("pvp-vm-none", {"machine": {"kind": "openstack", "accelerator": accelerator}})
    return store.folder


def drawn(folder: Path) -> dict[str, Plot]:
    return {plot.name: plot for plot in plots(facts(read_run(folder)))}


@pytest.mark.parametrize("name", ["throughput", "options", "latency", "search"])
def test_no_figure_has_a_native_answer_beside_a_translated_one(tmp_path: Path, name: str) -> None:
    found = drawn(mixed(tmp_path, "tcg"))
    native, machines = found[name], found[name + TRANSLATED]
    assert "pvp bridge" in native.svg
    assert "pvp-vm" not in native.svg
    assert "TCG" not in native.title
    assert "pvp-vm" in machines.svg
    assert not re.search("bridge|wire|node,", machines.svg.split("<desc", 1)[1].split("</desc>", 1)[1])
    assert machines.title.endswith("(machines under TCG)")


def test_machines_of_kvm_stand_with_the_others(tmp_path: Path) -> None:
    found = drawn(mixed(tmp_path, "kvm"))
    assert not [name for name in found if name.endswith(TRANSLATED)]
    assert "pvp-vm" in found["options"].svg


def test_what_nobody_told_is_held_for_translated(tmp_path: Path) -> None:
    found = drawn(mixed(tmp_path, ""))
    assert "an accelerator not recorded" in found["options" + TRANSLATED].title


def test_the_page_shows_both_and_no_identifier_twice(tmp_path: Path) -> None:
    page = write_report(mixed(tmp_path, "tcg")).read_text(encoding="utf-8")
    assert page.index('id="options-t"') < page.index('id="options-translated-t"')
    ids = re.findall(r'\sid="([^"]+)"', page)
    assert len(ids) == len(set(ids))
    for used in re.findall(r'(?:url\(#|xlink:href="#)([^)"]+)', page):
        assert used in ids


def test_a_translated_answer_takes_no_part_in_a_design_of_native_ones(tmp_path: Path) -> None:
    with RunStore.create(tmp_path, "design", header(testbed=TESTBED)) as store:
        maker = Maker(store)
        for replicate in (1, 2, 3):
            for path, network, capacity, hosting in (
                ("pvp", "bridge", 400_000, "pod"),
                ("pvp", "ptp", 300_000, "pod"),
                ("pvp-vm", "none", 4_000, VM),
            ):
                one = cell(path, network, hosting=hosting, axes=(("replicate", replicate),))
                maker.measured(one, capacity + replicate, 1_600_000, 900)
        store.add_deployment("pvp-vm-none", {"machine": {"accelerator": "tcg"}})
    told = facts(read_run(store.folder))
    assert len(told.of_metric(THROUGHPUT)) == 9
    page = restructured(section(told, [])).replace("\\", "")
    assert "3 answers through machines under TCG take no part" in page
    assert "6 answers are plain numbers" in page
    assert "vm" not in page.split("take no part")[0]
