"""What of platform.json a trial, and the end of a run, are bound to; pure, for writer and verification.

A trial's line holds the hash of what was recorded of its platform until then; the journal's end in run.json
holds one more link, over the last line's hash and all of the file. Hashes are of the sealed form, so that a
redacted copy has them, too (`methodology.record.bound`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bmwg.methodology.record.bound import sealed_form
from bmwg.methodology.record.seals import sealed
from bmwg.reports.store.canonical import sha256_of


def of_trial(form: Mapping[str, Any], deployment_id: str, doctor: int, drift: int) -> dict[str, Any]:
    """Return the `platform` of a trial: how many looks and changes stood, and the hash of all it ran on.

    `form` is the sealed form of the file.
    """
    bound = {
        "before": form["base"]["before"],
        "deployment": form["deployments"].get(deployment_id),
        "records": form.get("records", {}).get(deployment_id),
        "doctor": form.get("doctor", [])[:doctor],
        "drift": form.get("drift", [])[:drift],
    }
    return {"doctor": doctor, "drift": drift, "sha256": sha256_of(bound)}


def of_run(run: Mapping[str, Any], platform: Mapping[str, Any], journal_hash: str) -> str:
    """Return the link from the last trial to the whole file, and to the descriptions of the drivers."""
    return of_form(run, sealed_form(platform), journal_hash)


def of_form(run: Mapping[str, Any], form: Mapping[str, Any], journal_hash: str) -> str:
    """Return the same of a file's sealed form, which takes long to make."""
    drivers = sealed({"drivers": run["drivers"]}, run.get("seals", {}))["drivers"]
    return sha256_of({"platform": form, "prev": journal_hash, "drivers": drivers})
