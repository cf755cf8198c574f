"""A vendor who signs his own lies does not pass: each family was accepted once, and is refused or named."""

from __future__ import annotations

import json
from types import SimpleNamespace

import doors
import doors_bounds
import families
import honest
import liar
import liar_http
import liar_machine
import liar_source
import pytest

from bmwg.cli.main import main
from bmwg.cli.verify import lines
from bmwg.methodology.errors import ConfigError
from bmwg.methodology.records import StreamCounts, TrialResult, TrialSpec, Validity
from bmwg.methodology.trial.judging import JudgedTrial
from bmwg.methodology.trial.medium import ethernet_fps
from bmwg.reports.bundle.signing import load_public
from bmwg.reports.releases import unreleased
from bmwg.reports.verify.physics import has_interfaces, within_line_rate
from bmwg.reports.verify.trust import REQUIREMENT_UNMET, SIGNER_UNKNOWN, required
from bmwg.reports.verify.verify import TRUSTED, verify_bundle, verify_folder
from bmwg.resources.run.provenance import toolkit_state

pytestmark = pytest.mark.usefixtures("released")
# Family, and the rule that must be among those that refuse it.
CAUGHT = {
    liar.relabelled: {"VER-12", "VER-30", "VER-34"},
    liar.relabelled_without_sign: {"VER-30", "VER-34"},
    liar.relabelled_with_counters: {"VER-30"},
    liar.relabelled_as_other_tester: {"VER-30"},
    liar.with_line_rate: {"VER-33"},
    liar.small_line_rate: {"VER-32", "VER-33"},
    liar.losses_gone: {"VER-34"},
    liar.longer_trials: {"VER-31"},
    liar.times_moved: {"VER-35"},
    liar.other_driver: {"VER-12"},
    liar.cells_gone: {"VER-37"},
}


LIES = liar.PHYSICS | liar.PLANS


copied = honest.copied


def test_each_family_has_its_rules():
    assert set(CAUGHT) == set(LIES)


def test_every_lie_is_a_family_of_the_campaign():
    named = {one.name.removeprefix("requests: ") for one in families.FAMILIES}
    assert {
        lie.__name__ for lie in (*LIES, *liar.STRANGERS, *liar_http.REFUSED, *liar_http.ASKED, *SOURCE)
    } <= named
    assert len({one.name for one in (*families.FAMILIES, *doors_bounds.DOORS)}) == len(
        families.FAMILIES
    ) + len(doors_bounds.DOORS)


ASKED = {  # what a reader is asked of an honest run
    "ladder": {"plan"},
    "packets": {"plan"},
    "resumed": {"plan", "break"},
    "simulated": {"plan"},
    "loads": {
        "plan",
        "time",
        "cells",
    },  # other forms are not there, and a repetition lasted less than its second
    "http": {"time", "cells"},
}


_STRANGE = {"simulated": (unreleased(toolkit_state()[1]),)}  # its header names the commit that is checked out


@pytest.mark.parametrize("name", ASKED)
def test_a_run_that_lies_start_from_is_verified_and_asked_no_more_than_its_due(place, name):
    verified = verify_folder(honest.run(place, name))
    assert (verified.findings, verified.strangers) == ((), _STRANGE.get(name, ()))
    assert {text.split(":")[0] for text in verified.questions} == ASKED[name]


@pytest.mark.parametrize(
    "family",
    [one for one in families.FAMILIES if one.name.startswith("requests: ")],
    ids=lambda family: family.name.removeprefix("requests: "),
)
def test_a_lie_about_requests_is_refused_or_named(place, tmp_path, keys, family):
    bundle = families.told(family, 0, place=place, to=tmp_path / "lie", key=keys["signer"])
    verified = verify_bundle(bundle, load_public(keys["signer.pub"]))
    assert family.caught(verified), [str(one) for one in verified.findings]


KINDS, LOADS = (
    [one for one in families.FAMILIES if one.name.startswith(of)] for of in ("kinds: ", "loads: ")
)


@pytest.mark.parametrize("family", [*KINDS, *LOADS[::3]], ids=lambda one: one.name)  # the campaign tries all
def test_a_lie_about_a_run_of_several_kinds_or_loads_is_refused_or_named(place, tmp_path, keys, family):
    bundle = families.told(family, 0, place=place, to=tmp_path / "lie", key=keys["signer"])
    verified = verify_bundle(bundle, load_public(keys["signer.pub"]))
    assert verified.trust == TRUSTED
    assert family.caught(verified), [str(one) for one in verified.findings]


SOURCE = {
    **liar_source.REFUSED,
    **liar_source.ASKED,
    **liar_source.SAID,
    **liar_machine.REFUSED,
    **liar_machine.NAMED,
}
# of these each commit tries one seed, of all others the campaign does
QUICK = {"compared_with_edited_outcomes", "compared_unverified", "checked_out_by_somebody_else", "no_report"}


@pytest.mark.parametrize("lie", SOURCE, ids=lambda lie: lie.__name__)
def test_a_lie_of_somebody_who_has_the_source_is_refused_or_named(place, tmp_path, keys, lie):
    family = next(one for one in families.FAMILIES if one.name == lie.__name__)
    bundle = families.told(family, 0, place=place, to=tmp_path / "lie", key=keys["signer"])
    verified = verify_bundle(bundle, load_public(keys["signer.pub"]))
    assert verified.trust == TRUSTED
    assert family.caught(verified), [str(one) for one in verified.findings]


@pytest.mark.parametrize(
    "door",
    [pytest.param(one, marks=() if one.name in QUICK else pytest.mark.slow) for one in doors_bounds.DOORS],
    ids=lambda door: door.name,
)
def test_a_lie_told_around_a_bundle_is_answered(place, tmp_path, keys, door):
    if door.attack is doors.checked_out_by_somebody_else and not doors.readable_by_others():
        pytest.skip("this checkout cannot be read by another user, or there is no setpriv")
    for seed in range(1 if door.name in QUICK else 5):
        assert doors.tried(door, seed, place=place, to=tmp_path / str(seed), key=keys["signer"]), seed


@pytest.mark.slow
@pytest.mark.parametrize("family", families.FAMILIES, ids=lambda family: family.name)
def test_a_campaign_of_lies_catches_each(place, tmp_path, keys, family):
    for seed in range(8):
        bundle = families.told(family, seed, place=place, to=tmp_path / str(seed), key=keys["signer"])
        assert family.caught(verify_bundle(bundle, load_public(keys["signer.pub"]))), seed


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2))])
@pytest.mark.parametrize("lie", LIES, ids=lambda lie: lie.__name__)
def test_a_lie_signed_by_its_owner_is_refused(place, tmp_path, keys, lie, seed):
    folder = liar.told(copied(place, LIES[lie], tmp_path), lie, seed)
    bundle = liar.signed(folder, tmp_path / "lie.tar", keys["signer"])
    verified = verify_bundle(bundle, load_public(keys["signer.pub"]))
    assert verified.trust == TRUSTED  # nothing is wrong with hashes, chain and signature
    found = {finding.rule_id for finding in verified.findings}
    assert CAUGHT[lie] <= found
    assert not found & {"STORE-01", "VER-01", "VER-02", "VER-14", "VER-20", "VER-21"}
    assert verified.exit_code in (2, 4)


@pytest.mark.parametrize("name", ["packets", "resumed", "simulated", "loads"])
def test_the_bundle_of_a_run_that_lies_start_from_is_verified(place, tmp_path, keys, name):
    bundle = liar.signed(copied(place, name, tmp_path), tmp_path / "honest.tar", keys["signer"])
    assert verify_bundle(bundle, load_public(keys["signer.pub"])).findings == ()


def one_line_too_close(files):
    """Bring one line nearer to the one before than its trial lasted."""
    middle = len(files.trials) // 2
    files.trials[middle]["at"] = files.trials[middle - 1]["at"]


def test_a_clock_that_was_set_is_a_question(place, tmp_path):
    folder = liar.told(copied(place, "packets", tmp_path), one_line_too_close)
    verified = verify_folder(folder)
    assert verified.findings == ()
    assert {text.split(":")[0] for text in verified.questions} - {"plan"} == {"clock"}


PAGE = "<!DOCTYPE html><html><head><title>r</title></head><body>{body}</body></html>"


def test_parts_that_nobody_compared_are_named_in_the_verdict_line(place, tmp_path, keys):
    folder = copied(place, "ladder", tmp_path)
    run_id = liar.read(folder).run["run_id"]
    robot = tmp_path / "output.xml"
    robot.write_text(f"<robot><msg>run {run_id}: 4 Mfps</msg></robot>", encoding="utf-8")
    page = PAGE.format(body="<p>4 Mfps</p>")
    bundle = liar.signed(folder, tmp_path / "lie.tar", keys["signer"], report=page, robot=robot)
    said = lines(verify_bundle(bundle, load_public(keys["signer.pub"])), clauses=False)
    verdict = next(line for line in said if line.startswith("verified:"))
    assert verdict.endswith("NOT CHECKED, do not open, may say and do anything: report.html, output.xml")


@pytest.mark.parametrize("lie", liar.TIMES, ids=lambda lie: lie.__name__)
def test_times_that_no_clock_gives_are_asked_about(place, tmp_path, keys, lie):
    family = next(one for one in families.FAMILIES if one.name == lie.__name__)
    bundle = families.told(family, 0, place=place, to=tmp_path / "lie", key=keys["signer"])
    assert family.caught(verify_bundle(bundle, load_public(keys["signer.pub"])))


@pytest.mark.parametrize("lie", liar.STRANGERS, ids=lambda lie: lie.__name__)
def test_a_toolkit_or_profile_that_nobody_knows_is_named_first(place, tmp_path, lie):
    folder = liar.told(copied(place, "ladder", tmp_path), lie)
    said = lines(verify_folder(folder), clauses=False)
    verdict = next(number for number, line in enumerate(said) if line.startswith("verified"))
    assert any(line.startswith(liar.STRANGERS[lie]) for line in said[:verdict])


def test_descriptions_of_drivers_are_bound_to_the_runs_end(run_copy):
    run = json.loads((run_copy / "run.json").read_text("ascii"))
    run["drivers"][0]["dpdk"] = "another"
    (run_copy / "run.json").write_text(json.dumps(run), encoding="ascii")
    assert {finding.rule_id for finding in verify_folder(run_copy).findings} == {"VER-14"}


def status(*words: object) -> int:
    return main(["verify", *map(str, words)])


def test_who_signed_and_what_nobody_can_show_is_said_and_has_its_status(place, tmp_path, keys, capsys):
    key = keys["signer.pub"]
    bundle = liar.signed(copied(place, "ladder", tmp_path), tmp_path / "made.tar", keys["signer"])
    assert status(bundle, "--key", key) == 0
    said = capsys.readouterr().out
    assert f"fingerprint {load_public(key).keyid}" in said
    assert "cannot be detected without a challenge or a witness" in said
    assert status(bundle) == SIGNER_UNKNOWN
    assert "consistent, signer unknown: " in capsys.readouterr().out
    assert status(bundle, "--key", key, "--require", "signed,known-toolkit") == 0
    assert status(bundle, "--key", key, "--require", "signed,checked-report") == REQUIREMENT_UNMET
    assert "the bundle holds no report" in capsys.readouterr().out
    assert status(bundle, "--require", "signed") == REQUIREMENT_UNMET
    assert status(bundle, "--key", key, "--require", "challenged") == REQUIREMENT_UNMET
    assert "required and not there: challenged" in capsys.readouterr().out
    assert status(bundle, "--key", keys["other.pub"]) == 2
    with pytest.raises(ConfigError, match="VER-38"):
        required("sined")


@pytest.mark.parametrize(
    ("mix", "vlan_id", "above", "refused"),
    [
        ((), None, 0, 0),
        ((), 100, 0, 0),
        ((), 100, 60_000, 2),
        ((64, 1518), None, 0, 0),  # 1,541,307: frames of a mix take their own time each
        ((64, 1518), None, 60_000, 2),
    ],
)
def test_a_load_at_the_rate_of_the_medium_is_honest_with_a_tag_or_a_mix_too(
    mix: tuple[int, ...], vlan_id: int | None, above: int, refused: int
) -> None:
    rate_bps = 10_000_000_000
    # 14,880,952 of 64 octets (RFC2544-B), tag and FCS within
    load_fps = above + (2 * rate_bps // (8 * (84 + 1538)) if mix else ethernet_fps(rate_bps, 64))
    spec = TrialSpec(
        frame_octets=max(mix, default=64), load_fps=load_fps, duration_s=1.0, vlan_id=vlan_id, mix_octets=mix
    )
    stream = StreamCounts(intended_frames=load_fps, sent_frames=load_fps, received_frames=load_fps)
    result = TrialResult(spec=spec, streams=(stream,), wall_time_ns=1_000_000_000)
    evidence = SimpleNamespace(
        run={"medium": {"kind": "10GBASE-SR", "line_rate_bps": rate_bps}},
        trials=[SimpleNamespace(trial=JudgedTrial(seq=1, result=result, validity=Validity.VALID, reason=""))],
    )
    assert len(list(within_line_rate.check(evidence))) == refused  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("io", "counted"),
    [("af_xdp", True), (["af_xdp", "af_packet"], True), (["af_xdp", "pci"], False), ("pci", False)],
)
def test_the_kernel_counts_at_interfaces_whether_a_file_names_one_kind_of_port_or_two(io, counted):
    evidence_of = SimpleNamespace(
        run={"testbed": {"tester": {"driver": "embedded", "io": io}}}, platform=None
    )
    assert has_interfaces(evidence_of) is counted
