"""`bmwg registry check|index FOLDER`: check a public registry of submissions, or write its index page."""

from __future__ import annotations

import argparse
from importlib import import_module
from pathlib import Path
from typing import Any

from bmwg.methodology.errors import ConfigError
from bmwg.reports.registry import Examined, check, index_page
from bmwg.reports.registry.check import GENERATED
from bmwg.reports.render.report import form_of
from bmwg.reports.store.files import write_atomically


def add_parser(verbs: Any) -> None:
    """Add the verb to the command."""
    parser = verbs.add_parser(
        "registry", help="check a registry of submissions, write its index", description=__doc__
    )
    parser.add_argument(
        "act", choices=("check", "index"), help="check: say what is wrong; index: write the page too"
    )
    parser.add_argument("folder", type=Path, help="the registry's folder")
    parser.set_defaults(handler=handle)


def handle(chosen: argparse.Namespace) -> int:
    """Print every finding; 1 when there is one."""
    checked = check(chosen.folder, examine)
    for finding in checked.findings:
        print(finding)
    print(f"{len(checked.entries)} submissions, {len(checked.findings)} findings")
    if chosen.act == "index":
        page = index_page(checked)
        for name, form in zip(GENERATED, ("md", "html"), strict=True):
            write_atomically(chosen.folder / name, form_of(page, form, "index").encode("utf-8"))
            print(chosen.folder / name)
    return 1 if checked.findings else 0


def examine(bundle: Path, key: Path | None) -> Examined:
    """Verify a bundle as `bmwg verify` does, and say what a registry asks of it."""
    try:
        verifier: Any = import_module("bmwg.reports.verify.verify")
        signing: Any = import_module("bmwg.reports.bundle.signing")
    except ModuleNotFoundError as error:
        raise ConfigError("REG-09", "registry", expected="a verifier of bundles", found=str(error)) from error
    try:
        trusted = signing.load_public(key) if key else None
    except ConfigError as error:
        return Examined(findings=(str(error),), trusted=False)
    verified = verifier.verify_bundle(bundle, trusted)
    findings = tuple(str(finding) for finding in verified.findings)
    evidence = verified.evidence
    if evidence is None or evidence.run is None:
        return Examined(findings=findings or ("no run could be read",), trusted=False)
    submission = evidence.submission or {}
    product = submission.get("product", {})
    judgement = verified.judgement
    return Examined(
        findings=findings,
        trusted=verified.trust == verifier.TRUSTED,
        run_id=evidence.run["run_id"],
        toolkit_version=evidence.run["toolkit"]["version"],
        organization=submission.get("organization", ""),
        product=product.get("name", ""),
        version=product.get("version", ""),
        profile=evidence.run["profile"]["name"],
        state=judgement.state if judgement else (),
        grades=tuple((one.document, one.benchmark, one.grade.value) for one in judgement.grades)
        if judgement
        else (),
    )
