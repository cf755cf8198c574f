"""Pods in virtual machines: what ran the machine, so that no translated figure stands beside a native one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bmwg.methodology.cells.vnics import AXIS
from bmwg.reports.kinds.streams.answers import Answered, interface_at
from bmwg.reports.render.blocks import Block, table
from bmwg.reports.render.sections.guest import accelerator_of, translated
from bmwg.reports.render.text import NONE
from bmwg.reports.store import Run

_SHOWN = ("hypervisor", "cpus", "memory_octets", "guest_kernel", "pod_cpus", "numa")


def machines(run: Run, deployment: str) -> Mapping[str, Mapping[str, Any]]:
    """Return the machines of a deployment by name; none where none took part."""
    told = run.platform.get("deployments", {}).get(deployment, {}).get("machines", {})
    return told if isinstance(told, Mapping) else {}


def apart(run: Run, one: Answered) -> str:
    """Return what keeps an answer from being compared with others: those of equal words may be."""
    return accelerator_of(run, one.deployment) if translated(run, one.deployment) else ""


def lines(run: Run, answers: Sequence[Answered]) -> list[Block]:
    """Return the layers of each deployment with pods in guests: machine, vNIC, tap, with their offloads."""
    rows = []
    seen = set()
    for answer in answers:
        cell = answer.outcome.cell
        if AXIS not in dict(cell.axes) or answer.deployment in seen:
            continue
        seen.add(answer.deployment)
        for name, machine in machines(run, answer.deployment).items():
            vnic = machine.get("vnic", {})
            host, _, tap = str(vnic.get("other_end", "")).partition("/")
            layers = ", ".join(f"{key} {machine[key]}" for key in _SHOWN if key in machine)
            rows.append(
                [
                    f"{cell.path}, {cell.network}",
                    name,
                    layers or NONE,
                    f"{vnic.get('kind', '')} (driver {vnic.get('driver', 'not told')})",
                    _offloads(run, answer.deployment, name, str(vnic.get("interface", ""))) or NONE,
                    _offloads(run, answer.deployment, host, tap) or NONE,
                ]
            )
    head = ["path and option", "machine", "its layer", "vNIC", "the vNIC's offloads", "its tap's offloads"]
    return table(head, rows, "Machines that pods stood in, layer by layer") if rows else []


def _offloads(run: Run, deployment: str, place: str, interface: str) -> str:
    from bmwg.reports.kinds.streams.section import offloads

    return offloads(interface_at(run, deployment, place, interface))
