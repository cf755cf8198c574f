"""The three runs of each rule on clusters: what real deployments on one said, and with one thing missing.

The evidence is that of a pod on the embedded cluster whose NICs are mapped by programs (docs/adr/0276, 0306).
"""

from __future__ import annotations

from typing import Any

from cases_models import POD, deployed
from foreign import Change, said
from runs import TPUT, run
from three import Three

NONE = run(TPUT)
CLUSTER: dict[str, Any] = {
    "network": {"driver": "ebpf-tc", "network": "ebpf-tc", "networking_model": "ebpf"},
    "attachments": [
        {
            "network": "ebpf-tc",
            "interface": {"name": f"net{side}", "kind": "veth"},
            "conflist": {
                "cniVersion": "1.0.0",
                "name": f"bmwg-tc-{side}",
                "plugins": [{"type": "bmwg-tc", "nic": f"nic{side}"}],
            },
        }
        for side in (0, 1)
    ],
    "pod_runtime": {
        "runtime": "kubernetes",
        "distribution": "embedded, from upstream sources",
        "version": "v1.34.4",
        "network_attachment_definitions": True,
        "cni_configuration": {
            "name": "bmwg",
            "plugins": [{"type": "bmwg-multinet", "delegate": {"plugins": [{"type": "bridge"}]}}],
        },
    },
}
MADE = ("pod_runtime",)


def three(*keys: str | int, value: Any = None, none: Any = POD) -> Three:
    return Three(
        met=said(POD, deployed(CLUSTER)),
        not_met=said(POD, deployed(CLUSTER, *keys, value=value)),
        not_applicable=none,
    )


MACVLAN: dict[str, Any] = {
    "network": {"driver": "cni", "network": "macvlan", "networking_model": "kernel"},
    "attachments": [
        {
            "network": "macvlan",
            "interface": {"name": f"net{side}", "kind": "macvlan"},
            "conflist": {"cniVersion": "1.0.0", "name": f"bmwg-{side}", "plugins": [{"type": "macvlan"}]},
        }
        for side in (0, 1)
    ],
    "pod_runtime": {"runtime": "crun"},
}


def counted(**frames: int) -> Change:
    """Let each trial have counted so many frames at these interfaces of the first pod."""

    def change(data: dict[str, Any], journal: list[dict[str, Any]], platform: dict[str, Any]) -> None:
        for body in journal:
            body["host"] |= {f"host.dut.pod0.{name}.frames": number for name, number in frames.items()}

    return change


MANY = 10**9  # more than any trial of these runs carries
CASES: dict[str, Three] = {
    "CINF08-5.1.2-02": three(*MADE, "cni_configuration", "plugins", value=[{"type": "bridge"}]),
    "CINF08-5.1.2-03": Three(
        met=said(POD, deployed(CLUSTER), counted(net0=MANY, net1=MANY, eth0=1)),
        not_met=said(POD, deployed(CLUSTER), counted(net0=1, net1=1, eth0=MANY)),
        not_applicable=said(POD, deployed(CLUSTER), counted(net0=MANY, net1=MANY)),
    ),
    "CINF08-5.1.1-04": Three(
        met=said(POD, deployed(MACVLAN)),
        not_met=said(POD, deployed(MACVLAN, "attachments", value=[])),
        not_applicable=said(POD, deployed(CLUSTER)),
    ),
    "CINF08-5.1-02": three(*MADE, value={"runtime": "crun"}, none=NONE),
    "CINF08-5.2.1-02": three(*MADE, "distribution", value=None),
    "CINF08-5.2.1-03": three(*MADE, "version", value=None),
    "CINF08-5.1.1-05": three("attachments", 1, "conflist", "plugins", value=[]),
    "CINF08-5.1.2-01": three(*MADE, "cni_configuration", value=None),
}
NOT_YET: frozenset[str] = frozenset()
