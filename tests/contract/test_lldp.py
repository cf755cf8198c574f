"""Neighbours by LLDP in the record: real lldpd in two cabled namespaces, and none in a third."""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from bmwg.drivers.nodes import links
from bmwg.drivers.nodes.namespace import NamespaceNode
from bmwg.drivers.platform_record import collect as record_collect
from bmwg.methodology.record.drift import differences, drift
from bmwg.methodology.record.facts import facts
from bmwg.methodology.record.redaction import redact
from bmwg.schemas.validation import problems

LLDPD = "/usr/sbin/lldpd"
pytestmark = [
    pytest.mark.root,
    pytest.mark.skipif(shutil.which(LLDPD) is None, reason="needs lldpd: apt-get install lldpd"),
]
WITHIN_S = 60.0  # it tells of itself when a link comes up, and every 30 s


@pytest.fixture
def ends(tmp_path: Path) -> Iterator[dict[str, NamespaceNode]]:
    with ExitStack() as stack:
        nodes = {name: stack.enter_context(NamespaceNode(name)) for name in ("near", "far")}
        links.connect(nodes["near"], "eth1", nodes["far"], "eth1")
        links.connect(nodes["near"], "eth2", nodes["far"], "eth2")
        for node in nodes.values():
            daemon(stack, node, tmp_path)
        yield nodes


def daemon(stack: ExitStack, node: NamespaceNode, folder: Path) -> None:
    """Start lldpd in a node, on its first cable alone; `stack` ends it."""
    enter = ["nsenter", f"--target={node.pid}", "--net", "--mount", "--uts"]
    subprocess.run([*enter, "mkdir", "-p", "/run/lldpd"], check=True, timeout=5)
    log = stack.enter_context((folder / f"log-{node.name}").open("w"))
    started = subprocess.Popen([*enter, LLDPD, "-d", "-I", "eth1"], stdout=log, stderr=log)
    stack.callback(started.wait, 10)
    stack.callback(started.terminate)


def told(record: dict, interface: str) -> dict:
    """The fact of an interface's neighbours."""
    return dict(facts(record["fields"]))[f"nic/{interface}/neighbours"]


def heard(node: NamespaceNode) -> dict:
    """The node's record, once its first cable has a neighbour."""
    end_s = time.monotonic() + WITHIN_S
    while "value" not in told(record := node.call(record_collect.collect, scope="network"), "eth1"):
        assert time.monotonic() < end_s, told(record, "eth1")
        time.sleep(0.2)
    return record


def test_what_a_cable_ends_at_is_told_where_lldpd_runs(ends: dict[str, NamespaceNode]) -> None:
    near, far = ends["near"], ends["far"]
    silent = near.call(record_collect.collect, scope="network")
    record = heard(near)
    mac = told_mac(far)
    (neighbour,) = told(record, "eth1")["value"]
    assert neighbour["protocol"] == "LLDP"
    assert (neighbour["system"], neighbour["port"]) == ("far", f"mac {mac}")
    assert neighbour["description"] == "eth1"
    assert "no neighbour" in told(record, "eth2")["not_applicable"]
    assert problems(record, "record") == []
    assert drift(silent, record) == ()  # a neighbour that speaks later is no other platform
    assert {one.path for one in differences(silent, record)} <= {"nic/eth1/neighbours"}
    hidden = redact(record, b"s" * 16)
    assert mac not in str(hidden)
    assert "'far'" not in str(hidden["fields"]["nic"])


def told_mac(node: NamespaceNode) -> str:
    record = node.call(record_collect.collect, scope="network")
    return str(dict(facts(record["fields"]))["nic/eth1/mac"]["value"])


def test_no_neighbours_are_told_of_another_namespace(ends: dict[str, NamespaceNode]) -> None:
    """A pod that sees its host's files has an eth1 of its own, of which the host's lldpd knows nothing."""
    near = ends["near"]
    heard(near)
    enter = ["nsenter", f"--target={near.pid}", "--net", "--mount", "--uts", "unshare", "--net"]
    words = "ip link add eth1 type veth peer name other && echo made && exec sleep 60"
    with subprocess.Popen([*enter, "sh", "-c", words], stdout=subprocess.PIPE, text=True) as pod:
        assert pod.stdout is not None
        assert pod.stdout.readline() == "made\n"
        inner = near.call(record_collect.collect, scope="workload", pid=pod.pid)
        pod.kill()
    assert told(inner, "eth1")["not_applicable"] == "no lldpd runs in this network namespace"
