"""Dishonest submissions, each refused or shown by name, and honest ones, which pass at their level."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import liar
import mutations
import parties
import pytest
import replayable
from parties import LAB, SALT, VENDOR, WITHIN, Case, World

from bmwg.cli.main import main
from bmwg.cli.registry import examiner
from bmwg.methodology.errors import ConfigError
from bmwg.reports.registry import check
from bmwg.reports.registry.against import changed
from bmwg.reports.registry.check import place_of, published
from bmwg.reports.registry.index import index_page
from bmwg.reports.registry.site import SEARCH, compare_name, site
from bmwg.reports.render.forms.rst import restructured
from bmwg.reports.store.canonical import canonical
from bmwg.reports.submissions.announcements import require_one_history
from bmwg.reports.submissions.countersign import countersigned
from bmwg.reports.submissions.documents import moment
from bmwg.reports.submissions.standing import Level
from bmwg.reports.submissions.trust import trust_of
from bmwg.reports.verify.certified import certified


def signed_by(world: World, bundle: Path, name: str) -> Path:
    """Return the bundle with a signature more."""
    path = bundle.with_name(f"{bundle.stem}+{name}.tar")
    countersigned(bundle, path, parties.load_private(world.key(name)))
    return path


def changed_parts(bundle: Path, change: Callable[[dict[str, bytes]], dict[str, bytes]]) -> Path:
    """Return a bundle with other parts, as an archive of the right form."""
    path = bundle.with_name(f"{bundle.stem}-changed.tar")
    path.write_bytes(mutations.packed(change(dict(mutations.parts_of(bundle)))))
    return path


def cherry_picked(world: World) -> Case:
    challenge = world.challenge()
    worse, better = world.run("worse", challenge), world.run("better", challenge)
    world.announced(worse, "start", "abort", said="the power went off")
    world.announced(better, "start", "end")
    case = Case(world, world.bundle(better))
    root = world.trust
    (root / "published").mkdir()
    trust = trust_of(root)
    found = check(root, examiner(root, trust), trust.announced)
    case.said.append(restructured(index_page(found)))
    return case


def replayed(world: World) -> Case:
    """The trials of a run of last year, under a header that takes today's challenge."""
    folder = world.run("replayed", None)
    return Case(world, _bound_to(world, folder, world.challenge(**{"from": "2026-02-01T00:00:00Z"})))


def re_signed(world: World) -> Case:
    return Case(world, world.bundle(world.run("mine", world.challenge()), key="other"))


def out_of_window(world: World) -> Case:
    challenge = world.challenge(**{"from": "2026-01-01T00:00:00Z", "until": "2026-01-02T00:00:00Z"})
    return Case(world, world.bundle(world.run("late", challenge)))


def of_another_organization(world: World) -> Case:
    return Case(world, world.bundle(world.run("theirs", world.challenge(organization="Other Networks"))))


def of_another_version(world: World) -> Case:
    return Case(world, world.bundle(world.run("version", world.challenge()), version="4.2.2"))


def of_another_plan(world: World) -> Case:
    return Case(world, world.bundle(world.run("planned", world.challenge(plan_sha256="7" * 64))))


def of_another_order(world: World) -> Case:
    return Case(world, world.bundle(world.run("ordered", world.challenge(order_seed=4))))


def challenged_by_himself(world: World) -> Case:
    return Case(world, world.bundle(world.run("self", world.challenge(by="vendor"))))


def another_nonce(world: World) -> Case:
    """The header was bound to one challenge, and the bundle holds a later one."""
    run = world.run("nonce", world.challenge())
    shutil.copy(world.challenge("second", nonce="cd" * 32), run / "challenge.json")
    return Case(world, world.bundle(run))


def challenge_left_out(world: World) -> Case:
    run = world.run("left", world.challenge())
    (run / "challenge.json").unlink()
    return Case(world, world.bundle(run))


def stitched(world: World) -> Case:
    """The first half of one run's trials, then the second half of another's."""
    challenge = world.challenge()
    one, other = world.run("stitch-a", challenge), world.run("stitch-b", challenge, seed=8)
    files, theirs = liar.read(one), replayable.bodies(other)
    half = len(files.trials) // 2
    replayable.forge(one, files.run, [*files.trials[:half], *theirs[half:]])
    return Case(world, _unchecked(world, one))


def reordered(world: World) -> Case:
    """Cells measured in an order that the challenge's seed does not give."""
    run = world.run("order", world.challenge())
    files = liar.read(run)
    cells = list(dict.fromkeys(one["cell"] for one in files.trials))
    files.trials.sort(key=lambda one: -cells.index(one["cell"]))
    replayable.forge(run, files.run, files.trials)
    return Case(world, _unchecked(world, run))


def expired_key(world: World) -> Case:
    world.lists(world.entry("vendor", until="2026-01-31T12:00:00Z"))
    return Case(world, world.bundle(world.run("expired", world.challenge())))


def revoked_key(world: World) -> Case:
    revoked = {"at": "2026-01-20T00:00:00Z", "why": "it was stolen"}
    world.lists(world.entry("vendor", revoked=revoked))
    return Case(world, world.bundle(world.run("revoked", world.challenge())))


def wrong_role(world: World) -> Case:
    world.lists(world.entry("vendor", role="witness"))
    return Case(world, world.bundle(world.run("role", world.challenge())))


def signature_stripped(world: World) -> Case:
    bundle = signed_by(world, world.bundle(world.run("stripped", world.challenge())), "witness")

    def without_vendor(parts: dict[str, bytes]) -> dict[str, bytes]:
        envelope = json.loads(parts["envelope.json"])
        mine = parties.load_public(world.public("vendor")).keyid
        envelope["signatures"] = [one for one in envelope["signatures"] if one["keyid"] != mine]
        return parts | {"envelope.json": canonical(envelope).encode("ascii")}

    return Case(world, changed_parts(bundle, without_vendor))


def log_rewritten(world: World) -> Case:
    """The vendor writes his log anew without the run that went wrong; the body's registry held it before."""
    challenge = world.challenge()
    worse, better = world.run("log-a", challenge), world.run("log-b", challenge)
    world.announced(worse, "start", "end")
    before = Path(shutil.copytree(world.trust, world.place / "before"))
    (before / "published").mkdir()
    world.log.unlink()
    world.announced(better, "start", "end")
    case = Case(world, world.bundle(better))
    case.said += map(str, changed(before, world.trust))
    return case


def two_histories(world: World) -> Case:
    challenge = world.challenge()
    mine, theirs = world.run("two-a", challenge), world.run("two-b", challenge)
    shown = world.announced(theirs, "start", log=world.place / "shown-to-others.jsonl")
    world.announced(mine, "start")
    case = Case(world, world.bundle(mine))
    with pytest.raises(ConfigError) as error:
        require_one_history(world.log, shown)
    case.said.append(str(error.value))
    return case


def made_again(world: World) -> Case:
    """A run is announced; another one is handed in under its id."""
    challenge = world.challenge()
    world.announced(world.run("again", challenge), "start")
    run = world.run("again", challenge)
    files = liar.read(run)
    files.run["testbed"]["name"] = "another"
    replayable.forge(run, files.run, files.trials)
    return Case(world, _unchecked(world, run))


def not_announced(world: World) -> Case:
    challenge = world.challenge()
    world.announced(world.run("first", challenge), "start")
    return Case(world, world.bundle(world.run("second", challenge)))


def own_witness(world: World) -> Case:
    """A second key of the vendor stands beside his own as a witness."""
    world.lists(world.entry("vendor"), world.entry("other", organization=VENDOR, role="witness"))
    return Case(world, signed_by(world, world.bundle(world.run("own", world.challenge())), "other"))


def lab_without_a_run(world: World) -> Case:
    """A lab hands the vendor's trials in as its own."""
    vendor = world.bundle(world.run("lab-of", world.challenge()))
    challenge = world.challenge("lab", organization=LAB)
    return Case(world, vendor, beside=_bound_to(world, world.run("lab-run", None), challenge, "lab", LAB))


def _bound_to(
    world: World, folder: Path, challenge: Path, key: str = "vendor", organization: str = VENDOR
) -> Path:
    """Return the bundle of a run whose header was bound to a challenge afterwards."""
    files = liar.read(folder)
    files.run["challenge_sha256"] = parties.challenge_of(challenge).sha256
    files.run["order_seed"] = parties.challenge_of(challenge).told["order_seed"]
    replayable.forge(folder, files.run, files.trials)
    shutil.copy(challenge, folder / "challenge.json")
    return world.bundle(folder, key, organization)


def _unchecked(world: World, folder: Path) -> Path:
    """Return the bundle of a run that does not verify, which no toolkit would write."""
    return world.bundle(folder)


DISHONEST: dict[Callable[[World], Case], tuple[str, ...]] = {
    cherry_picked: ("Announced runs without a bundle", "worse", "the power went off"),
    replayed: ("challenge: outside: begun at 2026-01-31", "level: self-declared"),
    re_signed: ("SIG-06", "Other Networks"),
    out_of_window: ("challenge: outside: ended at", "level: self-declared"),
    of_another_organization: ("challenge: foreign: it asks for organization Other Networks",),
    of_another_version: ("challenge: foreign: it asks for version 4.2.1, found 4.2.2",),
    of_another_plan: ("challenge: foreign: it asks for plan 7777",),
    of_another_order: ("challenge: foreign: it asks for order seed 4, found 3",),
    challenged_by_himself: ("challenge: unsigned: no key of Example Body signed it",),
    another_nonce: ("VER-61",),
    challenge_left_out: ("VER-61",),
    stitched: ("VER-08",),
    reordered: ("VER-40",),
    expired_key: ("SIG-06", "expired at 2026-01-31T12:00:00Z"),
    revoked_key: ("SIG-06", "revoked at 2026-01-20T00:00:00Z: it was stolen"),
    wrong_role: ("SIG-06", "(witness)"),
    signature_stripped: ("SIG-06", "Third Witness"),
    log_rewritten: ("REG-19", "another history"),
    two_histories: ("ANN-03", "start of two-a and start of two-b"),
    made_again: ("ANN-05",),
    not_announced: ("not challenged: Example Body holds no announcement of the run",),
    own_witness: ("level: challenged", "0 of 1 witnesses or labs signed beside Example Networks"),
    lab_without_a_run: ("level: challenged", "they hold the same trials"),
}


@pytest.mark.parametrize("make", DISHONEST, ids=lambda make: make.__name__)
def test_a_dishonest_submission_is_refused_or_shown_by_name(fresh: World, make) -> None:
    said = make(fresh).shown()
    for words in DISHONEST[make]:
        assert words in said
    assert "level: reproduced" not in said
    assert "level: witnessed" not in said


def plain(world: World) -> Case:
    return Case(world, world.bundle(world.run("plain", None)))


def challenged(world: World) -> Case:
    return Case(world, world.bundle(world.run("challenged", world.challenge())))


def redacted(world: World) -> Case:
    return Case(world, world.bundle(world.run("redacted", world.challenge()), salt=parties.SALT))


def challenged_by_a_key_of_the_body(world: World) -> Case:
    world.lists(world.entry("vendor"), world.entry("other", organization=parties.BODY, role="body"))
    return Case(world, world.bundle(world.run("delegated", world.challenge(by="other"))))


def announced(world: World) -> Case:
    run = world.run("announced", world.challenge())
    world.announced(run, "start", "end")
    return Case(world, world.bundle(run))


def announced_and_one_given_up(world: World) -> Case:
    challenge = world.challenge()
    world.announced(world.run("given-up", challenge), "start", "abort", said="a cable was loose")
    run = world.run("second-try", challenge)
    world.announced(run, "start", "end")
    return Case(world, world.bundle(run))


def witnessed(world: World) -> Case:
    return Case(world, signed_by(world, world.bundle(world.run("witnessed", world.challenge())), "witness"))


def seen_by_a_lab(world: World) -> Case:
    return Case(world, signed_by(world, world.bundle(world.run("by-lab", world.challenge())), "lab"))


def three_signatures(world: World) -> Case:
    bundle = world.bundle(world.run("three", world.challenge()))
    return Case(world, signed_by(world, signed_by(world, bundle, "witness"), "lab"))


def two_witnesses_needed(world: World) -> Case:
    world.lists(thresholds={"witness": 2})
    return three_signatures(world)


def one_witness_of_two(world: World) -> Case:
    world.lists(thresholds={"witness": 2})
    return witnessed(world)


def two_keys_of_the_vendor(world: World) -> Case:
    world.lists(world.entry("vendor"), world.entry("other", organization=VENDOR), thresholds={"vendor": 2})
    return Case(world, signed_by(world, world.bundle(world.run("both", world.challenge())), "other"))


def signed_by_a_stranger_too(world: World) -> Case:
    world.key("stranger")
    return Case(world, signed_by(world, world.bundle(world.run("stranger", world.challenge())), "stranger"))


def key_revoked_later(world: World) -> Case:
    world.lists(world.entry("vendor", revoked={"at": "2026-03-01T00:00:00Z", "why": "its owner left"}))
    return Case(world, world.bundle(world.run("later", world.challenge())))


def key_of_an_earlier_year(world: World) -> Case:
    world.lists(
        world.entry("vendor", until="2026-02-10T00:00:00Z"), world.entry("other", organization=VENDOR)
    )
    return Case(world, world.bundle(world.run("earlier", world.challenge())))


def of_a_lab(world: World) -> Case:
    run = world.run("of-lab", world.challenge(organization=LAB))
    return Case(world, world.bundle(run, "lab", LAB))


def reproduced(world: World, salt: bytes | None = None) -> Case:
    vendor = world.bundle(world.run("vendors", world.challenge()), salt=salt)
    lab = world.run("labs", world.challenge("labs", organization=LAB, nonce="ef" * 32), seed=21)
    return Case(world, vendor, beside=world.bundle(lab, "lab", LAB, salt=salt))


def not_reproduced(world: World) -> Case:
    vendor = world.bundle(world.run("vendors-2", world.challenge()))
    lab = world.run("labs-2", world.challenge("labs", organization=LAB), seed=21, knee_fps=500_000)
    return Case(world, vendor, beside=world.bundle(lab, "lab", LAB))


def late_and_says_so(world: World) -> Case:
    return out_of_window(world)


def of_several_sizes(world: World) -> Case:
    return Case(world, world.bundle(world.run("sizes", None, sizes=(64, 512))))


HONEST: dict[Callable[[World], Case], Level] = {
    plain: Level.SELF_DECLARED,
    challenged: Level.CHALLENGED,
    redacted: Level.CHALLENGED,
    challenged_by_a_key_of_the_body: Level.CHALLENGED,
    announced: Level.CHALLENGED,
    announced_and_one_given_up: Level.CHALLENGED,
    witnessed: Level.WITNESSED,
    seen_by_a_lab: Level.WITNESSED,
    three_signatures: Level.WITNESSED,
    two_witnesses_needed: Level.WITNESSED,
    one_witness_of_two: Level.CHALLENGED,
    two_keys_of_the_vendor: Level.CHALLENGED,
    signed_by_a_stranger_too: Level.CHALLENGED,
    key_revoked_later: Level.CHALLENGED,
    key_of_an_earlier_year: Level.CHALLENGED,
    of_a_lab: Level.CHALLENGED,
    reproduced: Level.REPRODUCED,
    not_reproduced: Level.CHALLENGED,
    late_and_says_so: Level.SELF_DECLARED,
    of_several_sizes: Level.SELF_DECLARED,
}


@pytest.mark.parametrize("make", HONEST, ids=lambda make: make.__name__)
def test_an_honest_submission_passes_at_its_level(fresh: World, make) -> None:
    case = make(fresh)
    verified = certified(
        case.bundle, None, trust_of(fresh.trust), at=moment(case.at), reproduction=case.beside
    )
    assert verified.findings == ()
    assert verified.standing is not None
    assert verified.standing.level is HONEST[make], verified.standing.why_not
    assert bool(verified.standing.why_not) is (HONEST[make] is not Level.REPRODUCED)


def test_there_are_twenty_of_each() -> None:
    assert len(DISHONEST) >= 20
    assert len(HONEST) >= 20


def test_the_registry_shows_levels_and_reproductions(fresh: World) -> None:
    """Two parties' bundles in one registry: the first is reproduced by the second, and the page says so.

    A bundle that the registry does not publish reproduces none.
    """
    root = fresh.trust
    case = reproduced(fresh, salt=SALT)
    assert case.beside is not None
    for bundle in (case.bundle, case.beside):
        trust = trust_of(root)
        seen = examiner(root, trust)(_in_place(root, bundle), None)
        place = root / place_of(seen)
        place.mkdir(parents=True)
        shutil.copy(bundle, place / "submission.bmwg.tar")
        (place / "README.md").write_text("## Reproduce\n\nRun it.\n", encoding="ascii")
        with (root / "accepted.txt").open("a", encoding="ascii") as file:
            file.write(f"{place_of(seen)} {WITHIN}\n")
    shutil.rmtree(root / "new")
    found = check(root, examiner(root, trust_of(root)))
    levels = {one.organization: one.examined.standing.level for one in found.entries if one.examined}
    assert levels == {"example-networks": Level.REPRODUCED, "second-lab": Level.CHALLENGED}
    assert found.findings == ()
    assert "reproduced" in restructured(index_page(found))
    made = site(found.entries)
    first, second = found.entries
    assert "reproduced 2026-02-01, indicative<" in made[first.badge].decode("ascii")
    assert "challenged 2026-02-01" in made[second.badge].decode("ascii")
    assert "Example Forwarder" in made[SEARCH].decode("utf-8")
    assert "All in all: agrees" in made[compare_name(first, second)].decode("utf-8")
    assert not [name for name, text in made.items() if b"<script" in text]
    (second.folder / "README.md").unlink()
    (alone,) = published(without := check(root, examiner(root, trust_of(root))))
    assert alone.examined is not None
    assert alone.examined.standing is not None
    assert alone.examined.standing.level is Level.CHALLENGED
    assert {one.place for one in without.findings} == {second.place, f"{second.place}/README.md"}


def test_the_bodys_key_is_changed_by_a_person_alone(fresh: World) -> None:
    before = Path(shutil.copytree(fresh.trust, fresh.place / "before"))
    (before / "published").mkdir()
    shutil.copy(fresh.public("other"), fresh.trust / "body.pem")
    assert [one.rule_id for one in changed(before, fresh.trust)] == ["REG-18"]


@pytest.mark.parametrize("name", ["stamps/mine.pem", "trusted_root.json"])
def test_what_a_body_pins_is_changed_by_a_person_alone(fresh: World, name: str) -> None:
    """A vendor who may add a root stamps for himself, and vouches for whom he likes."""
    before = Path(shutil.copytree(fresh.trust, fresh.place / "before"))
    (before / "published").mkdir()
    (fresh.trust / "stamps").mkdir()
    assert not list(changed(before, fresh.trust))
    (fresh.trust / name).write_text("a root", encoding="ascii")
    assert [(one.rule_id, one.place) for one in changed(before, fresh.trust)] == [("REG-18", name)]
    (before / "stamps").mkdir()
    shutil.copy(fresh.trust / name, before / name)
    assert not list(changed(before, fresh.trust))
    (fresh.trust / name).unlink()
    assert [(one.rule_id, one.place) for one in changed(before, fresh.trust)] == [("REG-18", name)]


def test_a_list_from_before_a_key_was_revoked_does_not_come_back(fresh: World) -> None:
    """It is signed by the body, and was true once."""
    old = Path(shutil.copytree(fresh.trust, fresh.place / "old"))
    (old / "published").mkdir()
    words = ["--public", str(fresh.public("vendor")), "--at", WITHIN, "--why", "it was stolen"]
    assert main(["keys", "revoke", str(fresh.trust), "--key", str(fresh.key("body")), *words]) == 0
    assert not list(changed(old, fresh.trust))
    now = Path(shutil.copytree(fresh.trust, fresh.place / "now"))
    (now / "published").mkdir()
    assert [one.rule_id for one in changed(now, old)] == ["REG-20"]
    (fresh.trust / "keys.json").unlink()
    assert [one.rule_id for one in changed(now, fresh.trust)] == ["REG-20"]


@pytest.mark.parametrize(
    ("key", "options", "status", "words"),
    [
        ("vendor", {"seed": 21}, 2, "CMP-09"),
        ("lab", {}, 2, "they hold the same trials"),
        ("lab", {"seed": 21}, 0, "agrees: "),
        ("lab", {"seed": 22, "knee_fps": 500_000}, 1, "differs: of"),
    ],
)
def test_reproduce_needs_two_parties(fresh: World, capsys, key, options, status, words) -> None:
    """By the command: 0 agrees, 1 differs, and runs of one key or of the same trials are refused."""
    first = fresh.bundle(fresh.run("a", None))
    second = fresh.bundle(fresh.run("b", None, **options), key, LAB if key == "lab" else VENDOR)
    assert main(["compare", "--reproduce", str(first), str(second)]) == status
    told = capsys.readouterr()
    assert words in told.out + told.err


def _in_place(root: Path, bundle: Path) -> Path:
    folder = root / "new"
    folder.mkdir(exist_ok=True)
    return Path(shutil.copy(bundle, folder / bundle.name))
