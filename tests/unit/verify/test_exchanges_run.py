"""A run of exchanges verifies from its executions and no changed one does; its page tells all of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from acts_run import acts_run
from repeated_run import each_life, forged
from tests.unit.acts.test_exchanges import LOAD, figures, there_and_back

from bmwg.methodology.kinds.acts import profile
from bmwg.methodology.kinds.acts.records import FLOWS, FLUSH_FIRST, ActsResult, ActsSpec
from bmwg.methodology.kinds.repeated.profile import Planned
from bmwg.reports.verify.verify import verify_folder

MS = 1_000_000
PROFILE = profile.PROFILES.load("exchanges")


def executions(number: int, planned: Planned[ActsSpec]) -> Iterator[ActsResult]:
    spec = planned.spec
    for seq in range(5):
        lost = 90 + seq if spec.mode == FLUSH_FIRST else 0
        stopped = {"stopped_frames": None} if spec.workload == FLOWS else {}
        load = LOAD if spec.beside else {}
        told = figures(lost, **stopped, **load)
        own_ns = 10 * number + seq
        one = there_and_back(lost, **told, last_frame_ns=148 * MS + own_ns)
        yield replace(one, lives=(one.lives[0], replace(one.lives[1], **told)))


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return acts_run(tmp_path_factory.mktemp("exchanges"), PROFILE, executions)


def test_the_run_verifies_and_its_page_says_when_a_configuration_was_in_force(made) -> None:
    assert verify_folder(made).findings == ()
    page = (made / "report.rst").read_text(encoding="utf-8").replace("\\", "").replace("\u00a0", " ")
    for said in (
        "The life of exchanges",
        "node, firewall, none, 1000 entries, atomic",
        "pvp, firewall, bridge, 1000 entries, atomic, half-load",
        "switch, ovs-netdev, none, 1000 entries, flush-first",
        "request to first frame by the new one",
        "100 ms (100 ms to 100 ms)\n     - 93 ms (93 ms to 93 ms)\n     - 90, 90, 91, 91, 92",
        "3,000, 3,000\n     - 3,100, 3,100\n     - 0\n     - 9,000, 9,000\n     - 920\n     - 0\n",
        "not known: its counts follow later",
        "the old configuration is flushed, as the function confirms",
        "first frame by the new configuration",
        "The load beside",
    ):
        assert said in page, said
    matrices = (made / "report-matrices.html").read_text(encoding="utf-8")
    for cell in ("activation-by-speed", "activation-by-accuracy", "operation-by-reliability"):
        assert f'href="#{cell}"' in matrices


@pytest.mark.parametrize(
    "told",
    [{"wrong_rule_frames": 3}, {"before_came_frames": 400}, {"counted_frames": 2000}, {"stopped_frames": 50}],
)
def test_counts_that_no_function_has_are_found(run, told) -> None:
    assert {"VER-03", "VER-34"} <= forged(run, each_life(lambda life: life["told"].update(told)))
