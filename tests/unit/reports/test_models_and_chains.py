"""CPU beside throughput, the figure by networking model, and chains against their length, on made runs."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import made_parts
import pytest
from made_parts import ENVELOPE, LATENCY, TESTBED, THROUGHPUT, Maker, cell, header, result

from bmwg.methodology.records import Bound, OutcomeType, Quantity, Validity
from bmwg.reports.render.facts import facts
from bmwg.reports.render.page.report import write_report
from bmwg.reports.render.plots.option_panels import beside
from bmwg.reports.render.plots.option_plot import _places, option_plot
from bmwg.reports.render.sections.chain_section import chain_plot, series_of
from bmwg.reports.store import RunStore, read_run

GOAL = "conditional_throughput.rfc9971.1f2d0l50e"
BED = {
    **TESTBED,
    "networks": {
        "bridge": {"driver": "cni", "model": "kernel"},
        "ebpf-tc": {"driver": "ebpf-tc", "model": "ebpf"},
        "ovs-dpdk": {"driver": "ovs-dpdk", "model": "user-space"},
    },
}


def used(cpus: float, part: str = "queues", memory_octets: int | None = None) -> dict[str, int]:
    """Return the counts of a part that kept so many CPUs busy for a second."""
    told = {f"host.dut.{part}.cpu_ns": round(cpus * 1e9), f"host.dut.{part}.window_ns": 10**9}
    return told | ({} if memory_octets is None else {f"host.dut.{part}.memory_octets": memory_octets})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with RunStore.create(tmp_path, "one", header(testbed=BED)) as store:
        maker = Maker(store)
        maker.measured(cell("wire"), 1_400_000, 1_600_000, 900)
        maker.measured(cell("pvp", "ebpf-tc"), 500_000, 1_400_000, 7_000, used=used(0.08))
        poller = cell("pvp", "ovs-dpdk", function="testpmd")
        counts = used(0.8, "vswitch", 64 << 20) | {"host.dut.vswitch.polling_cpu_ns": 790_000_000}
        maker.measured(poller, 500_000, 1_400_000, 30_000, used=counts)
        maker.measured(cell("pvp", "bridge"), 400_000, 1_400_000, 9_000, used=used(0.2))
        for chain, capacity in (("a>b", 250_000), ("a>b>c", 160_000)):
            one = cell("chain", "bridge", axes=(("chain", chain),))
            maker.measured(one, capacity, 1_400_000, 15_000, used=used(0.3))
        store.add_deployment("chain-bridge", {"chain": {"activation_s": 1.5, "vswitch_start_s": 0.0}})
        lost = maker.trial(cell("pvp", "bridge", function="testpmd"), 10_000, loss_ratio=0.5, used=used(0.9))
        maker.outcome(
            cell("pvp", "bridge", function="testpmd"),
            THROUGHPUT,
            OutcomeType.AT_FLOOR,
            upper=Bound(load_fps=10_000, trials=(lost,)),
            trials=(lost,),
            reason="made",
        )
        store.add_deployment(
            "pvp-bridge", {"data_plane": {"parts": [], "not_counted": {"cycles": "no counter"}}}
        )
    return store.folder


def _section(page: str, title: str) -> str:
    return page[page.index(f"<h2>{title}</h2>") :].split("<h2>", 2)[1]


def test_as_fast_at_ten_times_the_cpu_shows_beside_the_throughput(folder: Path) -> None:
    told = facts(read_run(folder))
    by_option = {o.cell.network: o for o in told.of_metric(THROUGHPUT) if o.cell.path == "pvp" and o.lower}
    slow, fast = told.use(by_option["ovs-dpdk"]), told.use(by_option["ebpf-tc"])
    assert slow is not None
    assert fast is not None
    assert by_option["ovs-dpdk"].lower.load_fps == by_option["ebpf-tc"].lower.load_fps
    assert slow.cpus == pytest.approx(10 * fast.cpus)
    page = write_report(folder).read_text(encoding="utf-8")
    assert "0.80\u00a0CPUs" in page[page.index("no longer holds") : page.index('id="state-of-the-run"')]
    section = _section(page, "CPU and memory of the data plane")
    for words in ("polling threads 0.79", "vSwitch 64.0\u00a0MiB", "no counter", "all 1 trial of its search"):
        assert words in section
    assert section.index("ebpf-tc") > 0


def test_what_a_conditional_throughput_took_is_told_with_what_the_times_are(tmp_path: Path) -> None:
    """The default profile finds no other, and names CPUs on its first page; trials of its load may lose."""
    with RunStore.create(tmp_path, "one", header(testbed=BED)) as store:
        maker, one = Maker(store), cell("pvp", "bridge")
        seqs = tuple(maker.trial(one, 400_000, loss_ratio=loss, used=used(0.2)) for loss in (0.0, 0.1))
        bound = Bound(load_fps=400_000, trials=seqs)
        number = Quantity(metric=GOAL, number=400_000, unit="frames/s")
        maker.outcome(one, GOAL, OutcomeType.MEASURED, values=(number,), lower=bound, trials=seqs)
    section = _section(
        write_report(store.folder).read_text(encoding="utf-8"), "CPU and memory of the data plane"
    )
    assert "2 trials at 400,000\u00a0frames/s, which held" in section
    assert "the readings enclose more than the time of sending" in section


def test_a_run_without_counts_has_no_such_section(tmp_path: Path) -> None:
    with RunStore.create(tmp_path, "old", header()) as store:
        Maker(store).measured(cell("pvp", "bridge"), 400_000, 1_400_000)
    page = write_report(store.folder).read_text(encoding="utf-8")
    assert "CPU and memory of the data plane" not in page
    assert "data plane at that throughput" not in page
    assert "CPUs in use" not in page
    assert "<h2>Chains</h2>" not in page


def test_rows_stand_by_model_in_the_drafts_order(folder: Path) -> None:
    told = facts(read_run(folder))
    models = [told.model(outcome.cell) for outcome in told.at_a_glance()]
    assert list(dict.fromkeys(models)) == ["", "kernel", "user-space", "ebpf"]
    plot = option_plot(told)
    assert plot is not None
    assert plot.title == "Throughput and latency of each option by networking model at 64 octets"
    for words in ("model kernel", "model user-space", "model ebpf", "7\u00a0µs"):
        assert words in plot.svg


def test_an_option_that_the_file_lacks_is_not_said_to_be_without_a_network(tmp_path: Path) -> None:
    with RunStore.create(tmp_path, "lacking", header(testbed=BED)) as store:
        maker = Maker(store)
        maker.measured(cell("node"), 600_000, 1_600_000)
        maker.measured(cell("pvp", "bridge"), 400_000, 1_400_000)
        maker.measured(cell("p2p", "cilium"), 300_000, 1_400_000)
    plot = option_plot(facts(read_run(store.folder)))
    assert plot is not None
    headings = ["no container network", "model kernel", "not configured in this testbed"]
    assert sorted(headings, key=plot.svg.index) == headings


def test_a_run_of_one_model_has_no_headings() -> None:
    assert _places(["", "kernel", "kernel"]) == ([0.0, 1.0, 2.0], [])
    places, headings = _places(["", "kernel", "ebpf"])
    assert places == [1.0, 3.0, 5.0]
    assert headings == [(0.0, ""), (2.0, "kernel"), (4.0, "ebpf")]


def test_marks_beside_a_row_say_no_more_than_the_run(folder: Path) -> None:
    told = facts(read_run(folder))
    (floor,) = (o for o in told.of_metric(THROUGHPUT) if o.type is OutcomeType.AT_FLOOR)
    one = beside(told, floor)
    assert (one.at_load, one.cpus, one.latency_ns) == (False, pytest.approx(0.9), ())
    (kernel,) = (
        o
        for o in told.of_metric(THROUGHPUT)
        if o.cell.network == "bridge" and o.lower and o.cell.path == "pvp"
    )
    assert beside(told, kernel).at_load
    (latency,) = (o for o in told.of_metric(LATENCY) if o.cell == kernel.cell)
    values = {value.metric.rpartition(".")[2]: value.number for value in latency.values}
    assert beside(told, kernel).latency_ns == (("", values["p50"], values["p99"]),)


def test_chains_stand_against_their_length_with_pvp_as_the_first(folder: Path) -> None:
    told = facts(read_run(folder))
    ((_, points),) = series_of(told).items()
    assert [(number, outcome.cell.path) for number, outcome in points] == [
        (1, "pvp"),
        (2, "chain"),
        (3, "chain"),
    ]
    plot = chain_plot(told)
    assert plot is not None
    page = write_report(folder).read_text(encoding="utf-8")
    section = _section(page, "Chains")
    assert "chain bridge of 3 functions" in section
    assert section.count("not above the shorter chain") == 2
    assert "1.50\u00a0s" in section


def test_a_chain_that_would_be_faster_than_a_shorter_one_is_called_wrong(tmp_path: Path) -> None:
    with RunStore.create(tmp_path, "odd", header(testbed=BED)) as store:
        maker = Maker(store)
        maker.measured(cell("pvp", "bridge"), 200_000, 1_400_000)
        maker.measured(cell("chain", "bridge", axes=(("chain", "a>b"),)), 300_000, 1_400_000)
    page = write_report(store.folder).read_text(encoding="utf-8")
    assert re.search("one of both\\s+answers is wrong", page)


def test_conditional_throughputs_make_up_chains_effects_and_matrices_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Indicative profiles find throughput by RFC 9971 alone: a run with `factors` once had no effects."""
    monkeypatch.setattr(made_parts, "search_metric", lambda one: ENVELOPE if one.qualifies_tester else GOAL)
    with RunStore.create(tmp_path, "one", header(testbed=BED)) as store:
        maker = Maker(store)
        maker.measured(cell("wire"), 1_400_000, 1_600_000)
        for replicate in (1, 2, 3):
            for chain, capacity in (("a", 400_000 + replicate), ("a>b", 200_000 - replicate)):
                axes = (("chain", chain), ("replicate", replicate))
                maker.measured(cell("chain", "bridge", axes=axes), capacity, 1_400_000)
    page = write_report(store.folder).read_text(encoding="utf-8")
    condition = "at that load at most 50 % may lose a frame"
    chains, effects = _section(page, "Chains"), _section(page, "Effects of factors")
    assert chains.count("not above the shorter chain") == 3
    assert "6 answers are plain numbers" in effects
    assert "moved the figure" in effects
    assert condition in chains.replace("\u00a0", " ")
    assert condition in effects.replace("\u00a0", " ")
    matrices = (store.folder / "report-matrices.html").read_text(encoding="utf-8")
    assert re.search(r"octets: throughput \d", matrices)
    assert condition in matrices.replace("\u00a0", " ")


def test_a_recovery_stands_beside_the_throughput_that_was_overloaded(tmp_path: Path) -> None:
    """Two searches of a cell may find two: 110 % of 788,046 is 866,851, and no share of 797,057."""
    metric = "system_recovery.rfc2544_26_5"
    with RunStore.create(tmp_path, "one", header(testbed=BED)) as store:
        maker, one = Maker(store), cell("pvp", "bridge")
        for name, load in ((THROUGHPUT, 797_057), (GOAL, 788_046)):
            seq = maker.trial(one, load, metric=name)
            number = Quantity(metric=name, number=load, unit="frames/s")
            bound = Bound(load_fps=load, trials=(seq,))
            maker.outcome(one, name, OutcomeType.MEASURED, values=(number,), lower=bound, trials=(seq,))
        sent = result(one, 866_851)
        seq = store.append_trial(
            cell_id=one.cell_id,
            deployment_id="pvp-bridge",
            metric=metric,
            test_id="R2544-REC-1.1",
            phase="repetition 1",
            result=replace(sent, spec=replace(sent.spec, then_load_fps=433_425, then_duration_s=0.2)),
            validity=Validity.VALID,
        )
        number = Quantity(metric=metric, number=1.0, unit="ms")
        maker.outcome(one, metric, OutcomeType.MEASURED, values=(number,), trials=(seq,))
    page = write_report(store.folder).read_text(encoding="utf-8")
    section = _section(page, "System recovery (RFC 2544 26.5)")
    assert "788,046" in section
    assert "797,057" not in section
