"""The three runs of each rule on chains: a run of a chain of two, with what a real deployment of it said."""

from __future__ import annotations

import copy
from typing import Any

from foreign import Change, said
from runs import TPUT, run
from three import Make, Three

CHAIN = run(
    TPUT,
    profile={
        "suites": {
            "rfc2544": {
                "paths": [
                    {
                        "path": "chain",
                        "hosting": "pod",
                        "function": "kernel-l3",
                        "networks": ["bridge"],
                        "frame_octets": [64],
                        "axes": {"chain": ["a>b"]},
                    }
                ]
            }
        }
    },
)
NONE = run(TPUT)
BESIDE = run(
    TPUT,
    profile={
        "suites": {
            "rfc2544": {
                "paths": [
                    {
                        "path": "parallel",
                        "hosting": "pod",
                        "function": "kernel-l3",
                        "networks": ["ptp"],
                        "frame_octets": [64],
                        "axes": {"chains": ["a>s+b>s"]},
                    }
                ]
            }
        }
    },
)
TOLD: dict[str, Any] = {
    "network": {"network": "bridge", "driver": "cni"},
    "attachments": [
        {"network": "bridge", "member": name, "interface": {"name": f"net{side}"}}
        for name in ("a", "b")
        for side in (0, 1)
    ],
    "chain": {
        "members": [{"name": name, "pod": f"bmwg-{name}"} for name in ("a", "b")],
        "activation_s": 1.204,
        "vswitch_start_s": 0.0,
    },
}
TOLD_BESIDE: dict[str, Any] = {
    "network": {"network": "ptp", "driver": "cni"},
    "attachments": [
        {"network": "ptp", "member": name, "interface": {"name": f"net{side}"}}
        for name in ("a", "s", "b")
        for side in (0, 1)
    ],
    "chains": {
        "members": [{"name": name, "pod": f"bmwg-{name}"} for name in ("a", "s", "b")],
        "services": [{"functions": ["a", "s"]}, {"functions": ["b", "s"]}],
        "shared": ["s"],
        "activation_s": 1.204,
        "vswitch_start_s": 0.0,
    },
}
COUNTS = {
    f"host.dut.{part}.{what}": number
    for part in ("pod0", "pod1", "queues")
    for what, number in (("cpu_ns", 90_000_000), ("window_ns", 300_000_000))
}


def deployed(*keys: str | int, value: Any = None) -> Change:
    """Let each deployment of the run have told this, with one value in it replaced where keys name it."""
    evidence = copy.deepcopy(TOLD)
    if keys:
        at: Any = evidence
        for key in keys[:-1]:
            at = at[key]
        at[keys[-1]] = value

    def change(data: dict[str, Any], journal: list[dict[str, Any]], platform: dict[str, Any]) -> None:
        for told in platform["deployments"].values():
            told.update(evidence)
        for body in journal:
            body["host"] |= COUNTS

    return change


def beside(*, services: int = 2, shared: bool = True) -> Change:
    """Let each deployment have told of chains beside each other; all of it, or less."""
    evidence = copy.deepcopy(TOLD_BESIDE)
    del evidence["chains"]["services"][services:]
    if not shared:
        evidence["chains"]["shared"] = []

    def change(data: dict[str, Any], journal: list[dict[str, Any]], platform: dict[str, Any]) -> None:
        for told in platform["deployments"].values():
            told.update(copy.deepcopy(evidence))

    return change


def uncounted(data: dict[str, Any], journal: list[dict[str, Any]], platform: dict[str, Any]) -> None:
    """Let the second function's CPU time not have been counted in any trial."""
    for body in journal:
        body["host"] = {name: value for name, value in body["host"].items() if ".pod1." not in name}


def design(*, cpus: list[str], memory: list[str]) -> Make:
    """A run of a design that varies what its pods get."""
    varied = {"pods.cpus": cpus, "pods.memory": memory, "replicate": [1, 2]}
    line = {
        "path": "chain",
        "hosting": "pod",
        "function": "kernel-l3",
        "networks": ["bridge"],
        "frame_octets": [64],
        "axes": {name: values for name, values in varied.items() if values},
    }
    return run(TPUT, profile={"suites": {"rfc2544": {"paths": [line]}}})


CASES: dict[str, Three] = {
    "CINF08-5.2.6-02": Three(
        met=said(CHAIN, deployed()),
        not_met=said(CHAIN, deployed("chain", "members", value=TOLD["chain"]["members"][:1])),
        not_applicable=NONE,
    ),
    "CINF08-5.2.6-03": Three(
        met=said(CHAIN, deployed()),
        not_met=said(CHAIN, deployed(), uncounted),
        not_applicable=NONE,
    ),
    "CINF08-5.2.6-04": Three(
        met=said(CHAIN, deployed()),
        not_met=said(CHAIN, deployed("attachments", 3, "network", value="ptp")),
        not_applicable=NONE,
    ),
    "CINF08-5.2.6-05": Three(
        met=said(BESIDE, beside()),
        not_met=said(BESIDE, beside(services=1)),
        not_applicable=said(CHAIN, deployed()),
    ),
    "CINF08-5.2.4-03": Three(
        met=design(cpus=["1", "2"], memory=["128MiB", "256MiB"]),
        not_met=design(cpus=[], memory=["128MiB", "256MiB"]),
        not_applicable=CHAIN,
    ),
}
NOT_YET: frozenset[str] = frozenset()
