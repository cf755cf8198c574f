"""What forms of proxies boot or unpack, beside the time until each serves."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from bmwg.methodology.kinds.requests.records import Workload
from bmwg.methodology.record import booted
from bmwg.methodology.record.booted import Booted, Counted
from bmwg.reports.kinds.requests import sizes
from bmwg.reports.render.forms.rst import restructured

IMAGE = {booted.KEY: Booted(parts={booted.LAYERS: {Counted.UNPACKED: 41_000_000}}).as_builtins()}
OTHER = {booted.KEY: Booted(parts={booted.LAYERS: {Counted.UNPACKED: 5}}).as_builtins()}
ROOT = {booted.KEY: booted.ROOT_OF_ITS_NODE.as_builtins()}
NATIVE = {booted.KEY: booted.NATIVE.as_builtins()}
KERNEL = {booted.KEY: Booted(parts={booted.KERNEL: {Counted.LENGTH: 7}}, besides="its root").as_builtins()}


@pytest.mark.parametrize(
    ("evidence", "said"),
    [
        (
            {"hosting": {**NATIVE, "form": "native"}, "instances": [{"limits": {}}]},
            "none: the root of its host - —",
        ),
        ({"hosting": {"images": {"squid": {"octets": 1, **IMAGE}}}}, "container image - 41,000,000"),
        (
            {"hosting": {"cluster": {"image": OTHER}, "images": {"squid": IMAGE}}},
            "container image - 41,000,000",
        ),
        ({"hosting": {"machine": {"name": "vm", **KERNEL}}}, "kernel; not counted: its root - 7"),
        (
            {"hosting": {"form": "pod_bridge"}, "instances": [{"limits": ROOT, "sandbox": ROOT}]},
            "none: the root of its node, read-only - —",
        ),
        ({"hosting": {"machine": None}, "instances": [{}]}, ""),
    ],
)
def test_a_form_is_told_by_its_own_image_or_machine(evidence, said) -> None:
    run = SimpleNamespace(deployments={"d": evidence, "other": {"hosting": {"images": {"x": OTHER}}}})
    started = SimpleNamespace(
        measured=True, deployment="d", spec=SimpleNamespace(form="f", workload=Workload.START)
    )
    beside = SimpleNamespace(**{**vars(started), "deployment": "other"})
    lines = sizes.lines(run, [started, beside], {"f": "the form"}, lambda one: "12 ms")
    text = " ".join(restructured(lines).replace("\\", "").split())
    assert f"the form - {said or 'not recorded - —'}" in text
    assert "12 ms - the client has the first right answer" in text


def test_what_times_no_start_has_no_table() -> None:
    asked = SimpleNamespace(form="f", workload=Workload.AB)
    one = SimpleNamespace(measured=True, deployment="d", spec=asked)
    run = SimpleNamespace(deployments={"d": {"hosting": NATIVE}})
    assert sizes.lines(run, [one], {"f": "the form"}, lambda one: "12 ms") == []
