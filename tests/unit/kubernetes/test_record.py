"""What the record of a cluster says of what may not be asked: no name of a node, a user or an address."""

from types import SimpleNamespace

import pytest

from bmwg.drivers.kubernetes import record
from bmwg.methodology.errors import DriverError, TestbedError
from bmwg.methodology.record import booted
from bmwg.methodology.record.booted import Booted, Counted


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (
            TestbedError("KUBE-22", "GET /x", found='403 Forbidden: nodes "worker-3": User "me" cannot get'),
            "KUBE-22 403 Forbidden",
        ),
        (DriverError("KUBE-21", "GET /x", found="no answer of 192.0.2.7"), "KUBE-21"),
    ],
)
def test_a_refusal_is_told_without_names(error, reason):
    def asked():
        raise error

    assert record._asked(asked) == {"value": None, "reason": reason}


DIGEST = f"sha256:{'a' * 64}"
PODS_OWN = {
    "spec": {"nodeName": "two"},
    "status": {"containerStatuses": [{"imageID": f"registry.example/busybox@{DIGEST}"}]},
}


class NodesOf:
    """The API of a cluster as far as nodes are asked for."""

    def __init__(self, *names: str) -> None:
        images = [
            {"names": ["registry.example/other@sha256:" + "b" * 64], "sizeBytes": 5},
            {"names": [f"registry.example/busybox@{DIGEST}", "registry.example/busybox:1"], "sizeBytes": 77},
        ]
        self._items = [{"metadata": {"name": name}, "status": {"images": images}} for name in names]

    def get(self, path):
        assert path == "/api/v1/nodes", "the one right that a run asks for"
        return {"items": self._items}


def test_the_size_of_an_image_of_the_users_cluster_is_what_its_node_tells() -> None:
    told = Booted.from_builtins(record.image_size(PODS_OWN, NodesOf("one", "two")))
    assert told.parts == {booted.LAYERS: {Counted.AS_TOLD: 77}}
    assert "runtimes count differently" in booted.WORDS[Counted.AS_TOLD]


def test_an_image_that_no_node_tells_of_has_no_size_and_says_so() -> None:
    elsewhere = Booted.from_builtins(record.image_size(PODS_OWN, NodesOf("one")))
    assert not elsewhere.parts
    assert elsewhere.besides == "not known: its node lists no image of this digest"
    unnamed = {**PODS_OWN, "status": {"containerStatuses": [{"imageID": ""}]}}
    assert not Booted.from_builtins(record.image_size(unnamed, NodesOf("two"))).parts

    def refused(path):
        raise TestbedError("KUBE-22", "nodes", found='403 Forbidden: User "me" cannot list')

    silent = Booted.from_builtins(record.image_size(PODS_OWN, SimpleNamespace(get=refused)))
    assert silent.besides == "not known: nodes may not be read, KUBE-22 403 Forbidden"
