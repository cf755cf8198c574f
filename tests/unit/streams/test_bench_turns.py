"""The bench of a sweep deploys form after form, records in turns, and has each form's troubles be its own."""

from __future__ import annotations

import itertools
from contextlib import contextmanager, nullcontext
from types import SimpleNamespace

import pytest
from tests.unit.streams.test_kind import result

from bmwg.methodology.errors import DriverError
from bmwg.methodology.kinds.streams import order
from bmwg.methodology.kinds.streams.kind import STREAMS
from bmwg.methodology.kinds.streams.profile import PROFILES
from bmwg.methodology.records import OutcomeType
from bmwg.resources.kinds.repeated.measure import CellExecutions
from bmwg.resources.kinds.streams.bench import StreamsBench
from bmwg.resources.kinds.streams.room import STREAMS as STREAMS_ROOM
from bmwg.resources.rooms import PlanAsked
from bmwg.resources.run.answers import Answers

TEST = "SK-TCPT-4"


class Bench(StreamsBench):
    """With doubles in the place of nodes and forms; what is recorded, judged and kept is its own."""

    def __init__(self, profile: str, *, broken: str = "", unmade: str = "", visits: int = 0) -> None:
        """`unmade` is a form that cannot be made once it has stood so many times."""
        told = PROFILES.load(profile)
        self.journal: list[tuple[str, str, str]] = []
        self.deployed: list[str] = []
        self.broken, self.unmade, self.visits = broken, unmade, visits
        self.run = SimpleNamespace(
            held=nullcontext,
            stopped=None,
            continued=None,
            store=self,
            display=SimpleNamespace(
                note=lambda text: None, estimate=SimpleNamespace(answered=lambda *_: None)
            ),
            attempt=lambda act: act(),
        )
        self.leaks = SimpleNamespace(begin=lambda: None, check=lambda: None)
        self.whole_plan = [one for one in told.plan() if one.test_id == TEST]
        self._profile, self._seed = told.data, 3
        self.answers, self._guards = Answers(self.run, STREAMS.name, self.line), {}
        self._unmade = False
        self.guard = self.new_guard()

    def new_guard(self):
        return SimpleNamespace(judged=list, judged_after_break=list)

    def rest(self) -> None:
        pass

    def open_bed(self):
        return None

    def executions(self, planned):
        return CellExecutions(STREAMS, planned, self)

    def append(self, **line) -> int:
        self.journal.append((line["cell_id"], line["deployment_id"], line["validity"].value))
        return len(self.journal)

    def add_outcome(self, outcome, mend="") -> None:
        assert outcome.cell.cell_id not in self.answers, "one answer for a cell"

    def no_option(self, network):
        return None

    def why_translated(self):
        return "no vmx"

    def _workloads(self, mine):
        nothing = SimpleNamespace(
            probe=lambda: None,
            attach=lambda ends: None,
            detach=lambda: None,
            run=lambda spec: result(elapsed_ns=1_000_000_000),
        )
        return dict.fromkeys(("iperf3", "netperf"), nothing)

    def _path(self, cell):
        @contextmanager
        def between_pods():
            if cell.hosting == self.unmade and self.deployed.count(cell.hosting) == self.visits:
                raise DriverError("HOST-01", "its cgroup", expected="one", found="none")
            self.deployed.append(cell.hosting)
            yield SimpleNamespace(ends=(), more=(), crossed=())

        return SimpleNamespace(probe_pods=lambda: None, between_pods=between_pods)

    @contextmanager
    def _watched(self, guard, cell, between, workloads, cells):
        fault = "its pod has ended" if cell.hosting == self.broken else None
        yield f"{cell.hosting}-{len(self.deployed)}", lambda: fault

    def types(self) -> dict[str, set[OutcomeType]]:
        found: dict[str, set[OutcomeType]] = {}
        for one in self.outcomes(TEST):
            found.setdefault(one.cell.hosting, set()).add(one.type)
        return found


@pytest.fixture(autouse=True)
def crossed(monkeypatch):
    """An execution crosses what it has to."""
    whole = result().crossings
    monkeypatch.setattr("bmwg.resources.kinds.streams.crossings.look", lambda crossed: ())
    monkeypatch.setattr("bmwg.resources.kinds.streams.crossings.between", lambda *_: whole)


MEASURED, INVALID, LACKING = (
    {one} for one in (OutcomeType.MEASURED, OutcomeType.INVALID, OutcomeType.NOT_ASSESSED)
)


def test_each_visit_has_its_own_deployment_and_each_cell_its_executions() -> None:
    bench = Bench("quick")
    types = bench.types()
    assert {types[form] == MEASURED for form in ("baremetal", "pod", "docker", "podman")} == {True}
    in_turns = [form for form in bench.deployed if form not in order.MACHINES]
    assert all(first != second for first, second in itertools.pairwise(in_turns))
    assert len(in_turns) > 4 * 4
    assert len({deployment for _, deployment, _ in bench.journal}) == len(bench.deployed)
    assert {one[2] for one in bench.journal} == {"valid"}


def test_a_guest_without_kvm_is_named_and_measured_where_its_profile_says_so_after_all_others() -> None:
    quick = Bench("quick")
    assert quick.types()["kvm"] == LACKING
    assert all("BMWG_PROFILE=guests" in mend for name, mend in quick.mends.items() if "/kvm/" in name)
    guests = Bench("guests")
    machines = ["kvm", "kvm_redirected"]
    assert guests.types() == dict.fromkeys(("baremetal", "pod", *machines), MEASURED)
    assert guests.deployed[-2:] == machines
    assert not set(machines) & set(guests.deployed[:-2]), "they have no turn"


def test_with_kvm_a_guest_has_its_turn(monkeypatch) -> None:
    monkeypatch.setattr(Bench, "why_translated", lambda self: "")
    bench = Bench("quick")
    assert bench.types()["kvm"] == MEASURED
    assert bench.deployed.count("kvm") > 1


def test_a_form_that_breaks_at_each_execution_is_invalid_and_the_others_are_whole() -> None:
    bench = Bench("quick", broken="docker")
    types = bench.types()
    assert types["docker"] == INVALID
    assert types["baremetal"] == types["pod"] == MEASURED


def test_a_form_that_cannot_be_made_is_invalid_by_name_and_the_others_are_whole() -> None:
    bench = Bench("quick", unmade="pod")
    types = bench.types()
    assert types["pod"] == INVALID
    assert "form pod was not made" in next(
        one.reason for one in bench.outcomes(TEST) if one.cell.hosting == "pod"
    )
    assert types["baremetal"] == types["docker"] == MEASURED


def test_a_form_that_cannot_be_made_again_has_no_answer_of_the_executions_that_it_had() -> None:
    bench = Bench("quick", unmade="pod", visits=4)
    types = bench.types()
    assert types["pod"] == INVALID
    (found,) = [one for one in bench.outcomes(TEST) if one.cell.hosting == "pod"][:1]
    assert len(found.trials) == 4
    assert found.reason == "4 of 5 repetitions are valid: no further one was run"
    assert types["baremetal"] == types["docker"] == MEASURED


def test_where_a_profile_claims_nothing_a_form_stands_once() -> None:
    bench = Bench("quick")
    bench._profile = {**bench._profile, "forms_take_turns": False}
    bench.types()
    assert len(bench.deployed) == len(set(bench.deployed))


def test_the_schedule_says_how_forms_take_turns_and_that_pods_do_not() -> None:
    wanted = PlanAsked(testbed=None, profile="quick", seed=7)
    assert "forms of a sweep take turns" in STREAMS_ROOM.schedule(wanted, {TEST}).notes[-1]
    assert "seed 7" in STREAMS_ROOM.schedule(wanted, {TEST}).notes[-1]
    assert "take turns" not in STREAMS_ROOM.schedule(wanted, {"PP-TCP-1"}).notes[-1]
