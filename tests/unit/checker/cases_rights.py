"""The three runs of the rule on what pods are granted: what a kernel said, and with one right more."""

from __future__ import annotations

import copy
from typing import Any

from cases_laboratory import NOTHING_SENT
from cases_models import POD, deployed
from foreign import said
from three import Three

from bmwg.drivers.nodes.rights import compared

TESTPMD = ("CAP_NET_RAW", "CAP_NET_ADMIN", "CAP_IPC_LOCK")
KERNEL: dict[str, Any] = {
    "capabilities": ["NET_ADMIN", "NET_RAW", "IPC_LOCK"],
    "users": [0],
    "no_new_privileges": True,
    "seccomp": True,
    "processes": 2,
}


def granted(*more: str) -> dict[str, Any]:
    """Return the evidence of a pod in which testpmd runs, granted these beside what it asks for."""
    found = copy.deepcopy(KERNEL)
    found["capabilities"] += more
    return {"pod": {"rights": compared(TESTPMD, found)}}


def made(data: dict[str, Any], journal: list[dict[str, Any]], platform: dict[str, Any]) -> None:
    """Let the run have made its nodes."""
    data["testbed"] |= {"nodes": {"dut1": {"kind": "namespace"}}, "lab_ports": []}


CASES: dict[str, Three] = {
    "CINF08-7-03": Three(
        met=said(POD, made, deployed(granted())),
        not_met=said(POD, made, deployed(granted("SYS_ADMIN"))),
        not_applicable=NOTHING_SENT,
    )
}
NOT_YET: frozenset[str] = frozenset()
