"""Whether kube-proxy's table sends a Service's frames to an address: read from what nft prints."""

import pytest

from bmwg.drivers.kubernetes.services import read_rules

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
