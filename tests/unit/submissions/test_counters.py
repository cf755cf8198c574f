"""What a witness read from a switch: held against the trials, asked about, refused where it cannot be."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import mutations
import parties
import pytest
from parties import Case, World

from bmwg.cli.main import main
from bmwg.methodology.records import Direction, StreamCounts, TrialResult, TrialSpec
from bmwg.methodology.trial.pattern import Pattern
from bmwg.reports.bundle.archive import COUNTERS_PART, Archive
from bmwg.reports.checker.evidence import Evidence
from bmwg.reports.checker.reading import read_evidence
from bmwg.reports.store.canonical import canonical
from bmwg.reports.submissions.counters import contradictions
from bmwg.reports.submissions.documents import moment
from bmwg.reports.submissions.standing import Level
from bmwg.reports.submissions.trust import trust_of
from bmwg.reports.verify.certified import certified

LONG = ("2026-01-31T07:30:00Z", "2026-02-01T12:00:00Z")  # around every made run


@dataclass(frozen=True)
class Reading:
    """What a port of the switch counted: frames from the tester, and to it."""

    tester_port: int
    came: int
    left: int
    begin: str = LONG[0]
    end: str = LONG[1]

    def text(self) -> str:
        return (
            f"  - port: 1/{self.tester_port}\n    tester_port: {self.tester_port}\n"
            f"    from: {self.begin}\n    until: {self.end}\n"
            f"    received_frames: {{before: 70, after: {70 + self.came}}}\n"
            f"    sent_frames: {{before: 9, after: {9 + self.left}}}\n"
        )


def sheet(path: Path, *readings: Reading) -> Path:
    """Write a witness's file."""
    text = "schema: counters/1.0\nswitch: lab-sw1\nreadings:\n" + "".join(one.text() for one in readings)
    path.write_text(text, encoding="ascii")
    return path


def evidence_of(bundle: Path) -> Evidence:
    with Archive(bundle) as archive:
        return read_evidence(archive)


def totals(evidence: Evidence) -> dict[int, tuple[int, int]]:
    """Return what each of the tester's ports sent and received in all trials, counted here another way."""
    sent, received = {1: 0, 2: 0}, {1: 0, 2: 0}
    for one in evidence.trials:
        result = one.trial.result
        ports = {Direction.FORWARD: [1], Direction.REVERSE: [2], Direction.BOTH: [1, 2]}[
            result.spec.direction
        ]
        for port, stream in zip(ports, result.streams, strict=False):
            sent[port] += stream.sent_frames
            received[3 - port] += stream.received_frames + stream.duplicate_frames
    return {port: (sent[port], received[port]) for port in (1, 2)}


@dataclass(frozen=True)
class Scene:
    """A bundle that a witness is about to sign."""

    world: World
    bundle: Path

    def signed(self, *readings: Reading, key: str = "witness") -> Path:
        """Return the bundle that the witness signed with its readings."""
        out = self.world.place / "counted.tar"
        out.unlink(missing_ok=True)
        path = sheet(self.world.place / "counters.yaml", *readings)
        assert self.sign(out, path, key) == 0
        return out

    def sign(self, out: Path, path: Path, key: str = "witness") -> int:
        words = ["--key", str(self.world.key(key)), "--counters", str(path), "--output", str(out)]
        return main(["sign", str(self.bundle), *words])

    def verified(self, bundle: Path) -> Any:
        return certified(bundle, None, trust_of(self.world.trust), at=moment(parties.WITHIN))


@pytest.fixture
def scene(fresh: World) -> Scene:
    return Scene(fresh, fresh.bundle(fresh.run("counted", fresh.challenge())))


def honest(scene: Scene, more: int = 500) -> list[Reading]:
    """Return what a switch counts of the run, and of a few frames beside."""
    each = totals(evidence_of(scene.bundle))
    return [Reading(port, sent + more, received + more) for port, (sent, received) in each.items()]


def counters_asked(verified: Any) -> list[str]:
    return [one for one in verified.questions if one.startswith("counters: ")]


def test_counters_that_agree_stand_on_the_first_screen(scene: Scene, capsys) -> None:
    bundle = scene.signed(*honest(scene))
    verified = scene.verified(bundle)
    assert verified.findings == ()
    assert verified.standing.level is Level.WITNESSED
    assert counters_asked(verified) == []
    words = ["--trust", str(scene.world.trust), "--at", parties.WITHIN]
    assert main(["verify", str(bundle), *words]) == 0
    assert "counters: switch lab-sw1, 1/1, 1/2, read by Third Witness (witness)" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        (lambda first, second: (replace(first, came=first.came - 1), second), "the trials in it sent"),
        (lambda first, second: (first, replace(second, left=second.left - 1)), "the trials in it received"),
        (lambda first, second: (replace(first, came=2 * first.came), second), "was more measured?"),
    ],
)
def test_counters_that_contradict_the_run_are_asked_about(scene: Scene, changed, words, capsys) -> None:
    """One frame less than the run tells, or twice as many: the level stays, `no-questions` is not met."""
    first, second = honest(scene, more=0)
    assert min(first.came, second.left) > 1_000_000
    bundle = scene.signed(*changed(first, second))
    verified = scene.verified(bundle)
    assert verified.findings == ()
    assert verified.standing.level is Level.WITNESSED
    (said,) = counters_asked(verified)
    assert words in said
    told = ["--trust", str(scene.world.trust), "--at", parties.WITHIN, "--require", "no-questions"]
    assert main(["verify", str(bundle), *told]) == 7
    assert words in capsys.readouterr().out


@pytest.mark.parametrize("names", [("p1", "p2", "p10"), ("west", "east", "mid")])
def test_ports_of_a_pattern_are_those_of_the_testbed_file(names: tuple[str, ...]) -> None:
    """The second port sends 40 frames, whatever the ports are called."""
    counts = {f"{name}.sent_frames": sent for name, sent in zip(names, (100, 40, 7), strict=True)}
    spec = TrialSpec(frame_octets=64, load_fps=100, duration_s=1.0, pattern=Pattern(to=((1, 2), (2,), (1,))))
    streams = (StreamCounts(intended_frames=0, sent_frames=0, received_frames=0),) * 3
    result = TrialResult(spec=spec, streams=streams, wall_time_ns=10**9, auxiliary=tuple(counts.items()))
    one = SimpleNamespace(trial=SimpleNamespace(result=result), at="2026-02-01T00:00:00Z", fault=False)
    testbed = {"tester": {"ports": [f"tester/{name}" for name in names]}}
    evidence: Any = SimpleNamespace(run={"simulated": False, "testbed": testbed}, trials=(one,))
    reading = {"port": "1/2", "tester_port": 2, "from": LONG[0], "until": LONG[1]}
    reading |= {name: {"before": 0, "after": 39} for name in ("received_frames", "sent_frames")}
    (said,) = contradictions({"switch": "lab-sw1", "readings": [reading]}, evidence)
    assert "it received 39 frames" in said
    assert "the trials in it sent 40 at the tester's port 2" in said


def test_trials_at_the_edge_of_a_reading_are_not_held_against_it(scene: Scene) -> None:
    """Nothing is asked of a time without a trial, nor of clocks that are half a minute apart."""
    evidence = evidence_of(scene.bundle)
    assert evidence.run is not None
    begun = datetime.fromisoformat(evidence.run["started_at"])
    before = Reading(1, 0, 0, end=f"{begun - timedelta(minutes=5):%Y-%m-%dT%H:%M:%SZ}")
    assert counters_asked(scene.verified(scene.signed(before))) == []
    late = begun + timedelta(seconds=30)
    missed = [one for one in evidence.trials if datetime.fromisoformat(one.at) <= late]
    assert missed
    each = totals(evidence)[1][0] - sum(one.trial.result.streams[0].sent_frames for one in missed)
    reading = Reading(1, each, totals(evidence)[1][1], begin=f"{late:%Y-%m-%dT%H:%M:%SZ}")
    assert counters_asked(scene.verified(scene.signed(reading))) == []


@pytest.mark.parametrize(
    ("key", "words"),
    [
        ("vendor", "SIG-04"),  # who signed already does not sign again
        ("stranger", "not judged: a switch's counters: no witness or lab"),
        ("other", "not judged: a switch's counters: no witness or lab"),  # a vendor's key
    ],
)
def test_counters_of_nobody_count_for_nothing(scene: Scene, key: str, words: str, capsys) -> None:
    out, path = scene.world.place / "counted.tar", sheet(scene.world.place / "c.yaml", Reading(1, 0, 0))
    if scene.sign(out, path, key) == 0:
        assert words in Case(scene.world, out).shown()
        assert counters_asked(scene.verified(out)) == []
    else:
        assert words in capsys.readouterr().err


def test_without_a_body_counters_are_named_and_not_judged(scene: Scene) -> None:
    verified = certified(scene.signed(*honest(scene)))
    assert "a switch's counters: no body that you trust (--trust FOLDER)" in verified.standing.notes
    assert counters_asked(verified) == []


def test_counters_of_another_run_are_none_of_this_one(scene: Scene) -> None:
    """Of a run of another header; those of this run stand in its redacted bundle as well."""
    part = mutations.parts_of(scene.signed(*honest(scene)))[COUNTERS_PART]
    world = scene.world
    for run, salt, expected in (
        (world.run("another", world.challenge()), None, True),
        (world.place / "runs" / "counted", parties.SALT, False),
    ):
        bundle = world.bundle(run, salt=salt)
        bundle.write_bytes(mutations.packed(mutations.parts_of(bundle) | {COUNTERS_PART: part}))
        found = [one.rule_id for one in scene.verified(bundle).findings]
        assert found == (["WIT-02"] if expected else [])


def test_a_signature_that_a_witness_did_not_make_is_refused(scene: Scene) -> None:
    bundle = scene.signed(*honest(scene))
    parts = mutations.parts_of(bundle)
    document = json.loads(parts[COUNTERS_PART])
    document["signatures"][0]["sig"] = base64.b64encode(bytes(64)).decode("ascii")
    parts[COUNTERS_PART] = canonical(document).encode("ascii")
    bundle.write_bytes(mutations.packed(parts))
    assert [one.rule_id for one in scene.verified(bundle).findings] == ["SIG-02"]


@pytest.mark.parametrize(
    ("change", "error"),
    [
        (lambda text: text.replace(f"until: {LONG[1]}", f"until: {LONG[0]}"), "WIT-01"),
        (lambda text: text.replace("after: 75", "after: 69"), "WIT-01"),
        (lambda text: text.replace("until: 2026-02-01T12:00:00Z", "until: 2026-02-01T12:00:00"), "STORE-04"),
        (lambda text: text.replace("tester_port: 1", "tester_port: 3"), "STORE-04"),
        (lambda text: text.replace("after: 75", "after: 7.5"), "STORE-04"),
        (lambda text: text.replace("after: 75", f"after: {10**19}"), "STORE-04"),
        (lambda text: text + "header_sha256: " + "1" * 64 + "\n", "WIT-01"),
        (lambda text: text + "more: 1\n", "STORE-04"),
        (lambda text: text.replace("switch: lab-sw1", "switch: [lab-sw1"), "WIT-01"),
        (lambda text: "", "WIT-01"),
        (lambda text: "readings: []\n", "STORE-04"),
    ],
)
def test_a_file_that_no_witness_signs(scene: Scene, change, error: str, capsys) -> None:
    path, out = sheet(scene.world.place / "counters.yaml", Reading(1, 5, 5)), scene.world.place / "none.tar"
    path.write_text(change(path.read_text("ascii")), encoding="ascii")
    assert scene.sign(out, path) == 2
    assert error in capsys.readouterr().err
    assert not out.exists()


def test_counters_are_added_once_and_by_somebody(scene: Scene, capsys) -> None:
    bundle = scene.signed(*honest(scene))
    path, out = scene.world.place / "counters.yaml", scene.world.place / "twice.tar"
    words = ["--counters", str(path), "--output", str(out)]
    assert main(["sign", str(bundle), "--key", str(scene.world.key("lab")), *words]) == 2
    assert "WIT-03" in capsys.readouterr().err
    assert main(["sign", str(bundle), "--stamp", str(path), *words]) == 2
    assert "BND-01" in capsys.readouterr().err
    assert not out.exists()
