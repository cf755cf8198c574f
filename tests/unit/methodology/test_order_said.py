"""Each kind of load says itself how a run's seed gave the order of its cells, or that none was drawn."""

import pytest

from bmwg.methodology.kinds import registry
from bmwg.methodology.kinds.acts.profile import PROFILES as ACTS
from bmwg.methodology.kinds.jobs.profile import PROFILES as JOBS
from bmwg.methodology.kinds.streams.profile import CLAIM
from bmwg.methodology.kinds.streams.profile import PROFILES as STREAMS

QUICK = {"acts": ACTS, "jobs": JOBS, "streams": STREAMS}


def said(name, **changes):
    profile = {**QUICK[name].load("quick").data, **changes}
    cells = [cell for _, _, cell in registry.kind(name, "a test").plan(profile)]
    return registry.kind(name, "a test").order_seed_text(profile, cells, 7)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("jobs", "within each experiment, hosting forms take turns in randomized blocks"),
        ("streams", "hosting forms of a sweep take turns in randomized blocks"),
    ],
)
def test_a_kind_whose_forms_take_turns_says_so_with_the_seed(name, words):
    assert said(name, **({CLAIM: True} if name == "streams" else {})).startswith(words)
    assert "seed 7" in said(name, **({CLAIM: True} if name == "streams" else {}))


def test_cells_that_take_no_turns_claim_none():
    assert said("acts") == ""
    assert said("streams", **{CLAIM: False}) == ""
