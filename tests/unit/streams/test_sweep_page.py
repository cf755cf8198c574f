"""A sweep's part of the report: forms against native, document 004's table beside."""

from __future__ import annotations

import re
from dataclasses import replace
from html import unescape
from types import MappingProxyType, SimpleNamespace
from typing import Any

import pytest

from bmwg.methodology.kinds.streams.curves import Beside
from bmwg.methodology.kinds.streams.kind import STREAMS
from bmwg.methodology.kinds.streams.profile import PROFILES
from bmwg.methodology.kinds.streams.records import Crossing, StreamsResult
from bmwg.methodology.record import booted
from bmwg.methodology.record.booted import Booted, Counted
from bmwg.methodology.records import BAREMETAL, GUEST, GUESTS, REDIRECTED, UNIKERNEL
from bmwg.reports.kinds.repeated.answers import Answered
from bmwg.reports.kinds.streams import places, sweeps, turns
from bmwg.reports.render.blocks import paragraph
from bmwg.reports.render.forms.rst import restructured
from bmwg.reports.render.plots.drawing import draw_plot
from bmwg.reports.render.text import percent

PLAN = [one for one in PROFILES.load("quick").plan() if one.test_id == "SK-TCP-4"]
IN_STEPS = [one for one in PROFILES.load("chen").plan() if one.test_id == "SK-TCP-4"]
FASTER = {BAREMETAL: 1.0, "docker": 0.9, "podman": 0.8}
CPU_PERMILLE = {BAREMETAL: 200, GUEST: 100, REDIRECTED: 100, "docker": 100, "podman": 160, UNIKERNEL: 100}
MACHINE = {
    "accelerator": "tcg",
    "qemu": "7.2.22",
    "cpus": 1,
    "process_cpus": "1",
    "memory_octets": 256 << 20,
    "resident_octets_after_boot": 124 << 20,
    "boot_s": 6.191,
    "boot_ends": "the asking node sees its first server listen",
    "boots": {"image": {"file": "small.raw", "octets": 34131456, "sha256": "0" * 64}},
    booted.KEY: Booted(
        parts={booted.DISK: {Counted.LENGTH: 34_131_456, Counted.ALLOCATED: 20_480}}
    ).as_builtins(),
}


LIMITS = {"cpuset_cpus": "0", "cpu_shares": 1024, "memory_limit_octets": 256 << 20}
DEPLOYMENT = {
    "native_programs": {"client": LIMITS, "server": {**LIMITS, "cpuset_cpus": "1"}},
    "hops": [{"at": "dut2/under0", "what": "the server's host"}],
}
ROOT = {booted.KEY: booted.ROOT_OF_ITS_NODE.as_builtins()}
POD = {"start_s": 0.4, "start_ends": "its container runs", "endpoints": [{"pod": ROOT}]}


def answered(planned, faster=FASTER) -> Answered:
    tried, results = [], []
    for number in range(1, planned.asked.wanted + 1):
        octets = int(125_000_000 * faster[planned.cell.hosting] * (1 + number / 1000))
        result = StreamsResult(
            sent_octets=octets,
            received_octets=octets,
            elapsed_ns=1_000_000_000,
            process_ns=1_100_000_000,
            wall_ns=1_200_000_000,
            effective={
                "send_buffer_octets": 4608,
                "answering_cpu_permille": CPU_PERMILLE[planned.cell.hosting],
            },
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


def page(machine=None, profile=MappingProxyType({})) -> str:
    faster = FASTER | ({UNIKERNEL: 0.1} if machine else {})
    answers = [answered(one, faster) for one in PLAN if one.cell.hosting in faster]
    assert all(one.measured for one in answers), [one.outcome for one in answers][:1]
    deployments = {form: dict(DEPLOYMENT) for form in faster}
    deployments[BAREMETAL][booted.KEY] = booted.NATIVE.as_builtins()
    deployments["docker"] |= POD
    deployments |= {UNIKERNEL: {**DEPLOYMENT, "machine": machine}} if machine else {}
    run = SimpleNamespace(platform={"deployments": deployments}, profile=profile)
    return restructured(sweeps.lines(run, "socket_sizes", answers, lambda name: [])).replace("\\", "")


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


def test_the_published_page_has_the_table_where_native_has_a_number(monkeypatch) -> None:
    def published(*forms: str) -> list:
        answers = [answered(one) for one in PLAN if one.cell.hosting in forms]
        monkeypatch.setattr(sweeps, "answers_of", lambda run, kind: answers)
        run = SimpleNamespace(platform={"deployments": dict.fromkeys(forms, DEPLOYMENT)}, profile={})
        return sweeps.published(run)

    table = rows(restructured(published(BAREMETAL, "docker")).replace("\\", ""))
    assert any("docker" in row and "0.889" in row and "0.900" in row for row in table), table
    assert published("docker") == []
    assert published(BAREMETAL) == []


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


def test_the_places_of_both_ends_are_told_with_their_limits() -> None:
    text = " ".join(page().split())
    assert "native, CPU 0, shares 1024, memory 256 MiB, a cgroup of its own" in text
    assert "native, CPU 1, shares 1024, memory 256 MiB, a cgroup of its own" in text


def test_goodput_per_cpu_time_stands_beside_ratios_of_a_machine_that_gave_unlike_shares() -> None:
    assert "from 10\u00a0% to 20\u00a0% of its CPU" in " ".join(page().split(" "))
    table = rows(page()[page().index("Goodput per second of CPU time") :])
    assert any("1.800" in row and "1.000" in row for row in table), table  # 0.9 / 0.5 and 0.8 / 0.8


def test_a_machine_under_tcg_has_numbers_and_no_ratio() -> None:
    text = page(MACHINE)
    flat = " ".join(text.split())
    assert "unikernel under TCG, Mbit/s" in flat
    assert "unikernel under TCG : native" not in flat
    assert "ran under TCG, which translates its instructions" in flat
    assert "image small.raw, no agent in it" in flat
    assert "unikernel under TCG - disk image - 34,131,456 - 20,480 - 6.2 s - the asking node sees" in flat
    assert "native - none: the root of its host - — - — - — - nothing starts before the program" in flat
    assert "docker - none: the root of its node, read-only - — - — - 0.400 s - its container runs" in flat
    areas = text[text.index("Signed area between each curve") :]
    assert "unikernel" not in areas
    assert "docker" in areas


def test_a_unikernel_behind_redirected_ports_is_named_so() -> None:
    behind = {"backend": "user-mode network", "redirected_ports": [5201]}
    flat = " ".join(page({**MACHINE, "nics": [behind]}).split())
    assert "unikernel, redirected ports under TCG, Mbit/s" in flat
    assert "unikernel, redirected" not in " ".join(page({**MACHINE, "nics": [{"backend": "tap"}]}).split())


@pytest.mark.parametrize(
    ("form", "nic"),
    [
        ("unikernel", {"backend": "tap"}),
        ("unikernel, redirected ports", {"backend": "user-mode network", "redirected_ports": [5201]}),
    ],
)
def test_a_machine_under_kvm_is_held_against_native_and_the_document(form, nic) -> None:
    flat = " ".join(page({**MACHINE, "accelerator": "kvm", "nics": [nic]}).split())
    assert f"{form} under KVM : native" in flat
    assert "translates its instructions" not in flat
    table = rows(flat[flat.index("Ratios to native at 100 octets") :])
    assert any(f"osv - 1.120 - {form} under KVM - 0.100" in row for row in table), table


def test_where_forms_took_turns_a_ratio_is_of_executions_of_the_same_block() -> None:
    text = page(profile=PROFILES.load("quick").data)
    flat = " ".join(text.split())
    assert "Forms took turns" in flat
    assert "0.900 (0.900 to 0.900, 5 blocks; lower)" in flat
    table = rows(text[text.index("Goodput per second of CPU time") :])
    assert any("1.800 (1.800 to 1.800, 5 blocks; higher)" in row for row in table), table
    assert "Forms were measured one after the other" not in flat


def test_a_ratio_is_not_of_the_means_where_a_block_was_lost() -> None:
    """Native lacks the block in which the machine was slow: the mean of the form has it, no ratio does."""
    slow = {1: 0.5}
    native, docker = (
        answered(next(one for one in PLAN if one.cell.hosting == form)) for form in (BAREMETAL, "docker")
    )

    def changed(one, without=()):
        by_number = {
            number: replace(result, received_octets=int(125_000_000 * slow.get(number, 1.0)))
            for number, result in one.by_number.items()
            if number not in without
        }
        return replace(one, by_number=by_number, results=tuple(by_number.values()))

    found = turns.within_blocks(changed(docker), changed(native, without={1}), sweeps._goodput)
    assert found is not None
    assert (found.ratio, found.blocks) == (pytest.approx(1.0), 4)


def test_no_machine_under_tcg_is_in_a_plot() -> None:
    faster = FASTER | {UNIKERNEL: 0.1}
    answers = [answered(one, faster) for one in PLAN if one.cell.hosting in faster]
    run = SimpleNamespace(platform={"deployments": {UNIKERNEL: {"machine": MACHINE}}}, profile={})
    assert "unikernel under TCG" in sweeps.curves(run, answers)
    plotted = [one for one in answers if not places.translated(run, one)]
    assert UNIKERNEL not in {one.outcome.cell.hosting for one in plotted}
    assert {one.outcome.cell.hosting for one in plotted} == set(FASTER)


@pytest.mark.parametrize(("ratio", "said"), [(0.1, "10"), (1.0, "100"), (0.204, "20"), (0.0, "0")])
def test_whole_percents_keep_their_zeros(ratio, said) -> None:
    assert percent(ratio, 0) == f"{said}\u00a0%"


def guest_page(accelerator: str, form: str = GUEST) -> str:
    """Native beside a server in a guest."""
    faster = {BAREMETAL: 1.0, form: 0.5}
    vm = {"accelerator": accelerator, "qemu": "7.2.22", "cpus": 2, "memory_octets": 1 << 30, "boot_s": 8.04}
    parts = {booted.KERNEL: {Counted.LENGTH: 43_000_000}, booted.INITRAMFS: {Counted.LENGTH: 1}}
    vm[booted.KEY] = Booted(parts=parts, besides="its root").as_builtins()
    inside = {"native_programs": {"client": LIMITS, "server": {**LIMITS, "cpuset_cpus": "1"}}}
    guest = {**inside, "machines": {"vm1": {**vm, "vnic": {"kind": "virtio"}}}}
    run = SimpleNamespace(
        platform={"deployments": {BAREMETAL: DEPLOYMENT, form: guest}}, profile=PROFILES.load("guests").data
    )
    answers = [answered(one, faster) for one in IN_STEPS if one.cell.hosting in faster]
    lines = sweeps.lines(run, "socket_sizes", answers, lambda name: paragraph(f"figure {name}"))
    return " ".join(restructured(lines).replace("\\", "").split())


@pytest.mark.parametrize("form", GUESTS)
def test_a_guest_under_tcg_stands_beside_native_in_no_ratio_and_no_plot(form) -> None:
    text = guest_page("tcg", form)
    assert f"{form} under TCG, Mbit/s" in text
    assert f"{form} under TCG : native" not in text
    assert "ran under TCG, which translates its instructions" in text
    assert "guest of QEMU 7.2.22 under TCG, 2 CPUs in it" in text
    assert f"{form} under TCG - kernel and initramfs; not counted: its root - 43,000,001" in text
    assert "- 8.0 s - our agent in it answers" in text
    assert "Signed area" not in text
    assert "figure" not in text.replace("place in the figure", "").replace("its figures", "")


@pytest.mark.parametrize("form", GUESTS)
def test_a_guest_under_kvm_is_held_against_native_of_the_same_block_and_the_document(form) -> None:
    text = guest_page("kvm", form)
    assert f"{form} under KVM : native" in text
    assert f"* - kvm - 0.691 - {form} under KVM - 0.500" in text
    assert "0.500 (0.500 to 0.500, 5 blocks; lower)" in text
    assert "figure streams-socket-sizes" in text
