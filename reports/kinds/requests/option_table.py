"""The network options that attached a run's pods: which plugins, which configuration, which limits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bmwg.methodology.records import POD_PREFIX
from bmwg.reports.kinds.requests.answers import Answered
from bmwg.reports.kinds.requests.words import digits
from bmwg.reports.render.blocks import Block, paragraph, table, title
from bmwg.reports.render.text import NONE
from bmwg.reports.store import Run

_HASH_DIGITS = 12  # enough to tell two apart; platform.json has all of it
_MEBI = 1 << 20


def option_section(run: Run, answers: Sequence[Answered], words: Mapping[str, str]) -> list[Block]:
    """Return the table of the options that pods stood with; nothing for a run without pods."""
    forms = list(dict.fromkeys(o.spec.form for o in answers if o.spec.form.startswith(POD_PREFIX)))
    rows = [row for form in forms for row in dict.fromkeys(_rows(run, form, words[form]))]
    if not rows:
        return []
    about = (
        "The documents measured no pods and claim no order for them; they stand beside native and the "
        "documents' forms in the tables above, and in no line of the documents' order. Hashes are the first "
        f"{_HASH_DIGITS} digits of SHA-256; platform.json has all of it, the configuration as written and as "
        "each plugin got it. An option with two lines has changed within the run."
    )
    head = ["hosting form", "networking model", "reached by", "CNI version", "plugins", "configuration"]
    head += ["limits of a pod's container"]
    return [*title("Network options of the pods", 2), *paragraph(about), *table(head, rows)]


def _rows(run: Run, form: str, word: str) -> Iterator[tuple[str, ...]]:
    for evidence in run.deployments.values():
        hosting = evidence.get("hosting")
        if not isinstance(hosting, Mapping) or hosting.get("form") != form:
            continue
        option: Mapping[str, Any] = hosting.get("cni") or {}
        for instance in evidence.get("instances") or ():
            versions = {str(attachment.get("cni_version")) for attachment in instance.get("attachments", ())}
            yield (
                word,
                option.get("networking_model") or NONE,
                hosting.get("reached_by") or NONE,
                ", ".join(sorted(versions)) or NONE,
                "; ".join(_plugin(plugin) for plugin in option.get("plugins", ())) or NONE,
                str(option.get("conflist_sha256", NONE))[:_HASH_DIGITS],
                limits_words(instance.get("limits") or {}),
            )


def _plugin(found: Mapping[str, Any]) -> str:
    package = found.get("package") or found.get("package_unknown_because") or "package not told"
    return f"{found.get('plugin')} ({package}, {str(found.get('sha256'))[:_HASH_DIGITS]})"


def limits_words(found: Mapping[str, Any]) -> str:
    """Say what the kernel held the container to, version 1 and 2 of cgroups alike."""
    quota, period = found.get("cpu_quota_us"), found.get("cpu_period_us")
    if "cpu_quota_and_period_us" in found:
        quota, _, period = str(found["cpu_quota_and_period_us"] or "").partition(" ")
    try:
        cpus = f"{digits(int(quota) / int(period), 3)} CPUs"  # type: ignore[arg-type]
    except (TypeError, ValueError, ZeroDivisionError):
        cpus = "CPUs not told"
    octets = found.get("memory_limit_octets")
    return f"{cpus}, {octets // _MEBI} MiB" if isinstance(octets, int) else f"{cpus}, memory not told"
