"""The rules of RFC 2544 26.3 to 26.6 on a run that kept the text and on one that did not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import documents_run
import pytest
from document_changes import benchmark, outcomes, same, streams, values
from test_clauses import run

from bmwg.methodology.benchmarks import back_to_back, recovery
from bmwg.methodology.benchmarks.frame_loss import METRIC as LOSS
from bmwg.methodology.records import OutcomeType, Quantity
from bmwg.methodology.requirements import requirement
from bmwg.reports.checker.clauses_others import RULES
from bmwg.reports.checker.documents import scope_of
from bmwg.reports.checker.evidence import read_evidence
from bmwg.reports.checker.judge import among, judge
from bmwg.reports.checker.source import FolderFiles
from bmwg.reports.checker.verdicts import Verdict
from bmwg.reports.render.facts import facts
from bmwg.reports.render.frame_loss_plot import frame_loss_plot
from bmwg.reports.store import read_run

MET, NOT_MET, NOT_APPLICABLE = Verdict.MET, Verdict.NOT_MET, Verdict.NOT_APPLICABLE


@pytest.fixture(scope="module")
def evidence(tmp_path_factory):
    return read_evidence(FolderFiles(documents_run.make(tmp_path_factory.mktemp("others"))))


def loads(keep):
    """Keep some trials of each group, by their place."""

    def changed(scope):
        groups = {key: keep(group) for key, group in scope.evidence.by_group.items()}
        return replace(scope, evidence=replace(scope.evidence, by_group=groups))

    return changed


def phases(count):
    """Let each group have that many phases."""

    def changed(scope):
        groups = {
            key: tuple(replace(group[0], phase=f"burst_{number}") for number in range(count))
            for key, group in scope.evidence.by_group.items()
        }
        return replace(scope, evidence=replace(scope.evidence, by_group=groups))

    return changed


def named(*metrics):
    """Let the first outcome stand once under each of these metrics, as a plain number."""

    def changed(scope):
        first = replace(scope.outcomes[0], type=OutcomeType.MEASURED)
        made = tuple(
            replace(first, metric=one, values=(Quantity(metric=one, number=1, unit="x"),)) for one in metrics
        )
        return replace(scope, outcomes=made)

    return changed


def valued(metric):
    """Give the outcomes a value of this metric; their own one stays, and with it their trials."""
    return outcomes(type=OutcomeType.MEASURED, values=(Quantity(metric=metric, number=1, unit="x"),))


FAST = run(medium={"kind": "ethernet", "line_rate_bps": 10_000_000_000})
ALL = named("reset.rfc6201.hardware", "reset.rfc6201.software", "reset.rfc6201.power")
CASES = [  # row, what keeps the text, verdict, what does not, verdict
    ("RFC2544-26.3-02", same, MET, loads(lambda group: group[1:]), NOT_MET),
    ("RFC2544-26.3-03", same, MET, loads(lambda group: group[:3]), NOT_MET),
    ("RFC2544-26.3-04", same, MET, loads(lambda group: group[::2]), NOT_MET),
    ("RFC2544-26.3-05", same, MET, outcomes(values=()), NOT_MET),
    ("RFC2544-26.3-06", FAST, MET, same, NOT_MET),
    ("RFC2544-26.3-07", same, MET, outcomes(values=()), NOT_APPLICABLE),
    ("RFC2544-26.3-08", same, MET, outcomes(values=()), NOT_APPLICABLE),
    ("RFC2544-26.4-02", benchmark("back_to_back", depletion_s=2.0), MET, same, NOT_MET),
    ("RFC2544-26.4-03", phases(50), MET, phases(49), NOT_MET),
    ("RFC2544-26.4-04", valued(back_to_back.METRIC), MET, values(metric="else"), NOT_MET),
    ("RFC2544-26.5-04", streams(2), MET, streams(1), NOT_MET),
    ("RFC2544-26.5-05", valued(recovery.RECOVERY_METRIC), MET, values(metric="else"), NOT_MET),
    ("RFC2544-26.6-05", ALL, MET, named("reset.rfc6201.software_container"), NOT_MET),
    ("RFC2544-26.6-06", ALL, MET, lambda scope: replace(scope, outcomes=()), NOT_MET),
]


def scope_for(evidence):
    scope = scope_of(evidence, "frame loss rate", lambda name: name == LOSS)
    assert scope is not None
    return scope


def rule_of(row):
    return next(one for one in RULES if one.requirement == row)


def test_every_rule_has_a_case_and_a_row_of_its_benchmark():
    assert {row for row, *_ in CASES} == {one.requirement for one in RULES}
    for one in RULES:
        assert one.benchmarks
        assert requirement(one.requirement).section.startswith("26.")


@pytest.mark.parametrize(("row", "good", "kept", "bad", "unkept"), CASES, ids=lambda v: str(v)[:18])
def test_a_rule_tells_the_kept_text_from_the_other(evidence, row, good, kept, bad, unkept):
    scope = scope_for(evidence)
    answer = rule_of(row).check(good(scope))
    assert answer.verdict is kept, answer
    answer = rule_of(row).check(bad(scope))
    assert answer.verdict is unkept, answer


def test_a_family_ends_in_a_point_and_all_else_is_exact():
    assert among(("reset.rfc6201.",), "reset.rfc6201.container")
    assert not among(("throughput.rfc2544_26_1",), "throughput.rfc2544_26_1.broadcast")


def test_frame_loss_is_graded_on_its_own(evidence):
    grade = next(one for one in judge(evidence).grades if one.benchmark == "frame loss rate")
    assert dict(grade.counts)["MUST met"] >= 2


def test_the_graph_of_frame_loss_has_a_description_and_both_ends(evidence):
    plot = frame_loss_plot(facts(read_run(Path(evidence.files.where))))
    assert plot is not None
    assert 'role="img"' in plot.svg
    assert "both in percent from 0 to 100" in plot.description
    assert "of the highest load" in plot.svg
