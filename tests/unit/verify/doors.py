"""Lies told around a bundle: to whoever compares, imports, bundles, checks out, publishes or reads a status.

Each attack makes what its owner would hand over or ask for, and returns the ids and words with which the
toolkit answers; `caught` has those of which one must be among them.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import honest
import liar
import mutations
import replayable

from bmwg.cli.main import main
from bmwg.cli.registry import examine
from bmwg.drivers.nodes import bounded
from bmwg.reports.bundle.archive import RENDERED_PARTS
from bmwg.reports.bundle.make import folder_evidence, make_bundle, submission_data
from bmwg.reports.bundle.signing import load_private, make_key
from bmwg.reports.registry import check
from bmwg.reports.registry.against import changed
from bmwg.reports.registry.check import place_of, published
from bmwg.reports.registry.index import index_page
from bmwg.reports.render.forms.rst import restructured
from bmwg.reports.render.page.report import write_report
from bmwg.reports.submissions.names import slug
from bmwg.reports.verify.trust import SIGNER_UNKNOWN

ROOT = Path(__file__).parents[3]
SALT = b"0123456789abcdef"
FOREIGN = ROOT / "tests" / "data" / "foreign"
_DEVIATIONS = (
    "schema: deviations/1.0\n"
    "deviations: [{requirement: RFC2544-9.1, what: three sizes, why: no others here, by: the lab}]\n"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Where:
    """What an attack has: the place of honest runs, an empty folder, the key of its owner, a seed."""

    place: Path
    to: Path
    key: Path
    seed: int

    def run(self, name: str) -> Path:
        """Return a copy of an honest run."""
        return honest.copied(self.place, name, self.to)


Attack = Callable[[Where], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Door:
    """One attack, and what answers it: an id, or words of the first lines."""

    name: str
    attack: Attack
    answer: str

    def caught(self, said: str) -> bool:
        """Whether the toolkit's answer is the one that is due."""
        return self.answer in said


def told(*words: object) -> str:
    """Return what the command prints, with its exit status as the last word."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        try:
            status = main([str(word) for word in words])
        except SystemExit as end:
            status = int(end.code or 0)
    return f"{out.getvalue()}\nstatus {status}"


def compared_with_edited_outcomes(where: Where) -> str:
    """Raise a throughput in run.json and hold the run against an honest one."""
    edited, honest = where.run("ladder"), where.run("packets")
    run = json.loads((edited / "run.json").read_text("ascii"))
    values = [value for one in run["outcomes"] for value in one["values"]]
    values[where.seed % len(values)]["number"] *= 2
    (edited / "run.json").write_text(json.dumps(run), encoding="ascii")
    return told("compare", edited, honest)


def compared_with_a_model(where: Where) -> str:
    """Call `simulated` what is compared, so that a model stands beside a device."""
    names = ("simulated", "simulated/")
    return told(
        "compare", where.run("packets"), where.run("simulated"), "--under-test", names[where.seed % 2]
    )


def compared_unverified(where: Where) -> str:
    """Compare without verifying, and hand the page over."""
    forms = ("screen", "text", "md", "html", "json")
    form = forms[where.seed % len(forms)]
    said = told("compare", where.run("packets"), where.run("ladder"), "--unverified", "--format", form)
    return said.replace('"unverified": true', "Not verified")


_BROKEN_JSON: tuple[Callable[[str], str], ...] = (
    lambda text: text.replace("{", '{"z": 1' + "0" * 400 + ", ", 1),
    lambda text: text.replace("{", '{"z": Infinity, ', 1),
    lambda text: text.replace("{", '{"z": 1e999, ', 1),
    lambda text: text.replace("{", '{"z": 1, "z": 2, ', 1),
    lambda text: text.replace("{", '{"z": NaN, ', 1),
)


def imported(where: Where) -> str:
    """Import a result of another tool with a number that cannot be counted with, or a key twice."""
    files = sorted(FOREIGN.glob("*.json"))
    text = files[where.seed % len(files)].read_text("utf-8")
    path = where.to / "result.json"
    path.write_text(_BROKEN_JSON[where.seed % len(_BROKEN_JSON)](text), encoding="utf-8")
    return told("import", path)


def _signed(where: Where, name: str = "ladder", **options: Any) -> Path:
    run = where.run(name)
    return make_bundle(
        run,
        where.to / "lie.tar",
        evidence=folder_evidence(run, options.pop("submission", None)),
        findings=[],
        **options,
    )


def unsigned(where: Where) -> str:
    """Hand over a bundle that nobody signed, or somebody unknown, and let a script read the status."""
    signer = load_private(where.key) if where.seed % 2 else None
    said = told("verify", _signed(where, signer=signer))
    return said if f"status {SIGNER_UNKNOWN}" in said else ""


def bundled_with_later_deviations(where: Where) -> str:
    """Declare deviations after the report was rendered: `bundle` made what its own `verify` refused."""
    run = replayable.make_run(where.to / "results", seed=where.seed)
    write_report(run)
    (run / "deviations.yaml").write_text(_DEVIATIONS, encoding="ascii")
    from bmwg.cli import bundle as module

    asked, module.toolkit_state = module.toolkit_state, lambda: ("", replayable.COMMIT, False)
    try:
        return told("bundle", run, "--output", where.to / "b.tar")
    finally:
        module.toolkit_state = asked


def checked_out_by_somebody_else(where: Where) -> str:
    """Verify in a checkout that another user owns: git said nothing of it, so nothing was rendered."""
    script = "from bmwg.resources.run.provenance import toolkit_state; print('commit', toolkit_state()[1])"
    command = [sys.executable, "-c", script]
    done = bounded.run(
        [
            *(("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups") if not os.getuid() else ()),
            *command,
        ],
        deadline_s=60,
        cwd=Path("/"),
        env={"PATH": os.environ["PATH"], "HOME": "/nonexistent", "PYTHONPATH": str(ROOT / "src")},
    )
    return (
        "the commit of this checkout" if done.stdout.split()[1:] == [_head()] else done.stdout + done.stderr
    )


def readable_by_others() -> bool:
    """Whether another user can read this checkout and its interpreter."""
    parents = [*Path(sys.executable).resolve().parents, *ROOT.parents, ROOT]
    return bool(shutil.which("setpriv")) and all(path.stat().st_mode & 0o005 == 0o005 for path in parents)


def _head() -> str:
    git = ["git", "-c", f"safe.directory={ROOT}", "-C", str(ROOT), "rev-parse", "HEAD"]
    return bounded.run(git, deadline_s=60).stdout.strip() or "None"


def _registry(
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
    bundle = _signed(mine, name, submission=submission, submission_octets=text, signer=signed, salt=SALT)
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
    first = _registry(where, organization="Second Networks", signer=where.key)
    _registry(where, organization=f"A {where.seed} Networks", signer=where.to / "other")
    checked = check(where.to / "registry", examine)
    stays = [one.folder for one in published(checked)] == [first]
    return " ".join(one.rule_id for one in checked.findings) if stays else ""


def _changed(where: Where, change: Callable[[Path, Path], object]) -> str:
    place = _registry(where, organization="Example Networks", signer=where.key)
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
    _registry(where, organization=_CONFUSABLE[where.seed % len(_CONFUSABLE)], signer=where.key)
    return " ".join(one.rule_id for one in check(where.to / "registry", examine).findings)


def chinese(where: Where) -> str:
    """An honest organization with a Chinese name: it could not submit."""
    place = _registry(where, organization="\u534e\u4e3a", signer=where.key)
    checked = check(where.to / "registry", examine)
    return "listed" if [one.folder for one in published(checked)] == [place] else str(checked.findings)


def earlier_key(where: Where) -> str:
    """An honest organization with a new key: what it had signed by the one before stays listed."""
    place = _registry(where, organization="Example Networks", signer=where.key)
    keys = where.to / "registry" / "keys"
    (keys / "example-networks.pem").rename(keys / "example-networks_1.pem")
    make_key(where.to / "other")
    shutil.copy(where.to / "other.pub", keys / "example-networks.pem")
    checked = check(where.to / "registry", examine)
    return "listed" if [one.folder for one in published(checked)] == [place] else str(checked.findings)


def script_of_a_name(where: Where) -> str:
    """An organization whose whole name is written in letters that look Latin: the index names the script."""
    _registry(where, organization="\u0410\u0441\u043c\u0435", signer=where.key)
    return restructured(index_page(check(where.to / "registry", examine)))


def no_report(where: Where) -> str:
    """Hand over a bundle without a report to somebody who insists on one that was checked."""
    pub = where.key.with_name(f"{where.key.name}.pub")
    run = where.run("ladder")
    for name in RENDERED_PARTS:
        (run / name).unlink(missing_ok=True)
    bundle = make_bundle(
        run,
        where.to / "lie.tar",
        evidence=folder_evidence(run),
        findings=[],
        signer=load_private(where.key),
    )
    return told("verify", bundle, "--key", pub, "--require", "checked-report")


def _replaced(where: Where, **options: Any) -> str:
    place = _registry(where, organization="Example Networks", signer=where.key)
    parts = mutations.parts_of(place / "submission.bmwg.tar")
    submission = parts["submission.yaml"]
    again = where.to / "again"
    again.mkdir()
    mine = Where(place=where.place, to=again, key=where.key, seed=where.seed)
    bundle = _signed(
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
    bundle = _registry(where, organization="Example Networks", signer=where.key) / "submission.bmwg.tar"
    parts = mutations.parts_of(bundle)
    parts["submission.yaml"] = parts["submission.yaml"].replace(b"Forwarder", b"Fastest %d" % where.seed)
    bundle.write_bytes(mutations.packed(parts))
    return " ".join(one.rule_id for one in check(where.to / "registry", examine).findings)


_NAMED = {
    "location": "https://ixia-fra7.lab.corp.example:8443",
    "server": "10.66.7.8:4501",
    "user": "alice",
    "image": "/srv/images/acme-fw-9.qcow2",
}


def readable_names(where: Where) -> str:
    """Publish a redacted bundle of a testbed that names servers, people and paths."""
    named, described = replayable.TESTBED, replayable.DESCRIBED
    replayable.TESTBED = json.loads(json.dumps(named))
    replayable.TESTBED["tester"]["options"] = dict(_NAMED)
    replayable.DESCRIBED = {"path": "node", "hosting": {"form": "vm", **_NAMED}}
    try:
        run = replayable.make_run(where.to / "results", seed=where.seed)
    finally:
        replayable.TESTBED, replayable.DESCRIBED = named, described
    bundle = make_bundle(run, where.to / "public.tar", evidence=folder_evidence(run), findings=[], salt=SALT)
    shown = b"\n".join(mutations.parts_of(bundle).values()).decode("utf-8")
    return "readable" if any(text in shown for text in (*_NAMED.values(), "10.66.7.8", "/srv")) else "hidden"


def page_of_the_registry(where: Where) -> str:
    """Change a page, or the index, that the registry rendered."""
    _registry(where, organization="Example Networks", signer=where.key)
    root = where.to / "registry"
    told("registry", "index", root)
    pages = sorted((*root.glob("pages/*/*/*.html"), root / "index.html"))
    page = pages[where.seed % len(pages)]
    page.write_text(page.read_text("utf-8").replace("<body>", f"<body><p>{where.seed} Mfps</p>"), "utf-8")
    return told("registry", "check", root)


def seven_entries(where: Where) -> str:
    """Hand one journal in several times under other ids, years and organizations."""
    make_key(where.to / "other")
    _registry(where, organization="First Networks", signer=where.key, name="ladder")
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


DOORS: tuple[Door, ...] = tuple(
    Door(name=attack.__name__, attack=attack, answer=answer)
    for attack, answer in (
        (compared_with_edited_outcomes, "CMP-08"),
        (compared_with_a_model, "CMP-04"),
        (compared_unverified, "Not verified"),
        (imported, "IMP-01"),
        (unsigned, "consistent, signer unknown"),
        (bundled_with_later_deviations, "BND-09"),
        (checked_out_by_somebody_else, "the commit of this checkout"),
        (copycat, "REG-07"),
        (key_swapped, "REG-16"),
        (entry_replaced, "REG-14"),
        (order_changed, "REG-14"),
        (confusable, "REG-11"),
        (chinese, "listed"),
        (earlier_key, "listed"),
        (script_of_a_name, "cyrillic"),
        (no_report, "required and not there: checked-report"),
        (unredacted, "REG-12"),
        (manifest_of_another_product, "REG-04"),
        (readable_names, "hidden"),
        (page_of_the_registry, "REG-17"),
        (seven_entries, "REG-07"),
    )
)


def tried(door: Door, seed: int, *, place: Path, to: Path, key: Path) -> bool:
    """Whether an attack by a seed is answered as it must be."""
    to.mkdir(parents=True)
    said = door.attack(Where(place=place, to=to, key=key, seed=seed))
    return door.caught(said)
