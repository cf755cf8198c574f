"""Records of a run whose device is on a host: of its kernel and of the tester's, each where it belongs."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from bmwg.reports.verify.one_machine import one_machine

TESTBED = {
    "nodes": {"dut1": {"kind": "ssh", "ssh": "root@dut"}},
    "links": [{"a": "tester/e1", "b": "dut1/e3", "kind": "cable"}],
    "tester": {"ports": ["tester/e1", "tester/e2"]},
}
EMBEDDED = {
    "nodes": {"dut1": {"kind": "namespace"}},
    "links": [{"a": "tester/p0", "b": "dut1/nic0"}],
    "tester": {"ports": ["tester/p0", "tester/p1"]},
}
THERE, HERE = "6.1.0-dut", "6.18.0-tester"


def record(release: str) -> dict[str, Any]:
    return {"fields": {"kernel": {"release": {"value": release}}}}


def found(testbed: dict[str, Any], **places: dict[str, Any]) -> list[str]:
    platform = {
        "base": {"before": record(THERE), "after": None},
        "records": {"node-1": {name.replace("__", "/"): one for name, one in places.items()}},
    }
    evidence = SimpleNamespace(run={"testbed": testbed}, platform=platform)
    return [where for where, *_ in one_machine.check(evidence)]


def test_device_and_tester_are_each_of_their_own_machine() -> None:
    assert not found(TESTBED, tester=record(HERE), tester__host=record(HERE), dut1=record(THERE))


@pytest.mark.parametrize(
    ("places", "wrong"),
    [
        ({"tester": HERE, "dut1": THERE}, "tester/host"),  # the tester's machine was left out
        ({"tester": THERE, "tester/host": HERE, "dut1": THERE}, "tester: kernel/release"),
        ({"tester": HERE, "tester/host": HERE, "dut1": HERE}, "dut1: kernel/release"),
    ],
)
def test_a_record_of_another_machine_is_found(places: dict[str, str], wrong: str) -> None:
    told = found(TESTBED, **{name.replace("/", "__"): record(one) for name, one in places.items()})
    assert len(told) == 1
    assert told[0].endswith(wrong)


def test_on_one_machine_the_testers_node_has_its_kernel() -> None:
    assert not found(EMBEDDED, tester=record(THERE), dut1=record(THERE))
    (told,) = found(EMBEDDED, tester=record(HERE))
    assert told.endswith("tester: kernel/release")


def test_a_device_on_two_hosts_is_of_two_kernels() -> None:
    """A chain over two hosts: the second one's node is held against its own host's record."""
    links = [*TESTBED["links"], {"a": "tester/e2", "b": "dut2/e4", "kind": "cable"}]
    nodes = {**TESTBED["nodes"], "dut2": {"kind": "ssh", "ssh": "root@two"}}
    two = {**TESTBED, "nodes": nodes, "links": links}
    mine = {"tester": record(HERE), "tester__host": record(HERE), "dut1": record(THERE)}
    assert not found(two, **mine, dut2=record("6.12.0-two"), dut2__host=record("6.12.0-two"))
    (told,) = found(two, **mine, dut2=record(THERE), dut2__host=record("6.12.0-two"))
    assert told.endswith("dut2: kernel/release")
