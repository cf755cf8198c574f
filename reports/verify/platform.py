"""Whether platform.json is the file that the chain of trials is bound to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bmwg.methodology.record.bound import sealed_form, shown_plainly
from bmwg.reports.checker.evidence import Evidence
from bmwg.reports.checker.findings import Shortfall
from bmwg.reports.store import binding

_SHOWN = 10


def unbound(evidence: Evidence) -> Iterator[Shortfall]:
    """Say where platform.json is not what trials or the run's end were bound to.

    A run whose header does not say that it is bound is from before, and has nothing to hold against.
    """
    run, platform = evidence.run, evidence.platform
    if run is None or platform is None or "platform_bound" not in run:
        return
    try:
        yield from _hidden(platform)
        yield from _trials(evidence, sealed_form(platform))
        link = run["journal"].get("platform")
        if link is None and run["status"] == "complete":
            yield "run.json: journal.platform", "the link of a run that has ended", "none"
        elif link is not None and link != binding.of_run(platform, run["journal"]["hash"]):
            yield "platform.json", f"the file of link {link[:16]} in run.json", "another"
    except LookupError as error:
        yield f"platform.json: {error}", "every sealed text, or the commitment to it", "none"


def _hidden(platform: Mapping[str, Any]) -> Iterator[Shortfall]:
    for place in list(shown_plainly(platform))[:_SHOWN]:
        yield f"platform.json: {place}", "a redacted text where there is a commitment", "a plain one"


def _trials(evidence: Evidence, form: Mapping[str, Any]) -> Iterator[Shortfall]:
    right: dict[tuple[str, int, int], str] = {}
    wrong = 0
    for trial in evidence.trials:
        found = trial.platform
        if found is None:
            expected, said = "what it is bound to of platform.json", "nothing"
        else:
            key = (trial.deployment_id, found[0], found[1])
            if key not in right:
                right[key] = binding.of_trial(form, *key)["sha256"]
            if right[key] == found[2]:
                continue
            expected, said = f"platform.json of hash {found[2][:16]}", f"one of {right[key][:16]}"
        if (wrong := wrong + 1) <= _SHOWN:
            yield f"trial {trial.trial.seq}", expected, said
