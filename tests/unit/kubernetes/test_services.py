"""Whether kube-proxy's table sends a Service's frames to an address: read from what nft prints."""

import pytest

from bmwg.drivers.kubernetes.services import read_naming, read_rules

TABLE = """table ip kube-proxy {
\tmap service-ips {
\t\ttype ipv4_addr . inet_proto . inet_service : verdict
\t\telements = { 10.96.0.1 . 6 . 443 : goto service-A-default/kubernetes/tcp/https,
\t\t\t     10.96.7.9 . 17 . 7 : goto service-B-run/one/udp/test }
\t}
\tchain endpoint-C-run/one/udp/test__198.19.128.2/7 {
\t\tmeta l4proto 17 dnat to 198.19.128.2:7
\t}
}
"""


def read(text=TABLE, **changed):
    asked = {"front": "10.96.7.9", "address": "198.19.128.2", "port": 7, "target_port": 7}
    return read_rules(text, **{**asked, **changed})


def test_a_service_that_leads_to_the_address_is_found():
    told = read()
    assert told["translated"] is True
    assert told["rules"] == 4


@pytest.mark.parametrize(
    "changed",
    [
        {"front": "10.96.7.90"},
        {"front": "0.96.7.9"},
        {"address": "198.19.128.20"},
        {"port": 70},
        {"text": ""},
        {"text": TABLE.replace("dnat to 198.19.128.2:7", "drop")},
    ],
)
def test_anything_else_is_not(changed):
    assert read(**changed)["translated"] is False


PORTS = """table ip kube-proxy {
\tset nodeport-ips {
\t\ttype ipv4_addr
\t\telements = { 192.0.2.1, 198.18.224.1 }
\t}
\tmap service-ips {
\t\ttype ipv4_addr . inet_proto . inet_service : verdict
\t\telements = { 198.18.210.9 . 17 . 7 : goto service-B-run/one/udp/test,
\t\t\t     203.0.113.5 . 17 . 7 : goto external-B-run/one/udp/test }
\t}
\tmap service-nodeports {
\t\ttype inet_proto . inet_service : verdict
\t\telements = { 17 . 7 : goto external-B-run/one/udp/test }
\t}
\tchain endpoint-C-run/one/udp/test__198.19.128.2/7 {
\t\tmeta l4proto 17 dnat to 198.19.128.2:7
\t}
}
"""


def test_a_node_port_is_found_at_an_address_that_has_them_and_a_balanced_one_by_its_own():
    assert read(PORTS, front="198.18.224.1", by_port=True)["translated"] is True
    assert read(PORTS, front="203.0.113.5")["translated"] is True


@pytest.mark.parametrize(
    "changed",
    [
        {"front": "198.18.224.2"},
        {"front": "198.18.224.10"},
        {"port": 70},
        {"target_port": 8},
        {"text": PORTS.replace("{ 17 . 7 : goto external", "{ 17 . 8 : goto external")},
        {"text": PORTS.replace("nodeport-ips", "cluster-ips")},
    ],
)
def test_no_other_address_port_or_service_is_taken_for_a_node_port(changed):
    assert read(**{"text": PORTS, "front": "198.18.224.1", "by_port": True, **changed})["translated"] is False


def test_rules_and_entries_of_a_removed_service_are_counted_and_heads_of_empty_chains_not():
    assert read_naming(TABLE, namespace="run", names=["one"]) == 1  # its entry in the map
    gone = TABLE.replace("10.96.7.9 . 17 . 7 : goto service-B-run/one/udp/test", "")
    assert read_naming(gone, namespace="run", names=["one"]) == 0
    assert read_naming(gone, namespace="default", names=["one", "kubernetes"]) == 1


def test_a_service_of_another_name_or_namespace_is_not_taken_for_it():
    assert read_naming(TABLE, namespace="un", names=["one"]) == 0
    assert read_naming(TABLE, namespace="run", names=["on", "ne", "on-e"]) == 0
