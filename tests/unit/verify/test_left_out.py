"""Which tests that a run left out a reader should ask about: those that its profile would have measured."""

from types import SimpleNamespace

import pytest

from bmwg.methodology import suites
from bmwg.methodology.plan import planning
from bmwg.methodology.profiles.reading import load_profile
from bmwg.reports.verify import physics

NETWORKS = {"bridge": {}, "ptp": {}}
LEFT_TO_OTHERS = "CN-TPUT-1.7"  # quick measures no vSwitch between ports


def asked(monkeypatch: pytest.MonkeyPatch, *, own: bool, without: str = "") -> str:
    """Return what is asked of a run of `quick` that left out one test."""
    monkeypatch.setattr(physics, "own_profile", lambda run, load: own)
    profile, cases = load_profile("quick"), suites.CONTAINERIZED_CASES
    every = frozenset(case.test_id for case in cases)
    plan = planning.cells(profile, planning.Networks.of(NETWORKS), test_ids=every)
    evidence = SimpleNamespace(
        run={"testbed": {"networks": NETWORKS}},
        load="frames",
        profile=profile,
        cases=cases,
        plan=[one for one in plan if one.test_id != without],
    )
    return "\n".join(physics._not_planned(evidence))  # type: ignore[arg-type]


def test_what_our_own_profile_leaves_out_is_no_choice_of_somebody(monkeypatch: pytest.MonkeyPatch) -> None:
    assert asked(monkeypatch, own=True) == ""


def test_a_test_that_the_profile_would_have_measured_is_asked_about(monkeypatch: pytest.MonkeyPatch) -> None:
    said = asked(monkeypatch, own=True, without="CN-TPUT-1.3")
    assert "not CN-TPUT-1.3: why these?" in said
    assert LEFT_TO_OTHERS not in said


def test_of_an_unknown_profile_every_test_is_asked_about(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert LEFT_TO_OTHERS in asked(monkeypatch, own=False)
