"""What the traffic generator of a testbed lacks is said before a run begins."""

from pathlib import Path

import pytest

from bmwg.methodology.errors import ConfigError, TestbedError
from bmwg.resources.kinds.frames.bench import Bench
from bmwg.resources.run.settings import Settings

TREX = Path(__file__).resolve().parents[3] / "testbeds" / "trex.yaml"


def test_a_generator_that_is_not_there_stops_the_run_before_it_has_a_folder(tmp_path, monkeypatch):
    settings = Settings(testbed=TREX, profile="low-rate", results=tmp_path / "results")
    monkeypatch.delenv("BMWG_TREX_DIR", raising=False)
    with pytest.raises(ConfigError, match="TREX-01"):
        Bench.open(settings, {"CN-TPUT-1.1"})
    monkeypatch.setenv("BMWG_TREX_DIR", str(tmp_path))
    with pytest.raises(TestbedError, match="TREX-03"):
        Bench.open(settings, {"CN-TPUT-1.1"})
    assert not (tmp_path / "results").exists()
