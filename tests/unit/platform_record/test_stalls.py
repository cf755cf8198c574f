"""What the doctor makes of stalls: counts of slices, the expected share of trials, the lines and DOC-11."""

from __future__ import annotations

import argparse
import dataclasses
import json

import pytest

from bmwg.cli import record as verb
from bmwg.drivers.platform_record import doctor
from bmwg.drivers.platform_record.doctor import speed, stalls
from bmwg.drivers.platform_record.doctor.stalls import (
    Stalls,
    expected_ratio,
    findings,
    in_words,
    lines,
    watched,
)
from bmwg.drivers.testbed.file import SIMULATED, NodeKind, load_testbed
from bmwg.methodology.errors import TestbedError
from bmwg.methodology.profiles import load_profile
from bmwg.methodology.record.findings import Finding, Weight
from bmwg.methodology.trial.keep_awake import Held, KeepAwake

LIMIT_NS = 400_000
TRIAL_NS = 200_000_000
QUIET, ON_0, ON_BOTH = {0: 1_000, 1: LIMIT_NS}, {0: 2_500_000, 1: 0}, {0: 500_000, 1: 900_000}
REQUEST = Held(asked=KeepAwake.PM_QOS, held=KeepAwake.PM_QOS)
NOTHING = Held(asked=KeepAwake.PM_QOS, held=KeepAwake.NONE, reason="/dev/cpu_dma_latency: Permission denied")


def seen(*slices, steal_ns=30_000_000):
    return watched(slices, LIMIT_NS, len(slices) * stalls.SLICE_NS, steal_ns)


def measured(**changes):
    sides = {"halting": seen(*[ON_0] * 3, *[ON_BOTH] * 2, *[QUIET] * 45), "awake": seen(*[QUIET] * 50)}
    made = Stalls(cpus=(0, 1), profile="quick", limit_ns=LIMIT_NS, trial_ns=TRIAL_NS, held=REQUEST, **sides)
    return dataclasses.replace(made, **changes)


def test_slices_are_counted_by_cpu_and_over_all_and_the_limit_itself_is_no_stall():
    found = seen(QUIET, ON_0, ON_0, ON_BOTH)
    assert (found.slices, found.stalled_slices) == (4, 3)
    assert found.stalled_by_cpu == ((0, 3), (1, 1))
    assert found.longest_stall_ns == 2_500_000


@pytest.mark.parametrize(
    ("stalled", "ratio", "word"),
    [
        (0, 0.0, "answers for most cells"),
        (1, 1 - 0.98**10, "answers for most cells"),
        (4, 1 - 0.92**10, "some answers"),
        (11, 1 - 0.78**10, "hardly any answer"),
        (50, 1.0, "hardly any answer"),
    ],
)
def test_the_expected_share_of_trials_set_aside_and_its_words(stalled, ratio, word):
    found = expected_ratio(seen(*[ON_0] * stalled, *[QUIET] * (50 - stalled)), TRIAL_NS)
    assert found == pytest.approx(ratio)
    assert in_words(found).startswith(word)


def test_the_planned_share_of_the_quick_profile_still_has_most_answers():
    profile = load_profile("quick")
    assert profile.expected_invalid_ratio <= stalls.MOST_RATIO
    assert in_words(profile.expected_invalid_ratio) == in_words(0.0)


@pytest.mark.parametrize(
    "wrong", [{"stalled_slices": 3}, {"stalled_slices": -1}, {"watched_ns": 0}, {"slices": 0}]
)
def test_counts_that_cannot_be_are_refused(wrong):
    with pytest.raises(ValueError, match=r"found|slices"):
        dataclasses.replace(seen(QUIET, ON_0), **wrong)


def test_the_lines_name_units_and_end_with_one_on_what_to_expect():
    assert lines(measured()) == [
        "stalls of CPU 0, 1 over 0.4 ms, counted in slices of 20 ms:",
        "  nothing held: 5.0 slices/s on any (CPU 0 5.0, CPU 1 2.0), longest stall 2.50 ms, steal time 1.5%",
        "  pm_qos held:  0.0 slices/s on any (CPU 0 0.0, CPU 1 0.0), longest stall 0.40 ms, steal time 1.5%",
        "held awake: pm_qos, a request of 0 us on /dev/cpu_dma_latency",
        "on this machine about 0% of the trials of 0.2 s of the profile quick will meet a stall "
        "(by 50 slices): answers for most cells",
    ]


def test_without_anything_held_the_expectation_is_that_of_cpus_that_halt():
    shown = lines(measured(held=NOTHING, awake=None))
    assert shown[-2] == "held awake: nothing can be held; /dev/cpu_dma_latency: Permission denied"
    assert (
        "about 65% of the trials of 0.2 s of the profile quick will meet a stall (by 50 slices): some answers"
        in shown[-1]
    )
    assert not any("pm_qos held:" in line for line in shown)


def test_what_somebody_else_holds_and_unknown_steal_time_are_said():
    shown = "\n".join(lines(measured(already_us=0, halting=seen(QUIET, steal_ns=None))))
    assert "another process holds 0 us already" in shown
    assert "steal time unknown" in shown


def test_nothing_that_can_be_held_is_a_finding_and_weighs_less_without_stalls():
    assert findings(measured()) == []
    (found,) = findings(measured(held=NOTHING, awake=None))
    assert (found.finding_id, found.weight) == ("DOC-11", Weight.DISTORTS)
    assert NOTHING.reason in found.what
    assert found.breaks
    assert found.mend
    (calm,) = findings(measured(held=NOTHING, halting=seen(QUIET), awake=None))
    assert calm.weight is Weight.NOTE


def test_json_holds_counts_and_no_ratio():
    text = json.dumps(measured().as_json())
    assert json.loads(text)["halting"]["stalled_by_cpu"] == {"0": 5, "1": 2}
    assert "." not in text.replace("1.0", "")  # no number with a fraction


def test_a_simulated_testbed_is_not_measured():
    bed = load_testbed()
    bed = dataclasses.replace(bed, tester=dataclasses.replace(bed.tester, driver=SIMULATED))
    assert stalls.look(bed, load_profile("quick")) is None


def test_cpus_of_a_dut_that_is_another_machine_are_not_watched():
    bed = load_testbed()
    both = stalls.cpus_here(bed)
    away = tuple(dataclasses.replace(node, kind=NodeKind.SSH, ssh="root@dut") for node in bed.nodes)
    assert set(stalls.cpus_here(dataclasses.replace(bed, nodes=away))) == set(both) & set(bed.tester.cpus)


def test_a_watch_that_cannot_be_built_is_one_line(monkeypatch):
    def refuse(*_, **__):
        raise TestbedError("WATCH-01", "it cannot be built", found="gcc:\nno such program", hint="apt-get")

    monkeypatch.setattr(stalls, "Watch", refuse)
    found = stalls.look(load_testbed(), load_profile("quick"))
    assert found.not_measured == "WATCH-01 it cannot be built: no such program (apt-get)"
    assert found.halting is found.awake is None
    assert lines(found)[0].startswith("stalls were not measured: WATCH-01")
    assert found.held.asked is KeepAwake.PM_QOS


@pytest.fixture
def said(monkeypatch, capsys):
    """Run the verb on made findings and a made measurement."""

    def run(found, *arguments):
        note = Finding(finding_id="DOC-07", weight=Weight.NOTE, what="w", breaks="b", mend="m")
        monkeypatch.setattr(doctor, "examine", lambda testbed: [note])
        monkeypatch.setattr(stalls, "look", lambda testbed, profile: found)
        monkeypatch.setattr(speed, "look", lambda testbed: None)
        parser = argparse.ArgumentParser()
        verb.add_parser(parser.add_subparsers())
        chosen = parser.parse_args(["doctor", *arguments])
        assert chosen.handler(chosen) == 0
        return capsys.readouterr().out

    return run


def test_the_verb_prints_findings_by_weight_and_then_the_measurement(said):
    text = said(measured(held=NOTHING, awake=None))
    assert (
        text.index("DOC-11")
        < text.index("DOC-07")
        < text.index("2 finding(s)")
        < text.index("on this machine about")
    )


def test_the_verb_as_json_is_an_object_of_findings_and_stalls(said):
    whole = json.loads(said(measured(), "--json"))
    assert [finding["finding_id"] for finding in whole["findings"]] == ["DOC-07"]
    assert whole["stalls"]["held"]["held"] == "pm_qos"
    assert json.loads(said(None, "--json"))["stalls"] is None
