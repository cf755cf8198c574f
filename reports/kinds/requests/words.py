"""The names of hosting forms and objects that tables and charts of the HTTP experiments share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bmwg.methodology.kinds.requests.records import (
    CLUSTER_FORMS,
    FORMS,
    SLOW_FORMS,
    RequestsSpec,
    Workload,
)
from bmwg.methodology.records import POD_PREFIX
from bmwg.reports.kinds.requests.answers import Answered
from bmwg.reports.render.sections.guest import guest_words
from bmwg.reports.render.text import whole
from bmwg.reports.store import Run

FORM_WORDS = {
    "native": "native",
    "docker_routed": "Docker, routed",
    "docker_nat": "Docker, NAT",
    "vm_full": "VM, emulated NIC",
    "vm_para": "VM, paravirtual NIC",
    "kubernetes": "pod of Kubernetes",
    "kubernetes_service": "pods of Kubernetes behind a Service",
}
WORKLOAD_WORDS = {Workload.JMETER_PODS: "jmeter, a pod and a program for each client"}  # others by their name
_HASH_DIGITS = 12  # choice: the whole of it is in the platform's record
ITEMS = {
    1_000: "1 kB",
    10_000: "10 kB",
    100_000: "100 kB",
    1_000_000: "1 MB",
    10_000_000: "10 MB",
}


def _hostings(run: Run, form: str) -> Iterator[Mapping[str, Any]]:
    """What was recorded of a form, a deployment each."""
    for evidence in run.deployments.values():
        hosting = evidence.get("hosting")
        if isinstance(hosting, Mapping) and hosting.get("form") == form:
            yield hosting


def _machines(run: Run, form: str) -> Iterator[Mapping[str, Any]]:
    """What was recorded of a form's machines, a deployment each; empty where it told nothing."""
    for hosting in _hostings(run, form):
        machine = hosting.get("machine")
        yield machine if isinstance(machine, Mapping) else {}


def _roots(run: Run, form: str) -> list[str]:
    """Name the disk images that were the root of a form's guests; none where it was the host's."""
    found = set()
    for hosting in _hostings(run, form):
        if hosting.get("root") == "image":
            told = hosting.get("image")
            image = told if isinstance(told, Mapping) else {}
            digits = str(image.get("sha256", "not recorded"))[:_HASH_DIGITS]
            found.add(f"root: disk image {image.get('file', 'not recorded')}, SHA-256 {digits}")
    return sorted(found)


def accelerator(run: Run, form: str) -> str:
    """Say what executed a form's guests, as QEMU told it: `TCG`, `KVM`, or that nobody told."""
    found = {str(machine.get("accelerator", "")) for machine in _machines(run, form)}
    return "/".join(sorted(found)).upper() or "accelerator not recorded"


def machine_words(run: Run, form: str) -> str:
    """Say what executed a form's guests, what started them if not QEMU alone, and their disk's image."""
    started = set()
    for machine in _machines(run, form):
        if machine.get("kind") == "libvirt":
            started.add(f"libvirt {machine.get('libvirt', '')}, QEMU {machine.get('qemu', '')}")
        elif machine.get("kind") == "openstack":
            started.add(f"server of an OpenStack, Nova's API {machine.get('compute_api', 'not recorded')}")
    return ", ".join([*sorted(started), accelerator(run, form), *_roots(run, form)])


def _others(run: Run) -> dict[str, str]:
    """Name the forms of the profile that do not come with the toolkit by themselves."""
    asked = [
        form for experiment in run.profile.get("experiments", ()) for form in experiment.get("forms", ())
    ]
    return {form: form for form in asked if form not in FORM_WORDS}


def form_words(run: Run) -> dict[str, str]:
    """Name the hosting forms; a virtual machine with what executed it, so that TCG is never read as KVM.

    A pod is named with its network option and its runtime, every form in a run inside a guest with that.
    """
    words = {
        form: f"{word} ({machine_words(run, form)})" if form in SLOW_FORMS else word
        for form, word in (FORM_WORDS | _others(run)).items()
    }
    by = run.testbed.get("pods", {}).get("runtime")  # absent where it is the default one
    pod = f"pod by {by}" if by else "pod"
    words |= {f"{POD_PREFIX}{name}": f"{pod}, {name}" for name in run.profile.get("networks", ())}
    guest = guest_words(run)
    return {form: f"{word} ({guest})" for form, word in words.items()} if guest else words


def on_hosts(run: Run) -> bool:
    """Whether clients, proxies and server were hosts of their own."""
    return "roles" in run.testbed


def where_words(run: Run) -> str:
    """Say where clients, proxies and server were: their figures mean different things."""
    if on_hosts(run):
        return "clients, proxies and server on three hosts"
    return "clients, proxies and server on one machine, whose CPUs they share"


def shape(cell: RequestsSpec) -> tuple[int, int]:
    """What tells the rows of an experiment apart: the object's size and the number of proxies."""
    return cell.object_octets, cell.proxies


def shape_words(cell: RequestsSpec, *, proxies: bool) -> str:
    """Name the row of a cell, with the number of proxies where it varies."""
    if cell.workload is Workload.START:
        return "start until serving"
    size = ITEMS.get(cell.object_octets, f"{whole(cell.object_octets / 1000)} kB")
    return f"{size}, {cell.proxies} prox{'y' if cell.proxies == 1 else 'ies'}" if proxies else size


def several_proxies(answers: Sequence[Answered]) -> bool:
    """Whether the number of proxies varies."""
    return len({answer.spec.proxies for answer in answers}) > 1


def forms_of(answers: Sequence[Answered]) -> list[str]:
    """Return the hosting forms of some answers in the documents' order, pods after the containers."""
    found = list(dict.fromkeys(answer.spec.form for answer in answers))
    pods = [form for form in found if form.startswith(POD_PREFIX)]
    known = [form for form in (*FORMS, *CLUSTER_FORMS) if form in found]
    others = [form for form in found if form not in (*known, *pods)]
    return sorted([*known, *others, *pods], key=lambda form: form in SLOW_FORMS)


def digits(number: float, count: int = 3, *, sign: str = "-") -> str:
    """Return a number with so many significant digits, and never an exponent."""
    if abs(number) >= 10**count:
        return f"{number:{sign}.0f}"
    text = f"{number:{sign}.{count}g}"
    return text if "e" not in text else f"{number:{sign}.{count + 4}f}"
