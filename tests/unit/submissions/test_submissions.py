"""Dishonest submissions, each refused or shown by name, and honest ones, which pass at their level."""

from __future__ import annotations

import shutil
from pathlib import Path

import parties
import pytest
from dishonest import DISHONEST
from parties import LAB, LATE, SALT, VENDOR, WITHIN, Case, Make, World, case_of, signed_by

from bmwg.cli.main import main
from bmwg.cli.registry import examiner
from bmwg.reports.registry import check
from bmwg.reports.registry.against import changed
from bmwg.reports.registry.check import place_of, published
from bmwg.reports.registry.index import index_page
from bmwg.reports.registry.site import SEARCH, compare_name, site
from bmwg.reports.render.forms.rst import restructured
from bmwg.reports.submissions.documents import moment
from bmwg.reports.submissions.standing import Level
from bmwg.reports.submissions.trust import trust_of
from bmwg.reports.verify.certified import certified


@pytest.mark.parametrize("make", DISHONEST, ids=lambda make: make.__name__)
def test_a_dishonest_submission_is_refused_or_shown_by_name(fresh: World, make) -> None:
    said = make(fresh).shown()
    for words in DISHONEST[make]:
        assert words in said
    assert "level: reproduced" not in said
    assert "level: witnessed" not in said


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


def of_several_sizes(world: World) -> Case:
    return Case(world, world.bundle(world.run("sizes", None, sizes=(64, 512))))


HONEST: dict[Make, Level] = {
    case_of("plain"): Level.SELF_DECLARED,
    case_of("challenged", {}): Level.CHALLENGED,
    case_of("redacted", {}, salt=parties.SALT): Level.CHALLENGED,
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
    case_of("late_and_says_so", LATE): Level.SELF_DECLARED,
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


def test_a_list_that_another_key_would_sign_stays_as_it_was(fresh: World, capsys) -> None:
    before = (fresh.trust / "keys.json").read_bytes()
    words = ["--public", str(fresh.public("vendor")), "--at", WITHIN, "--why", "it was stolen"]
    assert main(["keys", "revoke", str(fresh.trust), "--key", str(fresh.key("vendor")), *words]) == 2
    assert "KEY-04" in capsys.readouterr().err
    assert (fresh.trust / "keys.json").read_bytes() == before


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
