"""Settings of functions as axes: their place, how a reader calls them, and what is refused before a run."""

from __future__ import annotations

from dataclasses import replace
from importlib import resources

import pytest

from bmwg.drivers import registry
from bmwg.drivers.testbed.file import load_testbed, with_settings
from bmwg.methodology.cells import axes
from bmwg.methodology.errors import ConfigError
from bmwg.methodology.profiles import parse_profile
from bmwg.methodology.records import Cell
from bmwg.resources.run.early import require_drivers, require_levels

RULES = "functions.firewall.rules"
LINE = (
    "  - {path: node, hosting: baremetal, function: %s, networks: none, frame_octets: [64],\n"
    "     axes: {%s: [10]}}\n"
)


def cell(function="firewall", **settings):
    return Cell(
        path="node",
        hosting="baremetal",
        function=function,
        network="none",
        frame_octets=64,
        axes=tuple(sorted((name.replace("__", "."), value) for name, value in settings.items())),
    )


def parsed(line):
    text = (resources.files("bmwg.methodology.profiles") / "quick.yaml").read_text()
    text = text.replace("\npaths:\n", f"\npaths:\n{line}")
    return parse_profile(text, source="mine.yaml", paths=registry.paths())


def test_a_setting_of_a_function_is_an_axis_by_its_place_and_is_called_by_its_last_word():
    assert axes.setting_place(RULES) == ("functions", "firewall", "rules")
    assert axes.setting_place("functions.firewall") == axes.setting_place("functions..rules") == ()
    assert axes.words([(RULES, 1000), ("pods.memory", "256MiB")]) == ["rules 1000", "pods.memory 256MiB"]


def test_a_setting_reaches_the_testbed_of_its_cell_alone():
    testbed = load_testbed()
    varied = with_settings(testbed, axes.settings([(RULES, 10)]), "a cell")
    assert varied.functions == {"firewall": {"rules": 10}}
    assert testbed.functions == {}


def test_a_profile_may_vary_the_function_of_its_line_and_no_other():
    assert parsed(LINE % ("firewall", RULES)).paths[0].axes == {RULES: (10,)}
    with pytest.raises(ConfigError, match="a setting of function kernel-l3") as caught:
        parsed(LINE % ("kernel-l3", RULES))
    assert caught.value.error_id == "PRF-04"


def test_a_function_without_what_it_needs_is_refused_before_a_run_with_its_cell():
    with pytest.raises(ConfigError, match="profile mine, cell node/baremetal/firewall") as caught:
        require_levels(load_testbed(), [cell()], "mine")
    assert caught.value.error_id == "FUNC-01"
    require_levels(load_testbed(), [cell(functions__firewall__rules=10)], "mine")


def test_settings_of_a_function_that_is_not_installed_are_refused_with_a_near_name():
    testbed = replace(load_testbed(), functions={"firewal": {"rules": 10}})
    with pytest.raises(ConfigError, match="firewall") as caught:
        require_drivers(testbed)
    assert caught.value.error_id == "DRIVER-01"
