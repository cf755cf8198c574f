"""The words by which a pod asks for further networks, after the standard's own forms."""

import json

import pytest

from bmwg.drivers.kubernetes import attachments
from bmwg.drivers.kubernetes.attachments import Wish
from bmwg.methodology.errors import ConfigError


def asked(annotation):
    return [
        (one.namespace, one.name, one.interface) for one in attachments.wishes(annotation, namespace="ns1")
    ]


@pytest.mark.parametrize(
    ("annotation", "found"),
    [
        ("", []),
        (None, []),
        ("a-net", [("ns1", "a-net", "net1")]),
        ("a-net,b-net", [("ns1", "a-net", "net1"), ("ns1", "b-net", "net2")]),
        ("a-net, other/b-net", [("ns1", "a-net", "net1"), ("other", "b-net", "net2")]),
        ("other/a-net@eth5", [("other", "a-net", "eth5")]),
        ("a-net@x0,b-net", [("ns1", "a-net", "x0"), ("ns1", "b-net", "net2")]),
        ('[{"name": "a-net"}]', [("ns1", "a-net", "net1")]),
        (
            '[{"name": "a-net", "namespace": "other", "interface": "p0"}, {"name": "a-net"}]',
            [("other", "a-net", "p0"), ("ns1", "a-net", "net2")],
        ),
    ],
)
def test_both_forms_of_the_annotation_are_understood(annotation, found):
    assert asked(annotation) == found


def test_addresses_and_mac_reach_the_plugins_as_capabilities():
    (wish,) = attachments.wishes(
        '[{"name": "a", "ips": ["198.18.0.5/24"], "mac": "02:00:00:00:00:01"}]', namespace="n"
    )
    assert wish.capability_arguments() == {"ips": ["198.18.0.5/24"], "mac": "02:00:00:00:00:01"}


@pytest.mark.parametrize(
    "annotation",
    [
        "a b",
        "a/b/c",
        "a@",
        "a,,b",
        "[",
        '["a"]',
        '[{"name": "UPPER"}]',
        '[{"interface": "x"}]',
        '[{"name": "a", "interface": "longer-than-15-chars"}]',
        '[{"name": "a", "unknown": 1}]',
        '[{"name": "a", "ips": ["300.1.1.1/24"]}]',
        '[{"name": "a", "interface": "x"}, {"name": "b", "interface": "x"}]',
    ],
)
def test_what_cannot_be_understood_is_refused_by_name(annotation):
    with pytest.raises(ConfigError, match=r"^KUBE-30 "):
        attachments.wishes(annotation, namespace="n")


def test_a_single_plugin_becomes_a_list_named_after_its_resource():
    found = attachments.conflist_of(
        {
            "metadata": {"name": "a-net", "namespace": "n"},
            "spec": {"config": json.dumps({"cniVersion": "1.0.0", "type": "bridge", "bridge": "br7"})},
        }
    )
    assert found == {
        "cniVersion": "1.0.0",
        "name": "a-net",
        "plugins": [{"type": "bridge", "bridge": "br7"}],
    }


@pytest.mark.parametrize("config", ["", "no json", "[]", "7"])
def test_a_resource_without_a_configuration_is_refused(config):
    with pytest.raises(ConfigError, match=r"^KUBE-30 "):
        attachments.conflist_of({"metadata": {"name": "a", "namespace": "n"}, "spec": {"config": config}})


def test_the_status_says_addresses_and_mac_of_the_pods_end():
    result = {
        "interfaces": [
            {"name": "br7", "mac": "02:00:00:00:00:01"},
            {"name": "net1", "mac": "02:00:00:00:00:02", "sandbox": "/run/netns/x"},
        ],
        "ips": [{"address": "198.18.0.5/24", "interface": 1}],
    }
    assert attachments.status_of("n/a", "net1", result) == {
        "name": "n/a",
        "interface": "net1",
        "ips": ["198.18.0.5"],
        "mac": "02:00:00:00:00:02",
        "dns": {},
    }
    assert attachments.status_of("pods", "eth0", {}, default=True)["default"] is True


def test_what_we_ask_for_is_what_we_understand():
    text = attachments.annotation([("a-0", "net0"), ("a-1", "net1")])
    assert attachments.wishes(text, namespace="n") == (
        Wish(namespace="n", name="a-0", interface="net0"),
        Wish(namespace="n", name="a-1", interface="net1"),
    )
