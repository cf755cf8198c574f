"""Resets of a switch's program (LTD 3.2.2.1.8): which cells have them, and how long their trials last."""

from dataclasses import replace

import pytest
from vsperf_device import cell

from bmwg.methodology.measurements.measurement import WithAct
from bmwg.methodology.measurements.registry import measurement
from bmwg.methodology.profiles import load_profile

SWITCH = replace(cell("switch"), hosting="baremetal", function="ovs-netdev", network="none")


@pytest.mark.parametrize("name", ["reset_vswitch_graceful", "reset_vswitch_kill"])
def test_only_a_switch_that_is_a_program_is_restarted(name):
    profile, kind = load_profile("vsperf"), measurement(name)
    assert isinstance(kind, WithAct)
    assert kind.act == name.removeprefix("reset_")
    assert kind.applies(profile, SWITCH)
    assert kind.applies(profile, replace(SWITCH, function="ovs-dpdk"))
    assert not kind.applies(profile, replace(SWITCH, function="linux-bridge"))
    assert not kind.applies(profile, replace(SWITCH, axes=(("pattern", "full-mesh-4"),)))
    assert not kind.applies(profile, cell())
    one = kind.cost(profile, SWITCH, 100_000)
    assert one.traffic_s / one.trials > profile.benchmarks["reset"]["container_s"]


def test_other_resets_are_of_pods():
    profile = load_profile("vsperf")
    for name in ("reset_link", "reset_vswitch"):
        assert not measurement(name).applies(profile, SWITCH)
        assert measurement(name).applies(profile, cell())
