"""Each reader of outside data against some inputs, and all that once found something. In full: fuzz.py."""

import random

import pytest
from tests.fuzz.fuzz import CORPUS, kept
from tests.fuzz.mutate import mutated
from tests.fuzz.targets import refused, targets

TARGETS = targets()
ALWAYS_NO = {"cni-error", "signature", "qmp"}  # an error; none that is signed; a QEMU that goes away
INPUTS = {"bundle": 20, "bundle-part": 20, "testbed": 40, "profile": 40}


@pytest.mark.parametrize("name", TARGETS)
def test_good_inputs_are_taken(name):
    for octets in TARGETS[name].seeds:
        said_no = refused(TARGETS[name], octets)
        assert said_no is (name in ALWAYS_NO), octets[:200]


@pytest.mark.parametrize("name", TARGETS)
def test_other_inputs_are_taken_or_refused_by_name(name):
    target = TARGETS[name]
    chance = random.Random(name)
    for octets in kept(name):
        refused(target, octets)
    refusals = 0
    for _ in range(INPUTS.get(name, 150)):
        refusals += refused(target, mutated(chance.choice(target.seeds), chance, target.form))
    if name not in (
        "ledger-index",
        "under-way",
        "cni-result",
        "bundle",
        "bundle-part",
        "trex-stats",
        "trex-http",
    ):  # these say no by what they return
        assert refusals


@pytest.mark.parametrize("name", sorted(path.name for path in (CORPUS / "journal-line").iterdir()))
def test_a_valid_trial_of_counts_that_no_trial_has_is_refused(name):
    assert refused(TARGETS["journal-line"], (CORPUS / "journal-line" / name).read_bytes())
