"""Profiles that set aside more than they may or say are refused, each by an id of its own."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import pytest

from bmwg.methodology.errors import ConfigError
from bmwg.methodology.profiles import builtin_names, load_profile, parse_profile
from bmwg.methodology.trial.judging import StallEvidence

CONFORMANCE = (files("bmwg.methodology.profiles") / "rfc2544.yaml").read_text()


@pytest.mark.parametrize(
    ("old", "new", "error_id", "said"),
    [
        ("set_aside_host_stalls: false", "set_aside_host_stalls: true", "PRF-06", "expected false"),
        ("stall_evidence: cpu", "stall_evidence: tester", "PRF-06", "expected cpu, found tester"),
        ("most_set_aside_ratio: 0.1 ", "most_set_aside_ratio: 0.11 ", "PRF-06", "expected at most 0.1"),
        ("max_repeats: 5", "max_repeats: 11", "PRF-07", "trial.max_repeats: expected at most 10"),
        ("max_stall_ns: 1000000", "max_stall_ns: 99999", "PRF-07", "expected at least 100000"),
        ("RFC2544-23-03", "RFC2544-24-03", "PRF-08", "or a deviation from RFC2544-23-03"),
        ("min_sent_ratio: 0.999", "min_sent_ratio: 0.9989", "PRF-08", "expected at least 0.999"),
        ("max_reopenings: 1", "max_reopenings: 1\n  most_relative_width: 0.2", "PRF-09", "expected none"),
        ("max_reopenings: 1", "max_reopenings: 1\n  state_checks: 4", "PRF-09", "expected at least 30"),
    ],
)
def test_a_conformance_profile_that_sets_aside_more_than_it_may_is_refused(
    tmp_path: Path, old: str, new: str, error_id: str, said: str
) -> None:
    assert old in CONFORMANCE
    path = tmp_path / "lenient.yaml"
    path.write_text(CONFORMANCE.replace(old, new))
    with pytest.raises(ConfigError, match=f"^{error_id} ") as refused:
        load_profile(str(path))
    assert said in str(refused.value)


@pytest.mark.parametrize(
    ("name", "old", "new", "said"),
    [
        (
            "guest",
            "requirement: RFC2544-4\n",
            "requirement: RFC2544-24-01\n",
            r"trial.set_aside_host_stalls.*deviation from RFC2544-4",
        ),
        ("quick", "most_set_aside_ratio: 0.5", "most_set_aside_ratio: 0.6", "trial.most_set_aside_ratio"),
    ],
)
def test_an_undeclared_set_aside_is_refused_of_an_indicative_profile_too(
    tmp_path: Path, name: str, old: str, new: str, said: str
) -> None:
    text = (files("bmwg.methodology.profiles") / f"{name}.yaml").read_text()
    assert old in text
    path = tmp_path / "silent.yaml"
    path.write_text(text.replace(old, new))
    with pytest.raises(ConfigError, match=f"PRF-06 {said}"):
        load_profile(str(path))


def test_no_conformance_profile_sets_host_stalls_aside_or_deviates_where_the_tester_can_send_it() -> None:
    """Sections 12 and 21: 256 networks at random, repeated bursts."""
    full = load_profile("rfc2544")
    could = {"RFC2544-12-02", "RFC2544-12-03", "RFC2544-21-01"}
    assert not could & {one.requirement for one in full.deviations}
    assert full.destination_networks == (1, 256)
    for profile in map(load_profile, builtin_names()):
        if not profile.indicative:
            assert not profile.policy.set_aside_host_stalls
            assert profile.policy.stall_evidence is StallEvidence.CPU


def test_a_profile_that_does_not_say_sets_aside_by_evidence_of_a_cpu_and_at_most_a_tenth(
    tmp_path: Path,
) -> None:
    lines = [line for line in CONFORMANCE.splitlines() if "set_aside_ratio" not in line]
    path = tmp_path / "short.yaml"
    path.write_text("\n".join(line for line in lines if "stall_evidence" not in line))
    found = load_profile(str(path))
    assert (found.policy.stall_evidence, found.policy.most_set_aside_ratio) == (StallEvidence.CPU, 0.1)
    assert found.data["trial"]["stall_evidence"] == "cpu"  # the run's header tells it
    as_recorded = parse_profile(path.read_text(), source="run.json")
    assert as_recorded.policy.stall_evidence is StallEvidence.TESTER  # runs from before that key
