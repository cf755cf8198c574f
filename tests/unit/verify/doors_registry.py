"""Lies told to a registry: copies, other keys, names that read alike, pages in the place of another one."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import liar
import mutations
import replayable
from doors import SALT, Where, bundle_of, told

from bmwg.cli.registry import examine
from bmwg.reports.bundle.make import folder_evidence, make_bundle, submission_data
from bmwg.reports.bundle.signing import load_private, make_key
from bmwg.reports.registry import check
from bmwg.reports.registry.against import changed
from bmwg.reports.registry.check import place_of, published
from bmwg.reports.registry.index import index_page
from bmwg.reports.render.forms.rst import restructured
from bmwg.reports.submissions.names import slug


def handed_in(
    where: Where, *, organization: str, signer: Path, name: str = "packets", readme: str = ""
) -> Path:
    """Put the redacted bundle of a run into a registry, as its organization does; return its folder there."""
    text = (
        f"schema: submission/1.0\norganization: {json.dumps(organization)}\nproduct:\n  name: Forwarder\n"
        '  version: "1.0"\ncontact: ["a@example.net"]\n'
    ).encode()
    folder = where.to / f"by-{slug(organization)}"
    folder.mkdir()
    mine = Where(place=where.place, to=folder, key=signer, seed=where.seed)
    submission = submission_data(text, "submission.yaml")
    signed = load_private(signer)
    bundle = bundle_of(mine, name, submission=submission, submission_octets=text, signer=signed, salt=SALT)
    seen = examine(bundle, signer.with_name(f"{signer.name}.pub"))
    root = where.to / "registry"
    place = root / place_of(seen)
    place.mkdir(parents=True)
    bundle.rename(place / "submission.bmwg.tar")
    (place / "README.md").write_text(readme or "## Reproduce\n\nRun it.\n", encoding="ascii")
    (root / "keys").mkdir(exist_ok=True)
    shutil.copy(signer.with_name(f"{signer.name}.pub"), root / "keys" / f"{slug(organization)}.pem")
    with (root / "accepted.txt").open("a", encoding="ascii") as file:
        file.write(f"{place_of(seen)}\n")
    return place


def copycat(where: Where) -> str:
    """Submit somebody's run again under an organization that sorts before its own."""
    make_key(where.to / "other")
    first = handed_in(where, organization="Second Networks", signer=where.key)
    handed_in(where, organization=f"A {where.seed} Networks", signer=where.to / "other")
    checked = check(where.to / "registry", examine)
    stays = [one.folder for one in published(checked)] == [first]
    return " ".join(one.rule_id for one in checked.findings) if stays else ""


def _changed(where: Where, change: Callable[[Path, Path], object]) -> str:
    place = handed_in(where, organization="Example Networks", signer=where.key)
    root = where.to / "registry"
    before = Path(shutil.copytree(root, where.to / "before"))
    change(root, place)
    return " ".join(one.rule_id for one in changed(before, root))


def key_swapped(where: Where) -> str:
    """Put another key in the place of an organization's."""

    def change(root: Path, place: Path) -> None:
        make_key(where.to / "other")
        shutil.copy(where.to / "other.pub", root / "keys" / "example-networks.pem")

    return _changed(where, change)


def entry_replaced(where: Where) -> str:
    """Take an accepted entry away, or put other octets in its place."""

    def change(root: Path, place: Path) -> None:
        if where.seed % 2:
            shutil.rmtree(place)
        else:
            (place / "submission.bmwg.tar").write_bytes(b"another")

    return _changed(where, change)


def order_changed(where: Where) -> str:
    """Change who was accepted first."""
    return _changed(where, lambda root, place: (root / "accepted.txt").write_text("published/a/b/c\n"))


_CONFUSABLE = (
    "Ex\u0430mple Networks",
    "Ex\u200bample Networks",
    "\uff25xample Networks",
    "\u0415xample Networks",
)


def confusable(where: Where) -> str:
    """Call an organization by a name that reads as another's."""
    handed_in(where, organization=_CONFUSABLE[where.seed % len(_CONFUSABLE)], signer=where.key)
    return " ".join(one.rule_id for one in check(where.to / "registry", examine).findings)


def chinese(where: Where) -> str:
    """An honest organization with a Chinese name: it could not submit."""
    place = handed_in(where, organization="\u534e\u4e3a", signer=where.key)
    checked = check(where.to / "registry", examine)
    return "listed" if [one.folder for one in published(checked)] == [place] else str(checked.findings)


def earlier_key(where: Where) -> str:
    """An honest organization with a new key: what it had signed by the one before stays listed."""
    place = handed_in(where, organization="Example Networks", signer=where.key)
    keys = where.to / "registry" / "keys"
    (keys / "example-networks.pem").rename(keys / "example-networks_1.pem")
    make_key(where.to / "other")
    shutil.copy(where.to / "other.pub", keys / "example-networks.pem")
    checked = check(where.to / "registry", examine)
    return "listed" if [one.folder for one in published(checked)] == [place] else str(checked.findings)


def script_of_a_name(where: Where) -> str:
    """An organization whose whole name is written in letters that look Latin: the index names the script."""
    handed_in(where, organization="\u0410\u0441\u043c\u0435", signer=where.key)
    return restructured(index_page(check(where.to / "registry", examine)))


def _replaced(where: Where, **options: Any) -> str:
    place = handed_in(where, organization="Example Networks", signer=where.key)
    parts = mutations.parts_of(place / "submission.bmwg.tar")
    submission = parts["submission.yaml"]
    again = where.to / "again"
    again.mkdir()
    mine = Where(place=where.place, to=again, key=where.key, seed=where.seed)
    bundle = bundle_of(
        mine,
        "packets",
        submission=submission_data(submission, "submission.yaml"),
        submission_octets=submission,
        signer=load_private(where.key),
        **options,
    )
    shutil.move(bundle, place / "submission.bmwg.tar")
    return " ".join(one.rule_id for one in check(where.to / "registry", examine).findings)


def unredacted(where: Where) -> str:
    """Submit a bundle that shows the machine, its addresses and the pages that somebody rendered."""
    return _replaced(where)


def manifest_of_another_product(where: Where) -> str:
    """Put another product into submission.yaml after signing."""
    bundle = handed_in(where, organization="Example Networks", signer=where.key) / "submission.bmwg.tar"
    parts = mutations.parts_of(bundle)
    parts["submission.yaml"] = parts["submission.yaml"].replace(b"Forwarder", b"Fastest %d" % where.seed)
    bundle.write_bytes(mutations.packed(parts))
    return " ".join(one.rule_id for one in check(where.to / "registry", examine).findings)


def page_of_the_registry(where: Where) -> str:
    """Change a page, or the index, that the registry rendered."""
    handed_in(where, organization="Example Networks", signer=where.key)
    root = where.to / "registry"
    told("registry", "index", root)
    pages = sorted((*root.glob("pages/*/*/*.html"), root / "index.html"))
    page = pages[where.seed % len(pages)]
    page.write_text(page.read_text("utf-8").replace("<body>", f"<body><p>{where.seed} Mfps</p>"), "utf-8")
    return told("registry", "check", root)


def seven_entries(where: Where) -> str:
    """Hand one journal in several times under other ids, years and organizations."""
    make_key(where.to / "other")
    handed_in(where, organization="First Networks", signer=where.key, name="ladder")
    again = Where(place=where.to, to=where.to / "again", key=where.key, seed=where.seed)
    again.to.mkdir()
    folder = where.run("ladder")
    files = liar.read(folder)
    files.run["run_id"] = files.platform["run_id"] = f"run-{where.seed}"
    year = f"20{27 + where.seed % 7}-"
    for name in ("started_at", "ended_at"):
        files.run[name] = files.run[name].replace("2026-", year)
    for trial in files.trials:
        trial["at"] = trial["at"].replace("2026-", year)
        trial["result"]["wall_time_ns"] += 1
    (folder / "platform.json").write_text(json.dumps(files.platform), encoding="ascii")
    replayable.forge(folder, files.run, files.trials)
    text = (
        b"schema: submission/1.0\norganization: Second Networks\nproduct: {name: Other, version: '1.0'}\n"
        b'contact: ["a@example.net"]\n'
    )
    bundle = make_bundle(
        folder,
        where.to / "second.tar",
        evidence=folder_evidence(folder, submission_data(text, "submission.yaml")),
        findings=[],
        submission_octets=text,
        signer=load_private(where.to / "other"),
        salt=SALT,
    )
    readme = where.to / "README.md"
    readme.write_text("## Reproduce\n\nRun it.\n", encoding="ascii")
    return told(
        "registry", "add", where.to / "registry", "--bundle", bundle, "--readme", readme,
        "--key", where.to / "other.pub",
    )  # fmt: skip
