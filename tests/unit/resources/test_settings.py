import re
from pathlib import Path

import pytest

from bmwg.methodology.errors import ConfigError
from bmwg.resources.run.settings import Settings


def test_defaults_are_the_embedded_testbed_and_the_quick_profile():
    settings = Settings.from_environment({})
    assert settings == Settings(testbed=None, profile="quick", results=Path("results"), console="lines")


def test_a_misspelt_variable_is_refused_with_the_near_name():
    with pytest.raises(ConfigError, match=r"^SET-01 ") as caught:
        Settings.from_environment({"BMWG_TESTBETT": "x.yaml"})
    assert "did you mean 'BMWG_TESTBED'?" in str(caught.value)


def test_variables_of_other_programs_do_not_matter():
    assert Settings.from_environment({"HOME": "/root", "BMWG_TREX_DIR": "/opt/trex"}).testbed is None


def test_an_unknown_console_is_refused():
    with pytest.raises(ConfigError, match="lines or live"):
        Settings.from_environment({"BMWG_CONSOLE": "loud"})


def test_every_trial_is_shown_only_when_asked():
    assert not Settings.from_environment({}).verbose
    assert Settings.from_environment({"BMWG_VERBOSE": "1"}).verbose
    with pytest.raises(ConfigError, match="SET-02"):
        Settings.from_environment({"BMWG_VERBOSE": "yes"})


def test_every_variable_that_the_code_reads_may_be_set():
    root = Path(__file__).parents[3]
    code = [
        file
        for folder in ("drivers", "resources", "methodology", "reports")
        for file in (root / folder).rglob("*.py")
    ]
    read = {name for file in code for name in re.findall(r'"(BMWG_[A-Z_]*[A-Z])"', file.read_text("utf-8"))}
    assert {"BMWG_KUBERNETES", "BMWG_TESTBED"} <= read
    Settings.from_environment(dict.fromkeys(read, ""))
