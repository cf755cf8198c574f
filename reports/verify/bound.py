"""Whether platform.json is the file that the chain of trials is bound to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from bmwg.methodology.record.bound import sealed_form, shown_plainly
from bmwg.reports.checker.evidence import Evidence
from bmwg.reports.checker.findings import Shortfall
from bmwg.reports.store import binding

_SHOWN = 10


def unbound(evidence: Evidence) -> Iterator[Shortfall]:
    """Say where platform.json is not what trials or the run's end were bound to."""
    run, platform = evidence.run, evidence.platform
    if run is None or platform is None:
        return
    try:
        yield from _hidden(platform)
        bonds = ((f"trial {line.seq}", line.deployment_id, line.platform) for line in evidence.lines)
        form = sealed_form(platform)
        yield from not_of_the_file(form, bonds)
        link = run["journal"].get("platform")
        if link is None and run["status"] == "complete":
            yield "run.json: journal.platform", "the link of a run that has ended", "none"
        elif link is not None and link != binding.of_form(run, form, run["journal"]["hash"]):
            yield "platform.json", f"the file, and drivers, of link {link[:16]} in run.json", "another"
    except LookupError as error:
        yield f"platform.json: {error}", "every sealed text, or the commitment to it", "none"


def _hidden(platform: Mapping[str, Any]) -> Iterator[Shortfall]:
    for place in list(shown_plainly(platform))[:_SHOWN]:
        yield f"platform.json: {place}", "a redacted text where there is a commitment", "a plain one"


Bond = tuple[str, str, tuple[int, int, str] | None]  # a line, its deployment, what it is bound to


def not_of_the_file(form: Mapping[str, Any], bonds: Iterable[Bond]) -> Iterator[Shortfall]:
    """Say which lines of a journal are bound to another platform.json than this one, in its sealed form."""
    right: dict[tuple[str, int, int], str] = {}
    wrong = 0
    for where, deployment_id, found in bonds:
        if found is None:
            expected, said = "what it is bound to of platform.json", "nothing"
        else:
            key = (deployment_id, found[0], found[1])
            if key not in right:
                right[key] = binding.of_trial(form, *key)["sha256"]
            if right[key] == found[2]:
                continue
            expected, said = f"platform.json of hash {found[2][:16]}", f"one of {right[key][:16]}"
        if (wrong := wrong + 1) <= _SHOWN:
            yield where, expected, said
