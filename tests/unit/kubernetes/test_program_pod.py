"""Pods of one program and the Service before them as manifests; the rules and endpoints that lead to them."""

import pytest

from bmwg.drivers.api.instance import Limits
from bmwg.drivers.kubernetes import program_pod, service_rules
from bmwg.drivers.kubernetes.replicas import ready_addresses
from bmwg.drivers.workload import squid

COMMON = {"namespace": "n", "owner": "o"}
LIMITS = Limits(cpus=2, memory_octets=4 << 30)
PROGRAM = squid.program(cache=True)


def made(**changed):
    return program_pod.pod(
        "p-0", PROGRAM, LIMITS, **{"group": "g", "image": "i", "node": "w", **COMMON, **changed}
    )


def test_a_pod_has_the_limits_of_the_other_forms_and_asks_for_little_of_them():
    (container,) = made()["spec"]["containers"]
    assert container["resources"] == {
        "requests": {"cpu": "20m", "memory": "32Mi"},
        "limits": {"cpu": "2", "memory": str(4 << 30)},
    }


def test_thirty_two_pods_ask_for_less_than_one_cpu():
    assert int(program_pod.REQUEST["cpu"].removesuffix("m")) * 32 < 1000


def test_a_pod_has_no_right_that_its_program_does_not_need():
    spec = made()["spec"]
    (container,) = spec["containers"]
    assert spec["securityContext"]["runAsNonRoot"] is True
    assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    assert container["securityContext"]["readOnlyRootFilesystem"] is True
    assert spec["automountServiceAccountToken"] is False


def test_nothing_asks_a_pod_for_its_health_while_it_is_measured():
    (container,) = made(ready_s=40.0)["spec"]["containers"]
    assert container["startupProbe"]["failureThreshold"] == 40
    assert container["startupProbe"]["tcpSocket"] == {"port": squid.PORT_NUMBER}
    assert not {"livenessProbe", "readinessProbe"} & set(container)
    assert "startupProbe" not in made()["spec"]["containers"][0]


def test_the_programs_files_are_the_groups_and_stand_where_its_command_looks():
    (container,) = made()["spec"]["containers"]
    written = program_pod.files("g", PROGRAM, **COMMON)
    assert container["command"][-1] == f"{program_pod.FOLDER}/squid.conf"
    assert {one["mountPath"] for one in container["volumeMounts"] if "subPath" in one} == {
        f"{program_pod.FOLDER}/{name}" for name in written["data"]
    }
    assert f"http_port 0.0.0.0:{squid.PORT_NUMBER}" in written["data"]["squid.conf"]
    assert "{" not in written["data"]["squid.conf"]


def test_the_service_takes_the_pods_of_its_group_and_of_its_run():
    service = program_pod.service("g", 3128, **COMMON)
    labels = made()["metadata"]["labels"]
    assert service["spec"]["selector"].items() <= labels.items()
    for other in ({"group": "h"}, {"owner": "somebody"}):
        assert not service["spec"]["selector"].items() <= made(**other)["metadata"]["labels"].items()


TABLE = """table ip kube-proxy {
\tmap service-ips {
\t\ttype ipv4_addr . inet_proto . inet_service : verdict
\t\telements = { 198.18.23.1 . 6 . 443 : goto service-A-default/kubernetes/tcp/https,
\t\t\t     198.18.23.9 . 6 . 3128 : goto service-B-n/g/tcp/program }
\t}
\tchain endpoint-C-n/g/tcp/program__198.18.22.2/3128 {
\t\tip saddr 198.18.22.2 jump mark-for-masquerade
\t\tmeta l4proto 6 dnat to 198.18.22.2:3128
\t}

\tchain endpoint-D-n/g/tcp/program__198.18.22.10/3128 {
\t\tmeta l4proto 6 dnat ip to 198.18.22.10:3128
\t}

\tchain endpoint-E-n/other/tcp/program__198.18.22.11/3128 {
\t\tmeta l4proto 6 dnat ip to 198.18.22.11:3128
\t}

\tchain service-B-n/g/tcp/program {
\t\tip daddr 198.18.23.9 tcp dport 3128 ip saddr != 198.18.22.0/24 jump mark-for-masquerade
\t\tnumgen random mod 2 vmap { 0 : goto endpoint-C-n/g/tcp/program__198.18.22.2/3128, \
1 : goto endpoint-D-n/g/tcp/program__198.18.22.10/3128 }
\t}
}
"""


def test_the_pods_that_a_service_leads_to_are_those_of_its_own_chain():
    read = service_rules.read(TABLE, cluster_ip="198.18.23.9", port=3128)
    assert read == ["198.18.22.10", "198.18.22.2"]


@pytest.mark.parametrize(
    ("text", "cluster_ip", "port"),
    [
        ("", "198.18.23.9", 3128),
        (TABLE, "198.18.23.90", 3128),
        (TABLE, "98.18.23.9", 3128),
        (TABLE, "198.18.23.9", 312),
        (TABLE.replace(". 6 . 3128", ". 17 . 3128"), "198.18.23.9", 3128),
        (TABLE.replace("numgen", "reject #"), "198.18.23.1", 443),
        (TABLE.replace("chain service-B", "chain service-Z"), "198.18.23.9", 3128),
    ],
)
def test_a_service_that_leads_nowhere_has_no_pods(text, cluster_ip, port):
    assert service_rules.read(text, cluster_ip=cluster_ip, port=port) == []


def test_a_pod_that_the_rules_do_not_translate_to_is_not_reached():
    text = TABLE.replace("dnat to 198.18.22.2:3128", "drop")
    assert service_rules.read(text, cluster_ip="198.18.23.9", port=3128) == ["198.18.22.10"]


def test_endpoints_that_are_not_ready_are_none():
    slices = [
        {"endpoints": [{"addresses": ["198.18.22.3"], "conditions": {"ready": True}}]},
        {
            "endpoints": [
                {"addresses": ["198.18.22.2"], "conditions": {"ready": True}},
                {"addresses": ["198.18.22.2"], "conditions": {"ready": True}},
                {"addresses": ["198.18.22.4"], "conditions": {"ready": False}},
                {"addresses": ["198.18.22.5"], "conditions": {}},
            ]
        },
        {"endpoints": None},
    ]
    assert ready_addresses(slices) == ["198.18.22.2", "198.18.22.3"]
    assert ready_addresses([]) == []
