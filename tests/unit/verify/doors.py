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
import mutations
import replayable

from bmwg.cli.main import main
from bmwg.drivers.nodes import bounded
from bmwg.reports.bundle.archive import RENDERED_PARTS
from bmwg.reports.bundle.make import folder_evidence, make_bundle
from bmwg.reports.bundle.signing import load_private
from bmwg.reports.render.page.report import write_report
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


def bundle_of(where: Where, name: str = "ladder", **options: Any) -> Path:
    """Return the bundle of an honest run."""
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
    said = told("verify", bundle_of(where, signer=signer))
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


def tried(door: Door, seed: int, *, place: Path, to: Path, key: Path) -> bool:
    """Whether an attack by a seed is answered as it must be."""
    to.mkdir(parents=True)
    said = door.attack(Where(place=place, to=to, key=key, seed=seed))
    return door.caught(said)
