"""The three runs of each rule on networking models: what real deployments said, and with one thing missing.

The evidence below is what the drivers read on nodes (docs/adr/0270, 0272), put into a run of the simulated
tester, whose deployments have none of their own.
"""

from __future__ import annotations

import copy
from typing import Any

from foreign import Change, said
from runs import TPUT, run
from three import Three

POD = run(
    TPUT,
    profile={
        "suites": {
            "rfc2544": {
                "paths": [
                    {
                        "path": "pvp",
                        "hosting": "pod",
                        "function": "testpmd",
                        "networks": ["bridge"],
                        "frame_octets": [64],
                    }
                ]
            }
        }
    },
)


def _switched(side: int) -> dict[str, Any]:
    port, nic = f"net{side}-59155cc9", f"nic{side}"
    queues = [
        {"port": name, "queue": 0, "enabled": True}
        for name in ("net0-59155cc9", "net1-59155cc9", "nic0", "nic1")
    ]
    return {
        "network": "ovs-dpdk",
        "interface": {"name": f"net{side}", "kind": "vhost-user"},
        "mapping": {"nic": nic, "bridge": f"bmwg-br{side}", "vswitch_port": port},
        "vswitch": {
            "vhost_user": {"status": "connected", "mode": "server"},
            "nic_driver": "net_af_packet",
            "flows": ["in_port=2 actions=output:1", "in_port=1 actions=output:2"],
            "pollers": [{"cpu": 1, "numa_node": 0, "isolated": False, "queues": queues}],
        },
    }


def _programmed(side: int) -> dict[str, Any]:
    nic, host = f"nic{side}", f"bmwg0000000{side}"
    members = [
        {"interface": nic, "program_tag": "6deef7357e7b4530", "target": host, "by": "bpf_redirect_peer"},
        {"interface": host, "program_tag": "6deef7357e7b4530", "target": nic, "by": "bpf_redirect"},
    ]
    return {
        "network": "ebpf-tc",
        "interface": {"name": f"net{side}", "kind": "veth"},
        "mapping": {"nic": nic, "segment": f"bmwg-br{side}", "host_interface": host},
        "programs": {"members": members},
    }


SWITCH = {
    "network": {
        "driver": "ovs-dpdk",
        "networking_model": "user-space",
        "vswitch": {"supported_versions": ["ovs-vswitchd-dpdk (Open vSwitch) 3.1.0", "DPDK 22.11.11"]},
        "settings": {"pmd_cpus": [1]},
    },
    "attachments": [_switched(0), _switched(1)],
    "pod": {"cpuset_cpus": "1"},
}
SOCKET_SWITCH = copy.deepcopy(SWITCH)
SOCKET_SWITCH["network"]["settings"] |= {"nic_port": "af_xdp"}
for _one in SOCKET_SWITCH["attachments"]:
    _one["vswitch"]["nic_driver"] = "net_af_xdp"
PROGRAMS = {
    "network": {"driver": "ebpf-tc", "networking_model": "ebpf"},
    "attachments": [_programmed(0), _programmed(1)],
}
SOCKETS = {
    "network": {"driver": "af-xdp", "networking_model": "ebpf", "af_xdp": {"busy_polling": False}},
    "pod": {"cpuset_cpus": "1"},
    "device_queues": [{"interface": f"net{side}", "cpu": 1} for side in (0, 1)],
    "attachments": [
        {
            "network": "af-xdp",
            "interface": {"name": f"net{side}"},
            "conflist": {"plugins": [{"type": "host-device", "device": f"nic{side}"}]},
            "af_xdp": {
                "device": f"net_af_xdp{side},iface=net{side},start_queue=0,queue_count=1,busy_budget=0",
                "busy_polling": False,
                "busy_budget_frames": 0,
                "sockets": [
                    {"zero_copy": False, "prefer_busy_poll": False, "busy_poll_us": 0} for _ in (0, 1)
                ],
            },
        }
        for side in (0, 1)
    ],
}


# as the driver wrote it in a guest (docs/adr/0331)
FUNCTIONS = {
    "network": {"driver": "sriov", "networking_model": "sr-iov"},
    "attachments": [
        {
            "network": "sr-iov",
            "interface": {"name": f"net{side}"},
            "mapping": {"nic": f"eth{side + 2}"},
            "virtual_function": {
                "nic": f"eth{side + 2}",
                "nic_address": f"0000:0{side + 1}:00.0",
                "nic_driver": "igb",
                "total": 7,
                "configured": 1,
                "address": f"0000:0{side + 1}:10.0",
                "driver": "igbvf",
                "iommu_group": side + 9,
            },
        }
        for side in (0, 1)
    ],
}


COMBINED = {
    "network": {"driver": "combination", "networking_model": "combination"},
    "attachments": [
        {**FUNCTIONS["attachments"][0], "network": "combination", "axis": "north-south", "member": "a"},
        {
            "network": "combination",
            "interface": {"name": "net1", "kind": "vhost-user"},
            "axis": "east-west",
            "member": "a",
        },
        {
            "network": "combination",
            "interface": {"name": "net0", "kind": "vhost-user"},
            "axis": "east-west",
            "member": "b",
        },
        {**FUNCTIONS["attachments"][1], "network": "combination", "axis": "north-south", "member": "b"},
    ],
}


def deployed(evidence: dict[str, Any], *keys: str | int, value: Any = None) -> Change:
    """Let each deployment of the run have told this, with one value in it replaced where keys name it."""
    evidence = copy.deepcopy(evidence)
    if keys:
        at: Any = evidence
        for key in keys[:-1]:
            at = at[key]
        at[keys[-1]] = value

    def change(data: dict[str, Any], journal: list[dict[str, Any]], platform: dict[str, Any]) -> None:
        for told in platform["deployments"].values():
            told.update(evidence)

    return change


def three(evidence: dict[str, Any], *keys: str | int, value: Any = None) -> Three:
    return Three(
        met=said(POD, deployed(evidence)),
        not_met=said(POD, deployed(evidence, *keys, value=value)),
        not_applicable=POD,
    )


SECOND = ("attachments", 1)
POLLERS = (*SECOND, "vswitch", "pollers")
CASES: dict[str, Three] = {
    "CINF08-5.1.2.1-01": three(SWITCH, *SECOND, "mapping", "nic", value="nic2"),
    "CINF08-5.1.2.1-02": three(SWITCH, *SECOND, "vswitch", "vhost_user", "status", value="disconnected"),
    "CINF08-5.1.2.1-03": three(SWITCH, "network", "vswitch", "supported_versions", value=["3.1.0"]),
    "CINF08-5.1.2.1-05": three(SWITCH, *SECOND, "mapping", "vswitch_port", value="net1-00000000"),
    "CINF08-5.1.2.1-06": three(SWITCH, *SECOND, "vswitch", "flows", value=["in_port=2 actions=output:1"]),
    "CINF08-5.1.2.1-07": three(SWITCH, *SECOND, "mapping", "nic", value=None),
    "CINF08-5.2.2-03": three(SWITCH, *POLLERS, 0, "numa_node", value=None),
    "CINF08-5.2.4-05": three(SWITCH, "network", "settings", "pmd_cpus", value=[1, 2]),
    "CINF08-5.2.4-06": three(SWITCH, *POLLERS, 0, "queues", 3, "enabled", value=False),
    "CINF08-5.1.2.2-02": three(PROGRAMS, *SECOND, "programs", "members", 1, "target", value=None),
    "CINF08-5.2.5-01": three(SOCKETS, *SECOND, "af_xdp", "busy_budget_frames", value=64),
    "CINF08-5.2.4-04": three(SWITCH, "pod", "cpuset_cpus", value=None),
    "CINF08-5.1.2.2-04": three(SOCKETS, *SECOND, "af_xdp", "sockets", value=[]),
    "CINF08-5.1.2.2-08": three(PROGRAMS, *SECOND, "mapping", "nic", value=None),
    "CINF08-5.1.2.2-09": three(SOCKET_SWITCH, *SECOND, "vswitch", "nic_driver", value="net_af_packet"),
    "CINF08-5.1.2.3-01": three(FUNCTIONS, *SECOND, "virtual_function", "address", value=None),
    "CINF08-5.1.2.3-03": three(FUNCTIONS, *SECOND, "virtual_function", "total", value=0),
    "CINF08-5.1.2.3-04": three(FUNCTIONS, *SECOND, "virtual_function", "driver", value=""),
    "CINF08-5.1.2.4-01": three(COMBINED, *SECOND, "interface", "kind", value="veth"),
    "CINF08-5.1.2.4-03": three(COMBINED, *SECOND, "axis", value=None),
    "CINF08-5.2.5-02": three(SOCKETS, "device_queues", 1, "cpu", value=None),
}
NOT_YET: frozenset[str] = frozenset()
