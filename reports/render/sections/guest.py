"""What a report says of a run in a guest, or through machines, so that no figure passes for the host's."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any

from bmwg.methodology.records import FRAMES, Outcome, OutcomeType
from bmwg.reports.store import Run

GUEST = "qemu guest"  # name of the machine among a run's drivers
MACHINE = "machine"  # name there of what forwarded in cells with hosting `vm`
OF_PODS = "machine of pods"  # name there of what pods stood in, or programs of jobs
_KVM = "kvm"
_FOR = " for "
_UNTOLD = "an accelerator not recorded"
_NO_RATE = "function, no rate"


def guest_words(run: Run) -> str:
    """Say in which guest a run was made (`guest under TCG`); empty for a run on the host itself."""
    found = _accelerators(run.drivers, GUEST)
    return f"guest under {_named(found)}" if found else ""


def guest_sentence(run: Run) -> str:
    """Say what the figures of a run inside a guest, or through machines, are; empty for any other run.

    Whatever is not known to be KVM is held for a translated machine.
    """
    machines = [machine for machine in run.drivers if machine.get("name") == GUEST]
    if not machines:
        return " ".join(filter(None, (_through_machines(run), _in_machines(run))))
    found = {_told(machine) for machine in machines}
    kernel = "/".join(sorted({str(machine.get("guest_kernel") or "not told") for machine in machines}))
    if found == {_KVM}:
        return (
            "Virtual machine under KVM: the run was made inside a guest, and its figures are that guest's, "
            f"not the host's. Kernel of the guest: {kernel}."
        )
    return (
        f"Virtual machine under {_named(found)}: function, never a rate. The run was made inside a guest, "
        f"and no figure of it is one of the host or of KVM. Kernel of the guest: {kernel}."
    )


def _through_machines(run: Run) -> str:
    found = _accelerators(run.drivers, MACHINE)
    if not found:
        return ""
    providers = {_maker(driver) for driver in run.drivers if driver.get("name") == MACHINE}
    made = f"Cells with hosting vm: the function is a virtual machine under {_named(found)}, made by"
    made += f" {', '.join(sorted(providers))}."
    if found == {_KVM}:
        return made
    return f"{made} It shows function, never a rate: no figure of these cells is one of KVM or of a host."


def _maker(machine: Mapping[str, Any]) -> str:
    """Return what made a machine, with the kind of its NICs' other ends where its emulator told that."""
    by = f" (NICs by {machine['nics']})" if machine.get("nics") else ""
    return f"{machine.get('provider')}{by}"


def _in_machines(run: Run) -> str:
    found = _accelerators(run.drivers, OF_PODS)
    if not found:
        return ""
    cells = "Cells of all paths bmp2vmp and vmp2vmp, and of form kvm"
    made = f"{cells}, are in virtual machines under {_named(found)}."
    if found == {_KVM}:
        return made
    return f"{made} They show function, never a rate: no figure of these cells is one of KVM or of a host."


def _accelerators(drivers: Iterable[Mapping[str, Any]], name: str) -> set[str]:
    return {_told(driver) for driver in drivers if driver.get("name") == name}


def _told(machine: Mapping[str, Any]) -> str:
    """Return what ran a machine, with its architecture where that is not its host's (`tcg for arm64`).

    Empty where nobody told.
    """
    accelerator, other = str(machine.get("accelerator") or "").lower(), machine.get("architecture")
    return f"{accelerator}{_FOR}{other}" if other else accelerator


def guest_sentences(runs: Iterable[Run]) -> list[str]:
    """Return the sentences of some runs, each once."""
    return list(dict.fromkeys(sentence for run in runs if (sentence := guest_sentence(run))))


def accelerator_of(run: Run, deployment: str) -> str:
    """Say what ran the machines of a deployment (`TCG`, `KVM`); empty where none took part."""
    found = _of_deployment(_deployments(run).get(deployment, {}))
    return _named(found) if found else ""


def translated(run: Run, deployment: str) -> bool:
    """Whether a deployment's figures may stand beside no native one: a machine not known to be KVM's."""
    return bool(_of_deployment(_deployments(run).get(deployment, {})) - {_KVM})


def _deployments(run: Run) -> Mapping[str, Any]:
    told: Mapping[str, Any] = run.platform.get("deployments", {})
    return told


def _of_deployment(told: Mapping[str, Any]) -> set[str]:
    """Return what ran the machines of a deployment, wherever it recorded them; "" of what nobody told."""
    return {_told(machine) for machine in _machines(told)}


def _machines(told: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    hosting, several = told.get("hosting"), told.get("machines")
    of_form = hosting if isinstance(hosting, Mapping) else {}
    each = [told.get("machine"), of_form.get("machine")]
    each += several.values() if isinstance(several, Mapping) else ()
    found = [machine for machine in each if isinstance(machine, Mapping)]
    yield from found
    if not found and str(of_form.get("form", "")).startswith("vm"):
        yield {}


def marks(run: Run) -> dict[str, str]:
    """Return the words beside each number that a machine not known to be KVM's made, by the answer's id."""
    others = {execution.seq: execution.deployment_id for execution in run.executions}

    def stood(outcome: Outcome) -> Collection[str | None]:
        if outcome.cell.kind == FRAMES:
            return {run.trial(seq).deployment_id for seq in outcome.trials}
        return {others.get(seq) for seq in outcome.trials}

    return marks_of(_deployments(run), run.outcomes, stood)


def marks_of(
    deployments: Mapping[str, Any],
    outcomes: Iterable[Outcome],
    stood: Callable[[Outcome], Collection[str | None]],
) -> dict[str, str]:
    """Return the same of answers by what their deployments recorded; `stood` names those of an answer."""
    apart = {name: by for name, told in deployments.items() if (by := _of_deployment(told)) - {_KVM}}
    found = {}
    for outcome in outcomes if apart else ():
        if outcome.type is not OutcomeType.MEASURED:
            continue
        if names := sorted({_named(apart[name]) for name in stood(outcome) if name in apart}):
            found[outcome.outcome_id] = f"machine under {'/'.join(names)}: {_NO_RATE}"
    return found


def mark_of_run(drivers: Iterable[Mapping[str, Any]]) -> str:
    """Return the words beside each number of a run inside a guest; empty on a host, and under KVM."""
    found = _accelerators(drivers, GUEST)
    return f"run in a guest under {_named(found)}: {_NO_RATE}" if found - {_KVM} else ""


def of_translated(run: Run, outcome: Outcome) -> bool:
    """Whether an answer of frames rests on trials through machines that are not known to be KVM's."""
    return any(translated(run, name) for name in {run.trial(seq).deployment_id for seq in outcome.trials})


def _named(accelerators: set[str]) -> str:
    each = (name.partition(_FOR) for name in accelerators if name)
    found = ((accelerator.upper() or _UNTOLD) + of + other for accelerator, of, other in each)
    return "/".join(sorted(found)) or _UNTOLD
