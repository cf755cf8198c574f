"""Submissions of somebody who lies, each with the words by which it is refused or shown."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import liar
import mutations
import parties
import pytest
import replayable
from parties import LAB, LATE, VENDOR, Case, Make, World, case_of, signed_by

from bmwg.cli.registry import examiner
from bmwg.methodology.errors import ConfigError
from bmwg.reports.registry import check
from bmwg.reports.registry.against import changed
from bmwg.reports.registry.index import index_page
from bmwg.reports.render.forms.rst import restructured
from bmwg.reports.store.canonical import canonical
from bmwg.reports.submissions.announcements import require_one_history
from bmwg.reports.submissions.trust import trust_of


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


def reproduced_by(name: str, change: Callable[[dict[str, Any]], object]) -> Make:
    """Return a case beside which a lab hands in an honest run whose header was changed so."""

    def make(world: World) -> Case:
        vendor = world.bundle(world.run(f"{name}-vendor", world.challenge()))
        challenge = world.challenge("labs", organization=LAB, nonce="ef" * 32)
        run = world.run(f"{name}-lab", challenge, seed=21)
        files = liar.read(run)
        change(files.run)
        replayable.forge(run, files.run, files.trials)
        return Case(world, vendor, beside=world.bundle(run, "lab", LAB))

    make.__name__ = name
    return make


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


DISHONEST: dict[Make, tuple[str, ...]] = {
    cherry_picked: ("Announced runs without a bundle", "worse", "the power went off"),
    replayed: ("challenge: outside: begun at 2026-01-31", "level: self-declared"),
    case_of("re_signed", {}, key="other"): ("SIG-06", "Other Networks"),
    case_of("out_of_window", LATE): ("challenge: outside: ended at", "level: self-declared"),
    case_of("of_another_organization", {"organization": "Other Networks"}): (
        "challenge: foreign: it asks for organization Other Networks",
    ),
    case_of("of_another_version", {}, version="4.2.2"): (
        "challenge: foreign: it asks for version 4.2.1, found 4.2.2",
    ),
    case_of("of_another_plan", {"plan_sha256": "7" * 64}): ("challenge: foreign: it asks for plan 7777",),
    case_of("of_another_order", {"order_seed": 4}): (
        "challenge: foreign: it asks for order seed 4, found 3",
    ),
    case_of("challenged_by_himself", {"by": "vendor"}): (
        "challenge: unsigned: no key of Example Body signed it",
    ),
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
    reproduced_by("changed_toolkit", lambda run: run["toolkit"].update(dirty=True)): (
        "level: challenged",
        "not reproduced: Second Lab: its own run is no whole measurement: dirty: ",
    ),
    reproduced_by("nameless_toolkit", lambda run: run["toolkit"].update(commit=None, dirty=None)): (
        "level: challenged",
        "not reproduced: Second Lab: its own run is no whole measurement: unknown toolkit: ",
    ),
    reproduced_by("broken_off", lambda run: run.update(status="interrupted", interruption="made")): (
        "level: challenged",
        "not reproduced: Second Lab: its own run is no whole measurement: incomplete: ",
    ),
}
