"""NetworkPolicies as rules of a node, and the agent that writes them and says when they are in force."""

from __future__ import annotations

import json
import subprocess
from types import SimpleNamespace

import pytest

from bmwg.drivers.kubernetes import policies, policy_agent
from bmwg.drivers.kubernetes.policy_agent import Enforced, view
from bmwg.drivers.kubernetes.policy_rules import PodView, script
from bmwg.drivers.network.handover import NetworkDefaults
from bmwg.drivers.paths import uplinks

CLIENT = PodView(
    name="c", node="dut1", labels={policies.END: "0"}, addresses=("198.18.128.2", "2001:2:0:8000::2")
)
SERVER = PodView(
    name="s", node="dut1", labels={policies.END: "1"}, addresses=("198.19.128.2", "2001:2:0:8001::2")
)
PODS = (CLIENT, SERVER)


def chain(text: str, name: str) -> list[str]:
    """The rules of a chain."""
    lines = text.splitlines()
    begin = lines.index(f"chain {name} {{") + 1
    return [line.strip() for line in lines[begin : lines.index("}", begin)]]


def test_without_a_policy_that_selects_a_pod_there_is_no_table_at_all() -> None:
    for applied in ({}, {"other": policies.deny("7")}):
        assert script(PODS, applied, "dut1").splitlines() == [
            "table inet bmwg-policies",
            "delete table inet bmwg-policies",
        ]


def test_a_denied_pod_takes_nothing_on_any_address_but_replies() -> None:
    text = script(PODS, {"deny": policies.deny("1")}, "dut1")
    assert chain(text, "Ingress-pod-0" if "Ingress-pod-0" in text else "Ingress-pod-1") == [
        "jump Ingress-policy-0",
        "drop",
    ]
    assert chain(text, "Ingress-policy-0") == []
    for address in SERVER.addresses:
        assert f"{address} : jump Ingress-pod-" in text
    for address in CLIENT.addresses:
        assert address not in text
    assert chain(text, "Ingress")[1] == "ct direction reply ct state established,related accept"
    assert "chain Egress" not in text


def test_what_one_policy_allows_no_other_forbids_and_the_last_by_name_comes_last() -> None:
    texts = [*policies.further("1", 3), policies.allow("1", "198.18.128.0/24", "2001:2:0:8000::/64")]
    applied = {f"standing-{number:05}": one for number, one in reversed(list(enumerate(texts)))}
    text = script(PODS, applied, "dut1")
    (name,) = [line.split()[1] for line in text.splitlines() if line.startswith("chain Ingress-pod-")]
    assert chain(text, name) == [*(f"jump Ingress-policy-{number}" for number in range(4)), "drop"]
    assert chain(text, "Ingress-policy-0") == ["ip saddr { 10.0.0.0/24 } accept"]
    assert chain(text, "Ingress-policy-3") == [
        "ip saddr { 198.18.128.0/24 } accept",
        "ip6 saddr { 2001:2:0:8000::/64 } accept",
    ]


def test_peers_by_label_ports_exceptions_and_egress() -> None:
    spec = {
        "podSelector": {"matchLabels": {policies.END: "1"}},
        "policyTypes": ["Ingress", "Egress"],
        "ingress": [
            {
                "from": [{"podSelector": {"matchLabels": {policies.END: "0"}}}],
                "ports": [{"protocol": "UDP", "port": 7}, {"port": 80, "endPort": 90}, {"protocol": "SCTP"}],
            }
        ],
        "egress": [{"to": [{"ipBlock": {"cidr": "198.18.0.0/15", "except": ["198.18.7.0/24"]}}]}, {}],
    }
    text = script(PODS, {"one": spec}, "dut1")
    assert chain(text, "Ingress-policy-0") == [
        "ip saddr { 198.18.128.2 } udp dport 7 accept",
        "ip6 saddr { 2001:2:0:8000::2 } udp dport 7 accept",
        "ip saddr { 198.18.128.2 } tcp dport 80-90 accept",
        "ip6 saddr { 2001:2:0:8000::2 } tcp dport 80-90 accept",
        "ip saddr { 198.18.128.2 } meta l4proto sctp accept",
        "ip6 saddr { 2001:2:0:8000::2 } meta l4proto sctp accept",
    ]
    assert chain(text, "Egress-policy-0") == [
        "ip daddr { 198.18.0.0/15 } ip daddr != { 198.18.7.0/24 } accept",
        "accept",
    ]


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ({"podSelector": {"matchExpressions": []}}, "matchExpressions"),
        ({"podSelector": {}, "ingress": [{"from": [{"namespaceSelector": {}}]}]}, "namespaceSelector"),
        ({"podSelector": {}, "ingress": [{"ports": [{"port": "http"}]}]}, "a port by its name"),
        ({"podSelector": {}, "tier": 1}, "tier"),
    ],
)
def test_what_is_not_understood_is_refused(spec, said) -> None:
    with pytest.raises(ValueError, match=said):
        script(PODS, {"one": spec}, "dut1")


def test_pods_of_other_nodes_are_peers_and_have_no_rules_here() -> None:
    assert "chain" not in script(PODS, {"deny": policies.deny("1")}, "dut2")


def test_further_policies_are_of_different_networks_of_nobodys() -> None:
    found = [one["ingress"][0]["from"][0]["ipBlock"]["cidr"] for one in policies.further("0", 1000)]
    assert len(set(found)) == 1000
    assert all(one.startswith("10.") for one in found)


def test_a_pod_is_seen_with_the_addresses_of_all_of_its_networks() -> None:
    status = [
        {"name": "pods", "interface": "eth0", "ips": ["10.244.0.9"]},
        {"interface": "net0", "ips": ["198.18.128.2"]},
    ]
    pod = {
        "metadata": {
            "name": "c",
            "labels": {"a": "b"},
            "annotations": {"k8s.v1.cni.cncf.io/network-status": json.dumps(status)},
        },
        "spec": {"nodeName": "dut1"},
        "status": {"podIPs": [{"ip": "10.244.0.9"}]},
    }
    assert view(pod).addresses == ("10.244.0.9", "198.18.128.2")
    assert view({"metadata": {"name": "new"}}).addresses == ()


class Nft:
    """Stands for the program: what it was told, and whether it takes it."""

    def __init__(self) -> None:
        self.told: list[str] = []
        self.takes = True

    def run(self, command, *, input, **_):  # noqa: A002 - as subprocess calls it
        self.told.append(input)
        code = 0 if self.takes else 1
        return subprocess.CompletedProcess(command, code, "", "" if self.takes else "no such table")


def policy(name: str, version: str, spec=None):
    spec = spec or policies.deny("1")
    return ("policy", "ADDED", {"metadata": {"name": name, "resourceVersion": version}, "spec": spec})


def pod_of(one: PodView):
    metadata = {"name": one.name, "labels": dict(one.labels)}
    status = {"podIPs": [{"ip": address} for address in one.addresses]}
    return ("pod", "ADDED", {"metadata": metadata, "spec": {"nodeName": one.node}, "status": status})


@pytest.fixture
def agent(tmp_path, monkeypatch):
    nft = Nft()
    monkeypatch.setattr(policy_agent.subprocess, "run", nft.run)
    return Enforced("dut1", tmp_path / "policies.json"), nft, tmp_path


def told(folder):
    return json.loads((folder / "policies.json").read_text())


def test_the_agent_says_a_version_only_when_its_rules_are_written(agent) -> None:
    enforced, nft, folder = agent
    enforced.take([pod_of(one) for one in PODS], 1)
    enforced.take([policy("deny", "7")], 5)
    version, seen_ns, written_ns = told(folder)["policies"]["deny"]
    assert (version, seen_ns) == ("7", 5)
    assert written_ns > seen_ns
    nft.takes = False
    enforced.take([policy("more", "8")], 6)
    assert "more" not in told(folder)["policies"]
    assert "no such table" in told(folder)["refused"]


def test_the_agent_tells_the_end_of_a_policy_until_it_comes_again(agent) -> None:
    enforced, nft, folder = agent
    enforced.take([*(pod_of(one) for one in PODS), policy("deny", "7")], 1)
    enforced.take([("policy", "DELETED", policy("deny", "9")[2])], 20)
    assert told(folder)["policies"] == {}
    assert told(folder)["gone"]["deny"][0] == 20
    assert "chain" not in nft.told[-1]
    enforced.take([policy("deny", "11")], 30)
    assert told(folder)["gone"] == {}


def test_the_agent_writes_nothing_when_nothing_changed(agent) -> None:
    enforced, nft, _ = agent
    enforced.take([pod_of(one) for one in PODS], 1)
    enforced.take([pod_of(CLIENT)], 2)
    assert len(nft.told) == 1


@pytest.mark.parametrize(
    ("option", "enforced"),
    [({}, True), ({"own_router": True}, False), ({"own_router": True, "enforces_policies": True}, True)],
)
def test_frames_that_programs_carry_pass_none_of_the_nodes_rules(option, enforced) -> None:
    network = type("Option", (NetworkDefaults,), option)()
    network.spec = SimpleNamespace(name="net", uplink=uplinks.ROUTED)
    found = policies.unenforced(None, network)
    assert (found is None) == enforced
    if found is not None:
        assert "its frames pass no netfilter" in found.reason
