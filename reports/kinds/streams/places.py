"""Where the programs of both ends ran, in each form of a server, and what they had of the CPUs there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from bmwg.methodology.kinds.streams.records import StreamsResult
from bmwg.methodology.records import GUESTS, UNIKERNEL
from bmwg.reports.kinds.streams import turns
from bmwg.reports.kinds.streams.answers import Answered
from bmwg.reports.render.blocks import Block, paragraph, table
from bmwg.reports.render.sections import booted
from bmwg.reports.render.text import NONE, percent
from bmwg.reports.store import Run

_KVM = "kvm"
BY_PORTS = ", redirected ports"  # behind the name of a unikernel that is reached so
_AGENT_ANSWERS = "our agent in it answers"
_ENDS = ("asking_cpu_permille", "answering_cpu_permille")
_UNEVEN = 1.25  # choice: how much more of its CPU one form's program may have had than another's, unsaid
_TRANSLATED = (
    "A machine here ran under {accelerator}, which translates its instructions: its figures show function, "
    "never a rate. It has no ratio to native, no area and no place in the figure."
)
_GIVEN = (
    "What a program carries depends on the CPU time it gets. Between the executions below it got from "
    "{least} to {most} of its CPU: {so} Goodput per second of CPU time stands beside it."
)
_IN_TURNS = "so ratios within a block spread, too, and their intervals say how far."
_IN_A_ROW = (
    "on such a machine a ratio of goodputs compares the machine at two times as much as two forms, for forms "
    "were measured one after the other."
)


def machine(run: Run, one: Answered) -> Mapping[str, Any]:
    """Return what is recorded of the machine that served a cell; empty where no machine did."""
    told = run.platform.get("deployments", {}).get(one.deployment, {})
    if not isinstance(told, Mapping):
        return {}
    guests = dict(told.get("machines") or {}) if one.outcome.cell.hosting in GUESTS else {}
    each = [told.get("machine"), *guests.values()]
    return next((found for found in each if isinstance(found, Mapping)), {})


def redirected(hosting: str, found: Mapping[str, Any]) -> str:
    """Say of a unikernel that it is behind redirected ports: guests there are a form of their own."""
    ports = [nic.get("redirected_ports") for nic in found.get("nics", ())]
    return BY_PORTS if hosting == UNIKERNEL and any(ports) else ""


def nodes(run: Run, one: Answered) -> int:
    """Count the nodes on which the ends of an answer stood; 0 where nothing was deployed for it."""
    ends = run.platform.get("deployments", {}).get(one.deployment, {}).get("endpoints", [])
    return len({end.get("node") for end in ends if isinstance(end, Mapping)})


def translated(run: Run, one: Answered) -> str:
    """Name what translated a server's instructions; empty where its CPU ran them itself."""
    found = machine(run, one)
    name = str(found.get("accelerator") or "an accelerator not recorded")
    return "" if not found or name == _KVM else name.upper()


def lines(run: Run, forms: Mapping[str, Sequence[Answered]]) -> list[Block]:
    """Return the places of both ends by form, and what was said of machines."""
    rows, words, sizes = [], [], []
    for form, answers in forms.items():
        ended = next((answer for answer in answers if answer.deployment), None)
        told = run.platform.get("deployments", {}).get(ended.deployment) if ended else None
        if not told:
            continue
        assert ended is not None
        rows.append([form, _client(told), _server(told), _way(told)])
        sizes.append(_size(form, told))
        words += [name for name in (translated(run, ended),) if name]
    if not rows:
        return []
    head = ["form of the server", "client's program", "server's program", "between them"]
    said = paragraph(_TRANSLATED.format(accelerator="/".join(sorted(set(words))))) if words else []
    return [
        *said,
        *table(head, rows, "Where the programs of both ends ran"),
        *booted.lines(sizes, "form of the server", "start, of one deployment"),
    ]


def _size(form: str, told: Mapping[str, Any]) -> booted.Row:
    """Return what a form boots or unpacks beside its start, which does not end alike in all forms."""
    machines = [told["machine"]] if told.get("machine") else list(dict(told.get("machines") or {}).values())
    for found in machines:
        boot_s = found.get("boot_s")
        ends = found.get("boot_ends", _AGENT_ANSWERS)
        start = NONE if boot_s is None else f"{boot_s:.1f}\u00a0s"
        return booted.Row(form=form, told=found, start=start, ends=ends)
    for end in told.get("endpoints", ()):
        start_s = told.get("start_s")
        start = NONE if start_s is None else f"{start_s:.3f}\u00a0s"
        return booted.Row(form=form, told=end.get("pod"), start=start, ends=str(told.get("start_ends", NONE)))
    return booted.Row(form=form, told=told, start=NONE, ends="nothing starts before the program")


def _client(told: Mapping[str, Any]) -> str:
    return f"native, {_limits(told.get('native_programs', {}).get('client', {}), told, 'client')}"


def _server(told: Mapping[str, Any]) -> str:
    if found := told.get("machine"):
        return _machine_words(found)
    for found in dict(told.get("machines") or {}).values():
        inside = _limits(told.get("native_programs", {}).get("server", {}), told, "server")
        return f"{_guest_words(found)}; in it, on the guest's own CPUs: {inside}"
    for end in told.get("endpoints", ()):
        pod = end.get("pod", {})
        made = f"pod by {told.get('pod_runtime', {}).get('runtime', 'a runtime not told')}"
        filtered = f", system calls: {pod.get('system_call_filter', 'no filter of an engine')}"
        return f"{made}, {_limits(pod, told, 'server')}{filtered}"
    return f"native, {_limits(told.get('native_programs', {}).get('server', {}), told, 'server')}"


def _machine_words(found: Mapping[str, Any]) -> str:
    what = found.get("boots", {})
    parts = [f"QEMU {found.get('qemu', '')} under {str(found.get('accelerator', '')).upper()}"]
    parts += [f"CPU {found.get('process_cpus', '')} ({found.get('cpus')} in it)"]
    parts += [f"memory {found.get('memory_octets', 0) >> 20} MiB, "]
    parts[-1] += f"{found.get('resident_octets_after_boot', 0) >> 20} MiB resident after boot"
    parts += [f"{name} {one['file']}" for name, one in what.items() if "file" in one]
    parts += ["no agent in it"]
    return ", ".join(parts)


def _guest_words(found: Mapping[str, Any]) -> str:
    vnic = found.get("vnic", {})
    parts = [f"guest of QEMU {found.get('qemu', '')} under {str(found.get('accelerator', '')).upper()}"]
    parts += [f"{found.get('cpus')} CPUs in it, on any of the host's"]
    parts += [f"memory {found.get('memory_octets', 0) >> 20} MiB", f"vNIC {vnic.get('kind')}"]
    return ", ".join(parts)


def _limits(found: Mapping[str, Any], told: Mapping[str, Any], end: str) -> str:
    cpus = found.get("cpuset_cpus") or told.get("cpus", {}).get(end) or "not told"
    words = [f"CPU {cpus}"]
    if "cpu_shares" in found or "cpu_weight" in found:
        words += [
            f"shares {found['cpu_shares']}" if "cpu_shares" in found else f"weight {found['cpu_weight']}"
        ]
        memory = found.get("memory_limit_octets")
        words += [f"memory {memory >> 20} MiB"] if isinstance(memory, int) else []
        words += ["a cgroup of its own"]
    else:
        words += ["no cgroup of its own"]
    return ", ".join(words)


def _way(told: Mapping[str, Any]) -> str:
    return "; ".join(f"{hop.get('at')}: {hop.get('what')}" for hop in told.get("hops", ()))


def cpu_lines(run: Run, found: Mapping[str, Mapping[int, Answered]], base: str | None) -> list[Block]:
    """Return goodput per CPU time of the server's program by form and size; empty where nothing tells it."""
    shares = [
        share for by_size in found.values() for answered in by_size.values() for share in _shares(answered)
    ]
    if not shares:
        return []
    sizes = sorted({size for by_size in found.values() for size in by_size})
    rows = []
    for size in sizes:
        row = [f"{size}"]
        for form, by_size in found.items():
            row.append(_per_cpu_words(by_size.get(size)))
            if form != base:
                row.append(_ratio(run, by_size.get(size), found[base].get(size) if base else None))
        rows.append(row)
    head = ["size"]
    for form in found:
        head += [f"{form}, Mbit per CPU second (share)"] + ([f"{form} : native"] if form != base else [])
    words = "Goodput per second of CPU time of the server's program, and the share of its CPU that it had"
    least, most = min(shares), max(shares)
    so = _IN_TURNS if turns.claimed(run) else _IN_A_ROW
    said = paragraph(_GIVEN.format(least=percent(least, 0), most=percent(most, 0), so=so))
    return [*(said if most > _UNEVEN * least else []), *table(head, rows, f"{words} (medians)")]


def _shares(one: Answered) -> list[float]:
    told = [result.effective.get(_ENDS[1]) for result in one.results]
    return [value / 1000 for value in told if isinstance(value, int) and value > 0]


def _by_cpu(result: StreamsResult) -> float | None:
    share = result.effective.get(_ENDS[1])
    return result.goodput_bps * 1000 / share if isinstance(share, int) and share > 0 else None


def _per_cpu(one: Answered | None) -> float | None:
    found = [value for result in (one.results if one else ()) if (value := _by_cpu(result)) is not None]
    return median(found) if found else None


def _per_cpu_words(one: Answered | None) -> str:
    value = _per_cpu(one)
    return NONE if value is None or one is None else f"{value / 1e6:.0f} ({percent(median(_shares(one)), 0)})"


def _ratio(run: Run, one: Answered | None, base: Answered | None) -> str:
    if one is not None and base is not None and turns.claimed(run):
        return turns.words(turns.within_blocks(one, base, _by_cpu))
    mine, other = _per_cpu(one), _per_cpu(base)
    return NONE if not mine or not other else f"{mine / other:.3f}"
